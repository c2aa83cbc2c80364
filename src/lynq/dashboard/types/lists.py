"""The types of the pages over many nodes: problems, fleet, nodes, topology, search, changes."""

from datetime import datetime
from typing import Literal

from lynq.dashboard.types.common import (
    ApiType,
    FormCell,
    NodesByState,
    ResourceStateName,
    State,
    SummaryView,
)


class SessionView(ApiType, frozen=True, kw_only=True):
    """`GET /session`: the viewer, and what the server allows."""

    user: str
    groups: tuple[str, ...] = ()
    mode: Literal["Token", "Proxy", "Kubeconfig"]
    """How the viewer is authenticated. Kubeconfig: the server's own rights, on loopback only."""
    allow_actions: bool = False
    context: str = ""
    """The cluster's name: the context of the kubeconfig, or the server's address."""
    namespaces: tuple[str, ...] = ()
    """The namespaces with hubs, forms or nodes that the viewer may list."""
    version: str = ""
    docs_url: str = ""
    """The address of the documentation; empty if the server knows none."""


class LoginRequest(ApiType, frozen=True, kw_only=True):
    """`POST /login`: a token of the cluster; answered with a SessionView and a cookie."""

    token: str


class ProblemGroup(ApiType, frozen=True, kw_only=True):
    """Nodes, hubs or forms that have the same problem."""

    key: str
    """Identifies the group between two answers; a filter of `/nodes?group=`."""
    kind: Literal["Hub", "Form", "Node"]
    title: str
    """For example "ImagePullBackOff in web"."""
    cause: str
    """The CauseKind, for example ContainerFailing."""
    count: int
    resource_id: str = ""
    form: str = ""
    hub: str = ""
    message: str = ""
    """The message of the oldest member."""
    since: datetime | None = None
    """The time of the oldest problem."""
    examples: tuple[SummaryView, ...] = ()
    """The first members, at most 5."""
    documentation: str = ""
    """The troubleshooting entry."""


class ProblemsView(ApiType, frozen=True, kw_only=True):
    """`GET /problems?namespace=`: the start page."""

    groups: tuple[ProblemGroup, ...]
    nodes: NodesByState
    denials: tuple[str, ...] = ()
    """What the viewer may not list, and the right that is missing."""


class HubRow(ApiType, frozen=True, kw_only=True):
    """A hub and its forms."""

    hub: SummaryView
    forms: tuple[FormCell, ...]
    rows: int = 0
    """Number of active rows of the last read."""
    rejected: int = 0
    held: int = 0
    """Number of deletions that the guard holds."""
    last_sync: datetime | None = None


class LatencyPoint(ApiType, frozen=True, kw_only=True):
    """How long the nodes that became ready in one minute took, from the hub's write."""

    at: datetime
    count: int
    p50: float
    p99: float


class FleetView(ApiType, frozen=True, kw_only=True):
    """`GET /fleet?namespace=`."""

    hubs: tuple[HubRow, ...]
    nodes: NodesByState
    latency: tuple[LatencyPoint, ...] = ()
    denials: tuple[str, ...] = ()


class NodePage(ApiType, frozen=True, kw_only=True):
    """`GET /nodes?where=&q=&group=&state=&sort=&after=&limit=`: filtered and sorted by the server.

    `state` is a field of NodesByState.
    """

    items: tuple[SummaryView, ...]
    total: int
    """Number of nodes that match."""
    counts: NodesByState
    """Of the nodes that match without `state`, so that another state can be chosen."""
    next: str = ""
    """The value of `after` for the next page; empty on the last one."""


class Shape(ApiType, frozen=True, kw_only=True):
    """A shape of the topology: an object, or a group of `count` objects."""

    id: str
    type: Literal["Hub", "Form", "Node", "Resource", "Orphan"]
    name: str
    namespace: str = ""
    state: State | ResourceStateName
    count: int = 1
    problems: int = 0
    """Number of members that are not ready."""
    uid: str = ""


class ShapeEdge(ApiType, frozen=True, kw_only=True):
    """A line of the topology."""

    source: str
    target: str


class TopologyView(ApiType, frozen=True, kw_only=True):
    """`GET /topology?namespace=&q=&problems=&focus=`: at most 300 shapes.

    `focus` is the id of a shape whose members are shown in place of the group.
    """

    shapes: tuple[Shape, ...]
    edges: tuple[ShapeEdge, ...]
    denials: tuple[str, ...] = ()


class SearchHit(ApiType, frozen=True, kw_only=True):
    """What a search has found: a hub, form or node, an object of a node, or a rejected row."""

    kind: str
    """Hub, Form, Node, Row, or the kind of the object."""
    namespace: str
    name: str
    resource_id: str = ""
    """The resource of the object in its form."""
    summary: SummaryView
    """The hub, form or node; the node of the object; the hub of the row."""


class SearchResults(ApiType, frozen=True, kw_only=True):
    """`GET /search?q=`: the best 20 matches."""

    items: tuple[SearchHit, ...]


class ChangeMessage(ApiType, frozen=True, kw_only=True):
    """One message of `GET /stream?namespace=&after=` (server-sent events, event `change`).

    `after` is the id of the last message that a page received, as is the header Last-Event-ID.
    """

    revision: int
    nodes: NodesByState
    changed: tuple[SummaryView, ...] = ()
    """What changed since the last message; empty if too much did: load the page again."""
    deleted: tuple[str, ...] = ()
    """Kind/namespace/name of what is gone."""
    reload: bool = False
