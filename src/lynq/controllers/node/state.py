"""In-memory state of each node between two passes; it is lost at a restart, without harm.

It serves three ends. Our own writes are recorded, so that a change by another field manager is
recognized as drift. A write that is rejected, or reverted by another controller, is retried with
back-off. The result of a request is kept, so that the request is not repeated.

A `NodeState` has one part per step that reads it again in a later pass. What the steps of one pass
only tell each other is in its `NodePass`, and ends with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.resource import all_resources
from lynq.controllers.node.live_bodies import LiveBodies
from lynq.controllers.node.rendering import BackgroundRenders
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.core.node.jobs import JobEnd
from lynq.core.node.objects import ObjectIdentity, ObjectRef
from lynq.core.node.state import LastWrite, WriteCause, WriteRejection

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """Our last write of an object, and how often in a row it was repeated."""

    last_write: LastWrite
    written_at: datetime
    repeats: int = 0
    rejected_since: datetime = _NEVER
    """Time of the first rejection in a row; only set for a rejected write."""


@dataclass(slots=True)
class WriteHistory:
    """The last writes of a node's objects, and what they were decided by."""

    timing: Timing = DEFAULT_TIMING
    applied: dict[ObjectRef, AppliedObject] = field(default_factory=dict)
    unsent: set[ObjectRef] = field(default_factory=set)
    """Objects that were observed as absent, and whose write has been deferred ever since."""
    bodies: LiveBodies = field(default_factory=LiveBodies)

    def last_write(self, ref: ObjectRef) -> LastWrite | None:
        """Return our last write of an object."""
        applied = self.applied.get(ref)
        return applied.last_write if applied else None

    def record_write(
        self, ref: ObjectRef, content_hash: str, digest: bytes, cause: WriteCause, now: datetime
    ) -> LastWrite:
        """Record a write that the API server accepted."""
        # A repeated write that we did not force means that another controller reverted ours.
        is_forced = cause is WriteCause.FORCED
        window, backoff = self.timing.revert_window, self.timing.revert_backoff
        reverts = 0 if is_forced else _reverts(self.applied.get(ref), content_hash, now, window)
        delay = timedelta(seconds=backoff.delay(reverts - 1)) if reverts else None
        not_before = now + delay if delay is not None else None
        last_write = LastWrite(hash=content_hash, digest=digest, not_before=not_before)
        self.applied[ref] = AppliedObject(last_write, now, reverts)
        return last_write

    def record_rejection(
        self, ref: ObjectRef, content_hash: str, rejection: WriteRejection, now: datetime
    ) -> LastWrite:
        """Record a write that the API server rejected."""
        previous = _same_rejected(self.applied.get(ref), content_hash)
        repeats, since = (previous.repeats + 1, previous.rejected_since) if previous else (0, now)
        if now - since >= self.timing.transient_error_tolerance:
            rejection = replace(rejection, is_transient=False)
        not_before = now + timedelta(seconds=self.timing.rejection_backoff.delay(repeats))
        last_write = LastWrite(hash=content_hash, rejection=rejection, not_before=not_before)
        self.applied[ref] = AppliedObject(last_write, now, repeats, since)
        return last_write

    def record_baseline(
        self, ref: ObjectRef, content_hash: str, digest: bytes, now: datetime
    ) -> LastWrite:
        """Record the write of an earlier process as ours, so that later drift is recognized."""
        last_write = LastWrite(hash=content_hash, digest=digest)
        self.applied[ref] = AppliedObject(last_write, now)
        return last_write

    def forget_rejections(self) -> None:
        """Forget the rejected writes, so that they are tried again at once."""
        rejected = [ref for ref, applied in self.applied.items() if applied.last_write.rejection]
        for ref in rejected:
            del self.applied[ref]

    def keep_only(self, refs: set[ObjectRef]) -> None:
        """Forget all objects but these."""
        for ref in self.applied.keys() - refs:
            del self.applied[ref]
        self.unsent &= refs
        self.bodies.keep_only(refs)


