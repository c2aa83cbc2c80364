"""The JSON of the dashboard's API, `/api/v2`: the types of the pages in the browser.

`ui/src/api-types.ts` is generated from these structs, so that a renamed field breaks the build.
Times are RFC 3339. No struct carries the data of a Secret.
"""

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

State = Literal[
    "Ready",
    "Progressing",
    "Failed",
    "Conflicted",
    "Degraded",
    "Held",
    "Invalid",
    "Paused",
    "Deleting",
]
"""The state of a hub, form or node in one word, as `lynq get` prints it."""

ResourceStateName = Literal[
    "Waiting", "Progressing", "Ready", "Failed", "Conflicted", "Skipped", "Deleting"
]


class View(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Base class of the API's types."""


class Session(View, frozen=True, kw_only=True):
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


class Summary(View, frozen=True, kw_only=True):
    """A hub, form or node in one line."""

    kind: Literal["Hub", "Form", "Node"]
    namespace: str
    name: str
    state: State
    ready: int = 0
    desired: int = 0
    cause: str = ""
    """Why it is not ready, in a few words."""
    message: str = ""
    uid: str = ""
    form: str = ""
    hub: str = ""
    since: datetime | None = None
    """The time of the last change of the condition Ready."""
    created: datetime | None = None


class StateCounts(View, frozen=True, kw_only=True):
    """Number of nodes by state."""

    total: int = 0
    ready: int = 0
    progressing: int = 0
    failed: int = 0
    """Failed and Conflicted."""
    paused: int = 0
    deleting: int = 0


class ProblemGroup(View, frozen=True, kw_only=True):
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
    examples: tuple[Summary, ...] = ()
    """The first members, at most 5."""
    documentation: str = ""
    """The troubleshooting entry."""


class Problems(View, frozen=True, kw_only=True):
    """`GET /problems?namespace=`: the start page."""

    groups: tuple[ProblemGroup, ...]
    nodes: StateCounts
    denials: tuple[str, ...] = ()
    """What the viewer may not list, and the right that is missing."""


class RolloutView(View, frozen=True, kw_only=True):
    """The rollout of a form."""

    phase: str
    total: int
    updated: int
    ready: int
    max_skew: int = 0
    message: str = ""


class FormCell(View, frozen=True, kw_only=True):
    """A form in the row of its hub."""

    form: Summary
    nodes: StateCounts
    rollout: RolloutView | None = None


class HubRow(View, frozen=True, kw_only=True):
    """A hub and its forms."""

    hub: Summary
    forms: tuple[FormCell, ...]
    rows: int = 0
    """Number of active rows of the last read."""
    rejected: int = 0
    held: int = 0
    """Number of deletions that the guard holds."""
    last_sync: datetime | None = None


class LatencyPoint(View, frozen=True, kw_only=True):
    """How long the nodes that became ready in one minute took, from the hub's write."""

    at: datetime
    count: int
    p50: float
    p99: float


class Fleet(View, frozen=True, kw_only=True):
    """`GET /fleet?namespace=`."""

    hubs: tuple[HubRow, ...]
    nodes: StateCounts
    latency: tuple[LatencyPoint, ...] = ()
    denials: tuple[str, ...] = ()


class NodePage(View, frozen=True, kw_only=True):
    """`GET /nodes?where=&q=&group=&sort=&after=&limit=`: filtered and sorted by the server."""

    items: tuple[Summary, ...]
    total: int
    """Number of nodes that match."""
    counts: StateCounts
    next: str = ""
    """The value of `after` for the next page; empty on the last one."""


class ConditionView(View, frozen=True, kw_only=True):
    """A condition of a hub, form or node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None


class OriginView(View, frozen=True, kw_only=True):
    """The column of the row that a field comes from."""

    field: str
    variable: str
    column: str
    value: str | None = None


class CauseView(View, frozen=True, kw_only=True):
    """One reason why a node is not ready, and what to do about it."""

    kind: str
    subject: str
    resource_id: str = ""
    message: str
    since: datetime | None = None
    origins: tuple[OriginView, ...] = ()
    details: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    documentation: str = ""


class ResourceView(View, frozen=True, kw_only=True):
    """A resource of a node or a form, in its place of the dependency graph."""

    id: str
    api_version: str = ""
    kind: str
    namespace: str = ""
    name: str = ""
    state: ResourceStateName | None = None
    """None for the resource of a form."""
    reason: str = ""
    message: str = ""
    since: datetime | None = None
    level: int = 0
    """The longest path of dependencies below it."""
    depends_on: tuple[str, ...] = ()
    policies: dict[str, str] = {}
    """The policies that differ from their defaults: creation, deletion, conflict, patch, …"""


class RowValue(View, frozen=True, kw_only=True):
    """A value of the row as the node has it."""

    variable: str
    column: str = ""
    value: str


class TimelineEntry(View, frozen=True, kw_only=True):
    """A condition's transition or an event."""

    at: datetime
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    subject: str
    count: int = 1


class TenantNode(View, frozen=True, kw_only=True):
    """One node of a tenant."""

    summary: Summary
    causes: tuple[CauseView, ...] = ()
    notes: tuple[CauseView, ...] = ()
    resources: tuple[ResourceView, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    paused: bool = False


class Tenant(View, frozen=True, kw_only=True):
    """`GET /tenants/{namespace}/{uid}`: all nodes of one uid."""

    uid: str
    namespace: str
    nodes: tuple[TenantNode, ...]
    row: tuple[RowValue, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    denials: tuple[str, ...] = ()


class FieldDifference(View, frozen=True, kw_only=True):
    """A field that differs between the live and the desired object."""

    path: str
    live: str | None
    desired: str | None
    manager: str = ""


class ObjectView(View, frozen=True, kw_only=True):
    """`GET /objects?apiVersion=&kind=&namespace=&name=&node=`: one live object."""

    yaml: str
    """Without managedFields; the data of Secrets are masked."""
    managed_fields: str = ""
    differences: tuple[FieldDifference, ...] | None = None
    """None: the desired object is unknown; empty: the live object is as desired."""
    problem: str = ""


class FormView(View, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}`."""

    summary: Summary
    resources: tuple[ResourceView, ...]
    templates: dict[str, str]
    """The YAML of each resource, by id."""
    nodes: StateCounts
    rollout: RolloutView | None = None
    conditions: tuple[ConditionView, ...] = ()
    variables: tuple[RowValue, ...] = ()
    """The variables of the hub and their columns; the values are empty."""
    uids: tuple[str, ...] = ()
    """Rows to choose from for a preview, at most 50; `/nodes?q=` finds others."""
    paused: bool = False


class PreviewResource(View, frozen=True, kw_only=True):
    """The result of one resource's templates."""

    id: str
    result: str = ""
    error: str = ""


class Preview(View, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}/preview?uid=`: the form, rendered for one row."""

    uid: str
    resources: tuple[PreviewResource, ...]


class PlanView(View, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}/plan` or `/hubs/…/plan`: the document lynq.sh/plan/v1."""

    plan: dict[str, Any]
    denials: tuple[str, ...] = ()


class RejectedRowView(View, frozen=True, kw_only=True):
    """A row that the hub rejected."""

    uid: str
    reason: str
    message: str = ""


class HeldView(View, frozen=True, kw_only=True):
    """The deletions that the guard of a hub holds."""

    count: int
    digest: str
    message: str = ""
    nodes: tuple[Summary, ...] = ()
    """At most 200."""


class HubView(View, frozen=True, kw_only=True):
    """`GET /hubs/{namespace}/{name}`."""

    summary: Summary
    source: dict[str, str]
    """Type, host, database, table, sync interval and the like; no credentials."""
    push: str = ""
    """The state of the push channel; empty if the hub polls."""
    mappings: tuple[RowValue, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    forms: tuple[FormCell, ...] = ()
    rows: int = 0
    rejected: tuple[RejectedRowView, ...] = ()
    rejected_count: int = 0
    held: HeldView | None = None
    last_sync: datetime | None = None
    paused: bool = False


class RowView(View, frozen=True, kw_only=True):
    """A row as the hub read it, and the nodes that it has."""

    uid: str
    values: dict[str, str]
    """By variable, as the nodes have them."""
    nodes: tuple[Summary, ...]


class RowPage(View, frozen=True, kw_only=True):
    """`GET /hubs/{namespace}/{name}/rows?q=&after=&limit=`."""

    items: tuple[RowView, ...]
    total: int
    next: str = ""


class Shape(View, frozen=True, kw_only=True):
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


class Edge(View, frozen=True, kw_only=True):
    """A line of the topology."""

    source: str
    target: str


class Topology(View, frozen=True, kw_only=True):
    """`GET /topology?namespace=&q=&problems=&focus=`: at most 300 shapes.

    `focus` is the id of a shape whose members are shown in place of the group.
    """

    shapes: tuple[Shape, ...]
    edges: tuple[Edge, ...]
    denials: tuple[str, ...] = ()


class SearchResults(View, frozen=True, kw_only=True):
    """`GET /search?q=`: the best 20 matches over hubs, forms, nodes and resources."""

    items: tuple[Summary, ...]


class Change(View, frozen=True, kw_only=True):
    """One message of `GET /stream?namespace=` (server-sent events, event `change`)."""

    revision: int
    nodes: StateCounts
    changed: tuple[Summary, ...] = ()
    """What changed since the last message; empty if too much did: load the page again."""
    deleted: tuple[str, ...] = ()
    """Kind/namespace/name of what is gone."""
    reload: bool = False


class ActionRequest(View, frozen=True, kw_only=True):
    """`POST /actions/{sync|pause|resume|reconcile|approve}`."""

    kind: Literal["Hub", "Form", "Node"]
    namespace: str
    name: str
    digest: str = ""
    """The digest of the held deletions that the viewer saw; approve only."""


class ActionResult(View, frozen=True, kw_only=True):
    """The answer to an action."""

    message: str


class Failure(View, frozen=True, kw_only=True):
    """The body of every error."""

    error: str
    """One sentence: what is wrong and what to do."""
