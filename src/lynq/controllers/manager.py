"""Runs one process of the operator: servers, caches, leader election, controllers.

Every replica fills its caches and serves probes, metrics and webhooks. Only the replica that holds
the lease reconciles. Errors that end the process, such as a lost lease, are raised.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
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

from lynq.api import LynqNode
from lynq.api.installation_key import InstallationKey, KeyState
from lynq.controllers.context import CachedClusterView, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.controllers.installation_key import KEY_SECRET, KeyLoader
from lynq.controllers.metrics_auth import may_read_metrics
from lynq.controllers.operator import Operator
from lynq.controllers.options import Options
from lynq.kube import Client, ClientOptions, LeaderElection, RuntimeMetrics, load_config
from lynq.kube.session import MAX_IN_FLIGHT
from lynq.telemetry import Address, OperatorMetrics, Protection
from lynq.tls.context import CertificateFiles


class AdmissionServer(AbstractAsyncContextManager[Any], Protocol):
    """A running server of the admission webhooks."""

    @property
    def problem(self) -> str:
        """Why requests cannot be served yet; "" if they can."""


class AdmissionFactory(Protocol):
    """Creates the webhook server. `lynq.webhooks` implements it and must not be imported here."""

    def serve(
        self,
        client: Client,
        view: CachedClusterView,
        registry: CollectorRegistry,
        key: Callable[[], KeyState],
    ) -> AdmissionServer:
        """Return the server, to be entered with `async with`, and register its metrics.

        `key` returns the installation key, of which the secret part of the paths is derived.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """The settings of `lynq run`, except for logging."""

    options: Options = field(default_factory=Options)
    kubeconfig: Path | None = None
    """Path of the kubeconfig; see `lynq.kube.load_config`, also for `context`."""
    context: str | None = None
    max_in_flight: int = MAX_IN_FLIGHT
    """Maximum number of concurrent requests to the API server."""
    leader_elect: bool = False
    """Whether the process reconciles only while it holds the Lease `options.shard.lease`."""
    leader_election_namespace: str = "default"
    health_address: Address | None = None
    """Address of /healthz and /readyz; None: off."""
    metrics_address: Address | None = None
    """Address of /metrics; None: off."""
    metrics_secure: bool = True
    """Whether /metrics is served over HTTPS to authorized tokens only."""
    metrics_per_node: bool = True
    """Whether node metrics have the label `lynqnode`, or are summed per namespace."""
    metrics_certificate: CertificateFiles | None = None
    """Certificate of /metrics; None: a self-signed one, created at startup."""
    key_namespace: str = "default"
    """Namespace of the Secret with the installation key: that of the operator."""
    key_secret: str = KEY_SECRET
    """Name of that Secret."""
    admission: AdmissionFactory | None = None
    """The admission webhooks; None: off."""
    pprof: bool = False
    """Whether profiles are served on 127.0.0.1:6060."""


SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a thread that computes releases the interpreter lock. The event loop waits
for the lock several times in each turn, and Python's default of 5 ms would add up to seconds while
a plan or a heavy template is rendered."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_log = structlog.get_logger(__name__)