@dataclass(slots=True)
class GoneObjects:
    """Objects to prune that are known to be gone."""

    absent: set[ObjectRef] = field(default_factory=set)
    """Objects that the API server reported as not found."""
    released: set[str] = field(default_factory=set)
    """The uids of objects that were released."""


@dataclass(slots=True)
class PruneState:
    """The objects to prune."""

    timing: Timing = DEFAULT_TIMING
    unserved_since: dict[ObjectRef, float] = field(default_factory=dict)
    """Time since which the API server does not serve the kind of an object to prune."""
    deletion_requested: set[str] = field(default_factory=set)
    """The uids of objects that were deleted and still have finalizers."""
    gone: GoneObjects = field(default_factory=GoneObjects)
    """The objects that the last pass found gone: the finalizer does not read them again."""

    def is_confirmed_unserved(self, ref: ObjectRef, discovered_at: float | None) -> bool:
        """Record that a kind is not served; return whether two discoveries far apart agree.

        `discovered_at` is the monotonic time of a discovery that all groups have responded to;
        None if one has not, so that nothing is proven.
        """
        if discovered_at is None:
            return False
        since = self.unserved_since.setdefault(ref, discovered_at)
        return discovered_at - since >= self.timing.unknown_kind_tolerance.total_seconds()


@dataclass(slots=True)
class FinalizerState:
    """The progress of a deleted node's finalizer."""

    deletion_observed_at: float | None = None
    """The time of the event loop at which the deletion of the node was first observed."""
    is_deletion_explicit: bool = False
    """Whether the CRD of nodes still existed after the deletion of the node."""
    retain_all: bool = False
    """Whether the node was deleted with `--cascade=orphan`, or together with its CRD."""
    attempts: int = 0
    """Number of reconciles since the deletion of the node."""
    blocked_by: str = ""
    """The uid of the protected object that was reported to block the deletion of the node."""
    reported_errors: tuple[str, ...] = ()
    """The prune errors of the last event."""


@dataclass(slots=True)
class ReportState:
    """What was reported of a node, and what was not yet."""

    status_written_at: datetime = _NEVER
    progress_postponed_at: datetime | None = None
    """When the first status of a new node was postponed; None if it was not."""
    unreported_changes: int = 0
    """Number of objects that were changed since the last report."""
    row_changed_at: datetime | None = None
    """When the row changed, until the node is Ready with it."""


@dataclass(slots=True)
class NodeState:
    """In-memory state of one node."""

    uid: str
    timing: Timing = DEFAULT_TIMING
    waiting_since: datetime | None = None
    """Time since which the node waits for its hub to restore it, or for the installation key."""
    generation: int = 0
    """metadata.generation of the node at the last reconcile."""
    unobservable_since: dict[str, datetime] = field(default_factory=dict)
    """Time of the first failed observation in a row, by resource id."""
    contested: frozenset[ObjectIdentity] = frozenset()
    """Desired objects that belong to another node."""
    job_ends: dict[ObjectIdentity, JobEnd] = field(default_factory=dict)
    """How Jobs ended that do not exist any more."""
    renders: BackgroundRenders = field(default_factory=BackgroundRenders)
    writes: WriteHistory = field(init=False)
    prune: PruneState = field(init=False)
    finalizer: FinalizerState = field(default_factory=FinalizerState)
    report: ReportState = field(default_factory=ReportState)

    def __post_init__(self) -> None:
        """Create the parts that depend on the timing."""
        self.writes, self.prune = WriteHistory(self.timing), PruneState(self.timing)

    def reset_on_new_generation(self, node: LynqNode) -> None:
        """Forget rejections and renders of an older spec, so that the new one is tried at once."""
        if node.metadata.generation == self.generation:
            return
        self.generation = node.metadata.generation
        self.unobservable_since.clear()
        self.renders.keep_only({resource.id for resource in all_resources(node.spec)})
        self.writes.forget_rejections()

    def is_briefly_unobservable(self, resource_id: str, now: datetime) -> bool:
        """Record a failed observation; return whether the failure may still be transient."""
        since = self.unobservable_since.setdefault(resource_id, now)
        return now - since < self.timing.transient_error_tolerance


