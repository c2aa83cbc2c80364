"""The options of the dashboard, and the bounds of everything that a viewer can ask for."""

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from lynq.telemetry import Address
from lynq.tls.context import CertificateFiles

MAX_BODY: Final = 32 * 1024
"""Bytes of a request body."""
MAX_TEXT: Final = 500
"""Characters of one query parameter: a filter, a search, a cursor."""
MAX_PAGE: Final = 500
"""Nodes or rows of one page."""
MAX_GROUPS: Final = 200
"""Problem groups of one answer; the largest are kept."""
MAX_EXAMPLES: Final = 5
"""Members that a problem group shows."""
MAX_HITS: Final = 20
"""Results of a search."""
MAX_SHAPES: Final = 300
"""Shapes of the topology."""
MAX_HELD: Final = 1000
"""Nodes of held deletions that a hub shows."""
MAX_UIDS: Final = 50
"""Rows that a form offers for a preview."""
MAX_TENANT_NODES: Final = 50
"""Nodes of one tenant."""
MAX_TIMELINE: Final = 200
"""Entries of a timeline."""
MAX_NAMESPACES: Final = 500
"""Namespaces whose rights are checked one by one for a viewer."""
MAX_OBJECT: Final = 1024 * 1024
"""Characters of the YAML of one object."""
MAX_SESSIONS: Final = 1000
"""Sessions in memory; of more, the user with the most loses the least recently used one."""
MAX_REVIEWS: Final = 4
"""Tokens of logins that are reviewed at the same time."""
MAX_FAILED_LOGINS: Final = 20
"""Failed logins of one address at once; each `DashboardTiming.failed_login` allows one more."""
MAX_ADDRESSES: Final = 10_000
"""Addresses whose failed logins are counted; the least recent one is forgotten first."""
MAX_STREAMS: Final = 200
"""Open streams of all viewers."""
MAX_VIEWER_STREAMS: Final = 20
"""Open streams of one user."""
MAX_CHANGES: Final = 10_000
"""Changes that a stream can resume over."""
MAX_CHANGED: Final = 200
"""Objects in one message of a stream; of more, the page is loaded again."""
MAX_REQUESTS: Final = 6
"""Requests of one user that are answered at the same time: as many as one browser sends."""
MAX_USER_REQUESTS: Final = 60
"""Requests of one user that are answered or wait."""
MAX_PLANS: Final = 2
"""Plans that are computed at the same time, each of another user: a plan takes most of a core."""
MAX_USER_PLANS: Final = 5
"""Plans of one user that are computed or wait."""


class AuthMode(StrEnum):
    """How viewers are authenticated."""

    TOKEN = "token"  # noqa: S105 - a mode
    """Each viewer logs in with a token of the cluster."""
    PROXY = "proxy"
    """A proxy in front authenticates viewers, and names them in headers."""
    KUBECONFIG = "kubeconfig"
    """Without login, with the rights of the server's own credentials; on loopback only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardTiming:
    """All delays and limits in seconds."""

    rights: float = 30.0
    """How long an answer about a right is used."""
    session: float = 8 * 3600.0
    """How long a session lasts without a request."""
    failed_login: float = 3.0
    """Time after which an address may fail another login."""
    longest_session: float = 24 * 3600.0
    """How long a session lasts."""
    coalesce: float = 0.25
    """Time between two messages of a stream."""
    heartbeat: float = 15.0
    """Time between two comments of a quiet stream."""
    proxied_stream: float = 300.0
    """How long a stream lasts behind a proxy, which then authenticates the viewer again."""
    slow_client: float = 10.0
    """How long a client may take to receive a message."""
    request: float = 15.0
    """How long a request may take."""
    plan: float = 60.0
    """How long a plan may take."""
    watched_plan: float = 600.0
    """How long a plan may take that shows its progress: the viewer can cancel it."""
    evidence: float = 0.2
    """How long the start page waits for the pods of its problems."""
    grace: float = 30.0
    """How long a node may progress before it is a problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """The options of `lynq dashboard`."""

    address: Address = field(default_factory=lambda: Address("127.0.0.1", 8090))
    auth: AuthMode = AuthMode.TOKEN
    allow_actions: bool = False
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    groups_separator: str = ","
    """What separates the groups in their header; empty: each group has a header of its own."""
    certificate: CertificateFiles | None = None
    namespace: str | None = None
    """The only namespace that is watched; None: all."""
    context: str = ""
    """The name of the cluster."""
    docs_url: str = ""
    """The address of the documentation; empty: the pages link to none."""
    operator_namespace: str = "lynq-system"
    timing: DashboardTiming = DashboardTiming()
