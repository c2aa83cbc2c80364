"""What is remembered of a hub between two passes; all of it may be lost at any time.

What has to survive a restart is in the API server. This saves work: reading, rendering, telling.

A plan on its way: what of it is left to do, and how the rest went.

A hub with thousands of writes would hold its worker for a minute, and three such hubs all workers.
So writes are begun for a second at a time, and between two turns the other hubs have theirs. What
is left goes on from the same plan: to render ten thousand nodes anew for every turn would cost more
than the writes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from lynq.api import LynqHub
from lynq.api.events import Event
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_FORCE_SYNC
from lynq.api.naming import NodePair
from lynq.controllers.concurrency import BackgroundJob
from lynq.controllers.hub.source_config import SourceConfig
from lynq.controllers.status_limiter import StatusLimiter
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.core.guard.announcements import AnnouncedRejections
from lynq.core.guard.approval import NO_APPROVAL, Approval, requested_approval
from lynq.core.hub.diff import CheckedSpecs, NodeCreation, NodeDeletion, NodeUpdate
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.status import PushState, ReadFailure, SyncResult
from lynq.core.node.objects import ObjectRef
from lynq.kube.errors import (
    ConnectionFailed,
    InternalError,
    KubeError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)
from lynq.sources import Row, Settings, Source

Write: TypeAlias = NodeDeletion | NodeCreation | NodeUpdate

_OUTAGES: Final = (
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)


@dataclass(frozen=True, slots=True)
class PlannedSync:
    """A plan, and whether it came from another source than the one before."""

    plan: HubPlan
    source_changed: bool


@dataclass(slots=True)
class ExecutionResult:
    """How far it came."""

    failed: int = 0
    """Writes that the API server refused, or that got no answer."""
    stopped: bool = False
    """Whether the plan became void on the way."""
    outage: int = 0
    """How many writes in a row failed for reasons that would fail any other."""

    def note(self, error: KubeError | None) -> None:
        """Count how a write ended."""
        self.failed += error is not None
        self.outage = self.outage + 1 if isinstance(error, _OUTAGES) else 0

    @property
    def is_complete(self) -> bool:
        """Whether everything was done."""
        return not self.failed and not self.stopped


@dataclass(slots=True)
class PlanExecution:
    """The writes of one plan, over as many turns as they take."""

    hub: LynqHub
    """As it was when the plan was made: once it has changed, the rest is void."""
    plan: HubPlan
    rows_at: datetime
    """When the rows were read."""
    left: list[Write]
    """What is yet to be begun, in its order."""
    carried: ExecutionResult = field(default_factory=ExecutionResult)

    @classmethod
    def of(cls, hub: LynqHub, plan: HubPlan, rows_at: datetime) -> "PlanExecution":
        """Return the course of a plan of which nothing is done yet."""
        return cls(hub, plan, rows_at, [*plan.deletes, *plan.creates, *plan.updates])

    @property
    def removals(self) -> tuple[NodeDeletion, ...]:
        """The nodes that are yet to be deleted."""
        return tuple(each for each in self.left if isinstance(each, NodeDeletion))

    def keep(self, removals: Iterable[NodeDeletion]) -> None:
        """Delete no other nodes than these; the rest counts as failed, so it is planned anew."""
        kept = {each.name for each in removals}
        before = len(self.left)
        self.left = [
            each for each in self.left if not isinstance(each, NodeDeletion) or each.name in kept
        ]
        self.carried.failed += before - len(self.left)


@dataclass(frozen=True, slots=True)
class UserRequests:
    """What people have asked of a hub, as far as it makes the hub read its rows."""

    generation: int
    force: str
    approval: str

    @classmethod
    def of(cls, hub: LynqHub) -> "UserRequests":
        """Return what a hub asks for."""
        annotations = hub.metadata.annotations
        return cls(
            hub.metadata.generation,
            annotations.get(ANNOTATION_FORCE_SYNC, ""),
            requested_approval(hub.metadata),
        )

    def exceed(self, known: "UserRequests") -> bool:
        """Return whether anything is asked for that was not before; less is no order."""
        return (
            self.generation != known.generation
            or self.force not in ("", known.force)
            or self.approval not in ("", known.approval)
        )


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The rows of the last complete read."""

    rows: Sequence[Row]
    identity: str
    at: datetime
    orders: UserRequests
    """What the read was begun with; rows from before an order do not carry it out."""


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source, kept open between reads."""

    settings: Settings
    source: Source


@dataclass(frozen=True, slots=True)
class PushChannel:
    """A push channel, and what it listens to."""

    settings: Settings
    table: str
    job: BackgroundJob


@dataclass(slots=True)
class HubState:
    """One hub. Changed only on the event loop, between two awaits."""

    uid: str
    timing: Timing = DEFAULT_TIMING

    # Where the rows come from.
    origin: SourceConfig | None = None
    """As the last read found it; None before the first, and if it could not be found out."""
    opened: OpenSource | None = None
    channel: PushChannel | None = None
    push: PushState | None = None

    # Reading.
    reading: BackgroundJob | None = None
    orders: UserRequests | None = None
    """Those that the last read was begun with."""
    began: datetime | None = None
    """When the last read was begun."""
    wants_read: bool = False
    """Whether something has happened that the last read may not know of."""
    rows: ReadRows | None = None
    unread: ReadFailure | None = None
    """Why the last read failed; None if it did not."""
    failures: int = 0
    retry_at: datetime | None = None

    # Planning.
    planned: ReadRows | None = None
    """The rows that the last plan was made from."""
    replan: bool = False
    """Whether something has happened that may call for other nodes."""
    rest_until: datetime | None = None
    """No second plan from the same rows before this: one of ten thousand nodes takes its time."""
    look_again: datetime | None = None
    marks: CheckedSpecs = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    """Forms of which nodes wait for a place under maxSkew."""
    wanted: Mapping[str, NodePair] = field(default_factory=dict)
    """The nodes that the last plan wanted, by name."""
    crowded: bool = False
    """Whether names are wanted that other nodes have."""
    approval: Approval = NO_APPROVAL
    """As the last plan has resolved it."""

    # Carrying out.
    course: PlanExecution | None = None
    """What is left of the last plan."""
    writing: set[str] = field(default_factory=set)
    """Nodes that are being written by us: their changes are no news."""
    deleted: dict[str, str] = field(default_factory=dict)
    """Uids, by name, of nodes whose deletion was accepted, and not yet seen."""
    tried: dict[str, KubeError | None] = field(default_factory=dict)
    """How it went with the nodes of a deleted hub in this round, by uid."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why the API server does not take nodes, by name."""
    write_failures: int = 0
    rewrite_at: datetime | None = None

    # Telling.
    synced: SyncResult | None = None
    told: AnnouncedRejections = field(default_factory=AnnouncedRejections)
    standing: tuple[Event, ...] = ()
    unretained: set[ObjectRef] = field(default_factory=set)
    """Objects of which a leaving hub has told that they could not be retained."""
    pace: StatusLimiter = field(init=False)
    """When the status may be written again."""

    def __post_init__(self) -> None:
        """Create the limiter of the hub's status writes."""
        self.pace = StatusLimiter(self.timing)


class HubStates:
    """The memories of all hubs."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, HubState] = {}

    def get(self, key: ObjectKey) -> HubState | None:
        """Return what is remembered of a hub."""
        return self._known.get(key)

    def put(self, key: ObjectKey, memory: HubState) -> None:
        """Remember a hub."""
        self._known[key] = memory

    def pop(self, key: ObjectKey) -> HubState | None:
        """Forget a hub."""
        return self._known.pop(key, None)

    def __iter__(self) -> Iterator[ObjectKey]:
        """Yield which hubs are remembered."""
        return iter(self._known)