@dataclass(slots=True)
class NodePass:
    """One pass over a node: a reconcile, or a round of its finalizer."""

    node: LynqNode
    """The node as it was read, or with the status that the pass has written."""
    state: NodeState
    gone: GoneObjects
    started: float
    """The monotonic time."""
    write_sent_at: float = 0.0
    """The time of the event loop at which the last write of an object was sent."""
    outdated: set[ObjectRef] = field(default_factory=set)
    """Objects to prune that have changed since they were cached."""
    prune_errors: dict[ObjectRef, str] = field(default_factory=dict)
    """Why objects could not be deleted or retained."""

    @classmethod
    def for_reconcile(cls, node: LynqNode, state: NodeState, started: float) -> "NodePass":
        """Return a reconcile: an object that was gone may be back."""
        state.prune.gone = GoneObjects()
        return cls(node, state, state.prune.gone, started)

    @classmethod
    def for_finalizer(cls, node: LynqNode, state: NodeState, started: float) -> "NodePass":
        """Return a round of the finalizer, which goes on where the last pass has ended."""
        return cls(node, state, state.prune.gone, started)


def _reverts(
    applied: AppliedObject | None, content_hash: str, now: datetime, window: timedelta
) -> int:
    """Return how often in a row this content was reverted, this time included."""
    if applied is None:
        return 0
    last_write = applied.last_write
    if last_write.hash != content_hash or last_write.rejection is not None:
        return 0
    return applied.repeats + 1 if now - applied.written_at < window else 1


def _same_rejected(applied: AppliedObject | None, content_hash: str) -> AppliedObject | None:
    """Return the last write if it had the same content and was rejected."""
    if applied is None or applied.last_write.rejection is None:
        return None
    return applied if applied.last_write.hash == content_hash else None


class NodeStates:
    """The in-memory state of all nodes."""

    def __init__(self, timing: Timing = DEFAULT_TIMING) -> None:
        self._timing = timing
        self._states: dict[ObjectKey, NodeState] = {}
        self._contenders: dict[ObjectIdentity, set[ObjectKey]] = {}

    def of(self, node: LynqNode) -> NodeState:
        """Return the state of a node; a re-created node of the same name starts empty."""
        key, uid = node.metadata.key, node.metadata.uid
        state = self._states.get(key)
        if state is None or state.uid != uid:
            self.forget(key)
            state = self._states[key] = NodeState(uid, self._timing)
        return state

    def forget(self, key: ObjectKey) -> None:
        """Drop the state of a deleted node."""
        if state := self._states.pop(key, None):
            state.renders.keep_only(())
            self._set_contested(key, state, frozenset())

    def set_contested(self, node: LynqNode, refs: Iterable[ObjectRef]) -> None:
        """Record which desired objects of a node belong to another node."""
        identities = frozenset(ref.identity for ref in refs)
        self._set_contested(node.metadata.key, self.of(node), identities)

    def contenders(self, ref: ObjectRef) -> set[ObjectKey]:
        """Return the nodes that wait for another node to release an object."""
        return set(self._contenders.get(ref.identity, ()))

    def _set_contested(
        self, key: ObjectKey, state: NodeState, identities: frozenset[ObjectIdentity]
    ) -> None:
        for identity in state.contested - identities:
            contenders = self._contenders.get(identity, set())
            contenders.discard(key)
            if not contenders:
                self._contenders.pop(identity, None)
        for identity in identities:
            self._contenders.setdefault(identity, set()).add(key)
        state.contested = identities
