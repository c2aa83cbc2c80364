"""The state of one hub between two reconciles, as far as decisions depend on it.

All of it is in memory and may be lost at any time: what has to survive a restart is in the API
server. The state saves reads, renders and writes. Each part has one writer in the hub's controller
(reading, planning, writing); event handlers only set the `requested` flags.

A hub with thousands of writes would occupy its worker for a minute, and three such hubs all
workers. The writes of a plan are therefore sent in turns, and other hubs are reconciled between two
turns. The rest of a plan is kept in a PlanExecution: rendering ten thousand nodes again for every
turn would cost more than the writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

from lynq.api import LynqHub
from lynq.api.installation_key import MissingKey
from lynq.api.names import ANNOTATION_FORCE_SYNC, ANNOTATION_SPEC_DIGEST
from lynq.api.naming import NodePair
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.guard.approval import NO_APPROVAL, Approval, requested_approval
from lynq.core.hub.diff import (
    CheckedSpecs,
    DeletionCause,
    NodeCreation,
    NodeDeletion,
    NodeUpdate,
)
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.plan_cache import PlanCache
from lynq.core.hub.render_budget import FailedRenders
from lynq.core.hub.row_values import RowLike
from lynq.core.hub.status import ReadFailure
from lynq.core.hub.write_window import MAX_WINDOW

_MAX_CHANGED_NODES: Final = 20_000
"""Number of changed nodes above which all rows are planned: a paused hub would record forever."""
_MAX_CHANGED_UIDS: Final = 1000
"""Changed rows above which all rows are read."""

Write: TypeAlias = NodeDeletion | NodeCreation | NodeUpdate


@dataclass(frozen=True, slots=True)
class UserRequests:
    """The requests of users in a hub's spec and annotations that make the hub read its rows."""

    generation: int
    force_sync: str
    approval: str

    @classmethod
    def of(cls, hub: LynqHub) -> "UserRequests":
        """Return the requests of a hub."""
        return cls(
            hub.metadata.generation,
            hub.metadata.annotations.get(ANNOTATION_FORCE_SYNC, ""),
            requested_approval(hub.metadata),
        )

    def exceed(self, earlier: "UserRequests") -> bool:
        """Return whether there is a new request; a removed annotation requests nothing."""
        return (
            self.generation != earlier.generation
            or self.force_sync not in ("", earlier.force_sync)
            or self.approval not in ("", earlier.approval)
        )


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The rows of one complete read."""

    rows: Sequence[RowLike]
    identity: str
    """The digest of the source's identity."""
    at: datetime
    requests: UserRequests
    """The requests at the start of the read; older rows do not fulfill newer requests."""
    time: ReadTime = field(default_factory=ReadTime)
    """When the read began and ended, by a monotonic clock."""
    inactive: frozenset[str] = frozenset()
    """The tracked uids that have an inactive row."""
    tracked: frozenset[str] = frozenset()
    """The uids whose inactive rows the read reports: those of known rows, and of nodes."""
    changed_at: datetime | None = None
    """The first push notification that the read answers, else the start of the read."""
    changed: frozenset[str] | None = None
    """The uids whose rows may differ from the rows of the last plan, `PlanState.rows`.
    None: all rows may differ. Rows with other uids are equal, one by one and in number."""


class Job(Protocol):
    """A background job."""

    def cancel(self) -> None:
        """Cancel the job."""


