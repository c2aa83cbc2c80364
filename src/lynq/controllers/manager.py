"""One process of the operator, from its start to its end.

Every replica keeps its caches warm, answers probes and serves its series; only the one that holds
the lease works. What ends the process early, a lost lease above all, is raised.

What one process of the operator is told by its flags: what to run, as whom, listening where.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector

from lynq.controllers.cluster_view import CachedClusterView
from lynq.controllers.context import ControllerContext
from lynq.controllers.metrics_auth import may_read_metrics
from lynq.controllers.operator import Operator
from lynq.controllers.options import Options
from lynq.kube import Client, ClientOptions, LeaderElection, RuntimeMetrics, load_config
from lynq.telemetry import (
    Address,
    OperatorMetrics,
    Protection,
    health_server,
    metrics_server,
    profile_server,
)
from lynq.tls.context import CertificateFiles


class AdmissionServer(AbstractAsyncContextManager[Any], Protocol):
    """The admission webhooks at work."""

    @property
    def problem(self) -> str:
        """Why nobody is answered yet; "" if everybody is."""


class AdmissionFactory(Protocol):
    """What makes the admission webhooks: `lynq.webhooks`, which stands beside us, not below."""

    def serve(
        self, client: Client, known: CachedClusterView, registry: CollectorRegistry
    ) -> AdmissionServer:
        """Return the webhooks, to be entered with `async with`; their series are registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """All that `lynq run` hands to the manager; logs are set up before."""

    options: Options = field(default_factory=Options)
    kubeconfig: Path | None = None
    """For `lynq.kube.load_config`, like `context`."""
    context: str | None = None
    max_in_flight: int = 64
    """Requests to the API server under way at once: `ClientOptions.max_in_flight`."""
    leader_elect: bool = False
    """Wait for the Lease `options.shard.lease` before anything is written."""
    leader_election_namespace: str = "default"
    health_address: Address | None = None
    """Of /healthz and /readyz; None: off."""
    metrics_address: Address | None = None
    """Of /metrics; None: off."""
    metrics_secure: bool = True
    """Whether /metrics speaks HTTPS and asks for a token that may read it."""
    metrics_per_node: bool = True
    """Whether each node has series of its own, or those of a namespace share them."""
    metrics_certificate: CertificateFiles | None = None
    """None: a self-signed certificate, made at the start."""
    admission: AdmissionFactory | None = None
    """The admission webhooks; None: off."""
    pprof: bool = False
    """Whether profiles are served on 127.0.0.1:6060."""


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_log = structlog.get_logger(__name__)


async def run(settings: ProcessSettings) -> None:
    """Run until a signal comes; raises LeaseLost, KubeError, ListenError."""
    config = load_config(kubeconfig=settings.kubeconfig, context=settings.context)
    limits = ClientOptions(max_in_flight=settings.max_in_flight)
    async with Client.connect(config, options=limits) as client:
        with _signalled() as stop:
            await Process(settings, client, server=config.server).run(stop)


class Process:
    """The parts of the process; separate from `run` so that a test can bring its own client."""

    def __init__(self, settings: ProcessSettings, client: Client, *, server: str = "") -> None:
        self._settings = settings
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._metrics = RuntimeMetrics(self.registry)
        self._client = client = client.intercepted(self._metrics.requests(server))
        self._election = self._candidate() if settings.leader_elect else None
        self.world = ControllerContext.of(
            client.fenced(self._election.fence) if self._election else client,
            settings.options,
            self._metrics,
            OperatorMetrics(self.registry, per_node=settings.metrics_per_node),
        )
        # Every replica is asked, not only the leader: no fence.
        admission, known = settings.admission, CachedClusterView(self.world)
        self._admission = admission.serve(client, known, self.registry) if admission else None

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; returns within five seconds then."""
        async with AsyncExitStack() as servers:
            for server in self._servers():
                await servers.enter_async_context(server)
            operator = Operator(self.world)
            async with _beside(self.world.watch()), _beside(operator.stand_by()):
                await self._lead(operator, stop)

    async def _lead(self, operator: Operator, stop: asyncio.Event) -> None:
        lead = partial(operator.run, stop)
        leading = asyncio.ensure_future(self._election.run(lead) if self._election else lead())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not operator.has_begun:
                # Nothing to drain: it waits for the lease or for the caches.
                leading.cancel()
            await asyncio.wait((leading,))
        finally:
            for task in (leading, stopping):
                task.cancel()
        if not leading.cancelled():
            leading.result()

    def _candidate(self) -> LeaderElection:
        lease = self._settings.options.shard.lease
        return LeaderElection(
            self._client,
            namespace=self._settings.leader_election_namespace,
            name=lease,
            leading=self._metrics.leading(lease),
        )

    def _servers(self) -> Iterator[AbstractAsyncContextManager[Any]]:
        settings = self._settings
        if settings.health_address:
            yield health_server(settings.health_address, self._problems)
        if settings.metrics_address:
            authorize = partial(may_read_metrics, self._client)
            protection = Protection(authorize, settings.metrics_certificate)
            yield metrics_server(
                settings.metrics_address,
                self.registry,
                protection if settings.metrics_secure else None,
            )
        if settings.pprof:
            yield profile_server()
        if self._admission:
            yield self._admission

    def _problems(self) -> list[str]:
        """Return what keeps the process from being ready."""
        unlisted = [
            f"{cache.resource.name} are not listed yet {cache.health.problem}".rstrip()
            for cache in self.world.caches
            if not cache.has_synced
        ]
        unserved = self._admission.problem if self._admission else ""
        return [*unlisted, unserved] if unserved else unlisted


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something while the block does; if it fails, so does the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield
        task.cancel()


@contextmanager
def _signalled() -> Iterator[asyncio.Event]:
    """Yield what is set when somebody asks the process to end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def ask(number: signal.Signals) -> None:
        _log.info("stopping", signal=number.name)
        stop.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, ask, number)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
