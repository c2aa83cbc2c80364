"""What one process of the operator is told by its flags: what to run, as whom, listening where."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from lynq.controllers.cluster_view import CachedClusterView
from lynq.controllers.options import Options
from lynq.kube import Client
from lynq.telemetry import Address, CertificateFiles


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