@dataclass(slots=True)
class ReadState:
    """The reads of a hub's rows."""

    job: Job | None = None
    """The read in progress."""
    requests: UserRequests | None = None
    """The requests at the start of the last read; None before the first one."""
    started_at: datetime | None = None
    """The start of the last read."""
    min_interval: timedelta = timedelta()
    """The least time between the start of the last read and that of the next one."""
    push_interval: timedelta = timedelta()
    """The same for a next read that a push notification triggers."""
    requested: bool = False
    """Whether the source, the hub or a form may have changed since the start of the last read."""
    changed_uids: frozenset[str] = frozenset()
    """The uids whose rows have changed since then, as far as `requested` does not say more."""
    changed_at: datetime | None = None
    """The first push notification since the start of the last read."""
    rows: ReadRows | None = None
    """The last complete read."""
    failure: ReadFailure | None = None
    """The reason why the last read failed; None if it succeeded."""
    failures: int = 0
    """Number of failed reads since the last complete one."""
    retry_at: datetime | None = None
    confirm_at: datetime | None = None
    """When to read again because rows are missing; set by the plan of the last read."""

    def record_change(self, uids: frozenset[str] | None, at: datetime) -> None:
        """Record a push notification about these uids; None: any row may have changed."""
        if uids is None:
            self.requested = True
        else:
            self.changed_uids |= uids
            self.requested = self.requested or len(self.changed_uids) > _MAX_CHANGED_UIDS
        self.changed_at = min(self.changed_at or at, at)


@dataclass(slots=True)
class PlanState:
    """The last plan, as far as later plans and event handlers need it."""

    rows: ReadRows | None = None
    """The rows of the last plan."""
    requested: bool = False
    """Whether something has changed that may require other writes."""
    missing_key: MissingKey | None = None
    """Why nodes can be neither checked nor signed: nothing is planned meanwhile."""
    not_before: datetime | None = None
    """The earliest time of another plan of the same rows: planning ten thousand nodes is slow."""
    recheck_at: datetime | None = None
    """When time alone may admit another write."""
    checked_specs: CheckedSpecs = field(default_factory=dict)
    failed_renders: FailedRenders = field(default_factory=dict)
    """Renders that are not repeated until the form or the row changes."""
    approval: Approval = NO_APPROVAL
    """The hub's approval as the last plan resolved it."""
    absences: Absences = NO_ABSENCES
    """The missing rows and forms that were observed so far."""
    held: bool = False
    """Whether the last plan held deletions."""
    throttled_forms: frozenset[str] = frozenset()
    """Forms whose nodes wait for a slot under maxSkew."""
    desired: Mapping[str, NodePair] = field(default_factory=dict)
    """The desired nodes by name."""
    row_changes: Mapping[str, datetime] = field(default_factory=dict)
    """By the name of the node: when the row changed that the node does not reflect yet."""
    has_taken_names: bool = False
    """Whether desired names belong to other nodes."""
    cache: PlanCache | None = None
    """What the last plan has seen; None if all rows have to be planned."""
    check: Job | None = None
    """The comparison of a plan of changes with a plan of all rows, if one is in progress."""
    changed_nodes: set[str] | None = None
    """The names of nodes of the hub's namespace that changed since the last plan; None if there are
    too many, or no plan."""

    def record_changed_node(self, name: str) -> None:
        """Record that a node of the hub's namespace was created, changed or deleted."""
        if self.changed_nodes is not None:
            self.changed_nodes.add(name)
            if len(self.changed_nodes) > _MAX_CHANGED_NODES:
                self.changed_nodes = None

    def take_changed_nodes(self) -> set[str] | None:
        """Return the changed nodes, and forget them."""
        names, self.changed_nodes = self.changed_nodes, set()
        return names


@dataclass(slots=True)
class ExecutionResult:
    """The result of the writes that were sent so far."""

    failed: int = 0
    """Writes that the API server rejected or did not answer."""
    stopped: bool = False
    """Whether the hub changed, which makes the plan outdated."""
    outage: int = 0
    """Consecutive writes that failed for a reason that affects all writes."""

    def record(self, *, failed: bool, outage: bool) -> None:
        """Count one write."""
        self.failed += failed
        self.outage = self.outage + 1 if outage else 0

    @property
    def is_outage(self) -> bool:
        """Whether so many writes failed in a row that the others are not sent.

        An API server that is down does not get ten thousand requests per reconcile.
        """
        return self.outage >= MAX_WINDOW

    @property
    def is_complete(self) -> bool:
        """Whether all writes have succeeded."""
        return not self.failed and not self.stopped


