"""The types of the pages of one tenant, form or hub, and of actions."""

from datetime import datetime
from typing import Any, Literal

from lynq.dashboard.types.common import (
    ApiType,
    CauseView,
    ConditionView,
    FormCell,
    NodesByState,
    ResourceView,
    RolloutView,
    RowValue,
    SummaryView,
)


class TimelineEntry(ApiType, frozen=True, kw_only=True):
    """A condition's transition or an event."""

    at: datetime
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    subject: str
    count: int = 1


class TenantNode(ApiType, frozen=True, kw_only=True):
    """One node of a tenant."""

    summary: SummaryView
    causes: tuple[CauseView, ...] = ()
    notes: tuple[CauseView, ...] = ()
    resources: tuple[ResourceView, ...] = ()
    conditions: tuple[ConditionView, ...] = ()
    paused: bool = False


class TenantView(ApiType, frozen=True, kw_only=True):
    """`GET /tenants/{namespace}/{uid}`: all nodes of one uid."""

    uid: str
    namespace: str
    nodes: tuple[TenantNode, ...]
    row: tuple[RowValue, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    denials: tuple[str, ...] = ()


class FieldDifference(ApiType, frozen=True, kw_only=True):
    """A field that differs between the live and the desired object."""

    path: str
    live: str | None
    desired: str | None
    manager: str = ""


class ObjectView(ApiType, frozen=True, kw_only=True):
    """`GET /objects?apiVersion=&kind=&namespace=&name=&node=`: one live object."""

    yaml: str
    """Without managedFields; the data of Secrets are masked."""
    managed_fields: str = ""
    differences: tuple[FieldDifference, ...] | None = None
    """None: the desired object is unknown; empty: the live object is as desired."""
    problem: str = ""


class FormView(ApiType, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}`."""

    summary: SummaryView
    resources: tuple[ResourceView, ...]
    templates: dict[str, str]
    """The YAML of each resource, by id."""
    nodes: NodesByState
    rollout: RolloutView | None = None
    conditions: tuple[ConditionView, ...] = ()
    variables: tuple[RowValue, ...] = ()
    """The variables of the hub and their columns; the values are empty."""
    uids: tuple[str, ...] = ()
    """Rows to choose from for a preview, at most 50; `/nodes?q=` finds others."""
    paused: bool = False


class PreviewResource(ApiType, frozen=True, kw_only=True):
    """The result of one resource's templates."""

    id: str
    result: str = ""
    error: str = ""


class PreviewView(ApiType, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}/preview?uid=`: the form, rendered for one row."""

    uid: str
    resources: tuple[PreviewResource, ...]


class PlanView(ApiType, frozen=True, kw_only=True):
    """`GET /forms/{namespace}/{name}/plan` or `/hubs/…/plan`: the document lynq.sh/plan/v1."""

    plan: dict[str, Any]
    denials: tuple[str, ...] = ()


class PlanProgress(ApiType, frozen=True, kw_only=True):
    """How far a plan is."""

    phase: Literal["Waiting", "Reading", "Planning"]
    """Waiting: for the plan of another viewer. Reading: nodes, forms and objects."""
    done: int = 0
    """Number of nodes that are planned."""
    total: int = 0


class PlanMessage(ApiType, frozen=True, kw_only=True):
    """One line of `GET /forms/…/plan?progress=true` or `/hubs/…`: the last has a view or error."""

    progress: PlanProgress | None = None
    view: PlanView | None = None
    error: str = ""


class RejectedRowView(ApiType, frozen=True, kw_only=True):
    """A row that the hub rejected."""

    uid: str
    reason: str
    message: str = ""


class HeldNode(ApiType, frozen=True, kw_only=True):
    """A node whose deletion is held."""

    name: str
    uid: str = ""
    """Empty if the viewer may not list nodes."""


class HeldView(ApiType, frozen=True, kw_only=True):
    """The deletions that the guard of a hub holds."""

    count: int
    digest: str
    message: str = ""
    nodes: tuple[HeldNode, ...] = ()
    """The first 1,000; or the first 20, if only a read of the rows shows the others."""


class HubView(ApiType, frozen=True, kw_only=True):
    """`GET /hubs/{namespace}/{name}`."""

    summary: SummaryView
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


class RowView(ApiType, frozen=True, kw_only=True):
    """A row as the hub read it, and the nodes that it has."""

    uid: str
    values: dict[str, str]
    """By variable, as the nodes have them."""
    nodes: tuple[SummaryView, ...]


class RowPage(ApiType, frozen=True, kw_only=True):
    """`GET /hubs/{namespace}/{name}/rows?q=&after=&limit=`."""

    items: tuple[RowView, ...]
    total: int
    next: str = ""


class ActionRequest(ApiType, frozen=True, kw_only=True):
    """`POST /actions/{sync|pause|resume|reconcile|approve}`."""

    kind: Literal["Hub", "Form", "Node"]
    namespace: str
    name: str
    digest: str = ""
    """The digest of the held deletions that the viewer saw; approve only."""


class ActionResult(ApiType, frozen=True, kw_only=True):
    """The answer to an action."""

    message: str
