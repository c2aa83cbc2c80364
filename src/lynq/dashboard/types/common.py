"""The types that several pages share. Times are RFC 3339. No type carries the data of a Secret."""

from datetime import datetime
from typing import Literal

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


class ApiType(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Base class of the API's types."""


class SummaryView(ApiType, frozen=True, kw_only=True):
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


class NodesByState(ApiType, frozen=True, kw_only=True):
    """Number of nodes by state."""

    total: int = 0
    ready: int = 0
    progressing: int = 0
    failed: int = 0
    """Failed and Conflicted."""
    paused: int = 0
    deleting: int = 0


class RolloutView(ApiType, frozen=True, kw_only=True):
    """The rollout of a form."""

    phase: str
    total: int
    updated: int
    ready: int
    max_skew: int = 0
    message: str = ""


class FormCell(ApiType, frozen=True, kw_only=True):
    """A form in the row of its hub."""

    form: SummaryView
    nodes: NodesByState
    rollout: RolloutView | None = None


class ConditionView(ApiType, frozen=True, kw_only=True):
    """A condition of a hub, form or node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None


class OriginView(ApiType, frozen=True, kw_only=True):
    """The column of the row that a field comes from."""

    field: str
    variable: str
    column: str
    value: str | None = None


class CauseView(ApiType, frozen=True, kw_only=True):
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


class ResourceView(ApiType, frozen=True, kw_only=True):
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


class RowValue(ApiType, frozen=True, kw_only=True):
    """A value of the row as the node has it."""

    variable: str
    column: str = ""
    value: str


class ErrorBody(ApiType, frozen=True, kw_only=True):
    """The body of every error."""

    error: str
    """One sentence: what is wrong and what to do."""