@dataclass(slots=True)
class PlanExecution:
    """The writes of one plan, over as many turns as they take."""

    hub: LynqHub
    """The hub that the plan was made for; if it changes, the rest of the plan is outdated."""
    plan: HubPlan
    rows_at: datetime
    """When the rows were read."""
    remaining: list[Write]
    """The writes that are not sent yet, in their order."""
    changed_at: datetime
    """The first push notification that the plan answers, else the start of its read."""
    result: ExecutionResult = field(default_factory=ExecutionResult)

    @classmethod
    def of(
        cls,
        hub: LynqHub,
        plan: HubPlan,
        rows_at: datetime,
        changed_at: datetime | None = None,
        *,
        replaced: "PlanExecution | None" = None,
    ) -> "PlanExecution":
        """Return the execution of a plan that has not started.

        `replaced` is the execution of the last plan, if it is not complete.
        """
        # Neither the new rows of an import nor the nodes of a changed form delay all others.
        writes: list[Write] = [*plan.deletes, *_in_turn(plan.updates, plan.creates)]
        if replaced:
            writes = _overtaking(writes, replaced.remaining)
        return cls(hub, plan, rows_at, writes, changed_at or rows_at)

    @property
    def remaining_deletions(self) -> tuple[NodeDeletion, ...]:
        """The deletions that are not sent yet."""
        return tuple(write for write in self.remaining if isinstance(write, NodeDeletion))

    @property
    def remaining_row_deletions(self) -> tuple[NodeDeletion, ...]:
        """The deletions of nodes without row that are not sent yet."""
        return tuple(
            deletion
            for deletion in self.remaining_deletions
            if deletion.cause is DeletionCause.ROW_GONE
        )

    def drop_row_deletions(self) -> None:
        """Drop the deletions of nodes without row, so that they are planned again."""
        self.restrict_deletions(
            deletion
            for deletion in self.remaining_deletions
            if deletion.cause is not DeletionCause.ROW_GONE
        )

    def restrict_deletions(self, confirmed: Iterable[NodeDeletion]) -> None:
        """Drop all other deletions; they count as failed, so that they are planned again."""
        names = {deletion.name for deletion in confirmed}
        before = len(self.remaining)
        self.remaining = [
            write
            for write in self.remaining
            if not isinstance(write, NodeDeletion) or write.name in names
        ]
        self.result.failed += before - len(self.remaining)


def _in_turn(first: Iterable[Write], second: Iterable[Write]) -> list[Write]:
    """Return one write of each in turn."""
    return [write for turn in zip_longest(first, second) for write in turn if write is not None]


def _overtaking(writes: Sequence[Write], waiting: Iterable[Write]) -> list[Write]:
    """Return new writes in turn with those that were waiting already, which keep their order.

    A changed row does not wait until ten thousand imported rows are written, and the import goes on
    however many rows change.
    """
    places = {_content(write): place for place, write in enumerate(waiting)}
    new, old = [], []
    for write in writes:
        place = places.get(_content(write))
        if place is None:
            new.append(write)
        else:
            old.append((place, write))
    old.sort(key=itemgetter(0))
    return _in_turn(new, (write for _, write in old))


def _content(write: Write) -> tuple[str, str]:
    """Return what two writes of one node have in common if nothing has changed between them."""
    if isinstance(write, NodeDeletion):
        return write.name, write.node_uid
    node = write.node if isinstance(write, NodeCreation) else write.after
    return write.name, node.metadata.annotations.get(ANNOTATION_SPEC_DIGEST, "")


@dataclass(slots=True)
class WriteState:
    """The writes of a hub's nodes."""

    execution: PlanExecution | None = None
    """The rest of the last plan."""
    in_flight: set[str] = field(default_factory=set)
    """Nodes that the hub is writing: their watch events do not trigger the hub."""
    deleted: dict[str, str] = field(default_factory=dict)
    """Uids, by name, of nodes whose deletion is accepted and not in the cache yet."""
    rejected: dict[str, str] = field(default_factory=dict)
    """Error messages, by name, of nodes that the API server rejects."""
    failures: int = 0
    """Number of consecutive executions with failed writes."""
    retry_at: datetime | None = None