async def run(settings: ProcessSettings) -> None:
    """Run until SIGTERM or SIGINT; raises LeaseLost, KubeError, ListenError."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    config = load_config(kubeconfig=settings.kubeconfig, context=settings.context)
    limits = ClientOptions(max_in_flight=settings.max_in_flight)
    async with Client.connect(config, options=limits) as client:
        with _stop_on_signal() as stop:
            await Process(settings, client, server=config.server).run(stop)


class Process:
    """The parts of the process; separate from `run` so that tests can inject a client."""

    def __init__(self, settings: ProcessSettings, client: Client, *, server: str = "") -> None:
        self._settings = settings
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._metrics = RuntimeMetrics(self.registry)
        self._client = client = client.intercepted(self._metrics.requests(server))
        self._election = self._leader_election() if settings.leader_elect else None
        self.context = ControllerContext.of(
            client.fenced(self._election.fence) if self._election else client,
            settings.options,
            self._metrics,
            OperatorMetrics(self.registry, per_node=settings.metrics_per_node),
        )
        self._keys = KeyLoader(
            client,
            settings.key_namespace,
            settings.key_secret,
            self.context.current_key,
            nodes=self._synced_nodes if settings.options.shard.has_hubs else None,
        )
        self.context.current_key.on_change(
            lambda _, key: self.context.operator_metrics.record_installation_key(
                loaded=isinstance(key, InstallationKey)
            )
        )
        # Not fenced: every replica serves admission requests.
        self._admission = self._admission_server(client)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; return within five seconds after that."""
        async with AsyncExitStack() as servers:
            for server in self._servers():
                await servers.enter_async_context(server)
            operator = Operator(self.context)
            async with (
                _concurrently(self.context.run_caches()),
                _concurrently(operator.stand_by()),
                _concurrently(self._keys.run()),
            ):
                await self._lead(operator, stop)
        # Not after an error: it may be the effect of a render that is still under way.
        self.context.journal.close()

    async def _lead(self, operator: Operator, stop: asyncio.Event) -> None:
        def lead() -> Coroutine[Any, Any, None]:
            return operator.run(stop)

        leading = asyncio.ensure_future(self._election.run(lead) if self._election else lead())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not operator.has_started:
                # Nothing to drain: the operator waits for the lease or for the caches.
                leading.cancel()
            await asyncio.wait((leading,))
        finally:
            for task in (leading, stopping):
                task.cancel()
        if not leading.cancelled():
            leading.result()

    def _admission_server(self, client: Client) -> AdmissionServer | None:
        if self._settings.admission is None:
            return None
        view = CachedClusterView(self.context)
        return self._settings.admission.serve(client, view, self.registry, lambda: self.context.key)

    async def _synced_nodes(self) -> list[LynqNode | Unreadable]:
        await self.context.nodes.cache.synced()
        return [node for _, node in self.context.nodes.cache.items()]

    def _leader_election(self) -> LeaderElection:
        shard = self._settings.options.shard
        lease = shard.lease
        return LeaderElection(
            self._client,
            namespace=self._settings.leader_election_namespace,
            name=lease,
            leading=self._metrics.leading(lease),
            is_rival=shard.excludes_lease,
            # A role of an older version may not list leases; it has no shards beside it.
            must_check_rivals=shard.count > 1,
        )

    def _servers(self) -> Iterator[AbstractAsyncContextManager[Any]]:
        settings = self._settings
        if settings.health_address:
            from lynq.telemetry.endpoints import health_server  # noqa: PLC0415 - see the facade

            yield health_server(settings.health_address, self._readiness_problems)
        if settings.metrics_address:
            from lynq.telemetry.endpoints import metrics_server  # noqa: PLC0415 - see the facade

            authorize = partial(may_read_metrics, self._client)
            protection = Protection(authorize, settings.metrics_certificate)
            yield metrics_server(
                settings.metrics_address,
                self.registry,
                protection if settings.metrics_secure else None,
            )
        if settings.pprof:
            from lynq.telemetry.profiling import profile_server  # noqa: PLC0415 - see the facade

            yield profile_server()
        if self._admission:
            yield self._admission

    def _readiness_problems(self) -> list[str]:
        """Return why the process is not ready."""
        unsynced = [
            f"{cache.resource.name} are not synced yet {cache.health.problem}".rstrip()
            for cache in self.context.caches
            if not cache.has_synced
        ]
        webhooks = self._admission.problem if self._admission else ""
        return [*unsynced, webhooks] if webhooks else unsynced


@asynccontextmanager
async def _concurrently(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` for the duration of the block; its failure fails the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield
        task.cancel()


@contextmanager
def _stop_on_signal() -> Iterator[asyncio.Event]:
    """Yield an event that SIGTERM and SIGINT set."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def set_stop(number: signal.Signals) -> None:
        _log.info("stopping", signal=number.name)
        stop.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, set_stop, number)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
