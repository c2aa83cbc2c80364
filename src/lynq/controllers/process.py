"""What one process of the operator is told by its flags: what to run, as whom, listening where."""

from dataclasses import dataclass, field
from pathlib import Path

from lynq.controllers.options import Options
from lynq.telemetry.address import Address
from lynq.telemetry.certificates import CertificateFiles


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
    metrics_certificate: CertificateFiles | None = None
    """None: a self-signed certificate, made at the start."""
    webhook_certificate: CertificateFiles | None = None
    """For the admission webhooks."""
    pprof: bool = False
    """Whether profiles are served on 127.0.0.1:6060."""
