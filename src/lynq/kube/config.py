"""Where the cluster is and who we are: kubeconfig or in-cluster."""

from dataclasses import dataclass, field

from lynq.kube.credentials import Credentials, StaticCredentials


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the requests act as, in place of the one who sends them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One cluster as one user sees it. Its repr holds no secret."""

    server: str
    source: str = ""
    """Where this was read from, for messages."""
    certificate_authority: bytes | None = field(default=None, repr=False)
    """PEM; None: the system's."""
    tls_server_name: str | None = None
    insecure: bool = False
    proxy: str | None = field(default=None, repr=False)
    """The proxy's URL, which can hold a password; None: none."""
    namespace: str = "default"
    credentials: Credentials = field(default_factory=StaticCredentials, repr=False)
    impersonate: Impersonation | None = None
