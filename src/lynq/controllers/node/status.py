"""Makes known what a pass has come to: one status write, events, series.

What others go by is written at once. How far resources have come that are on their way anyway may
wait a few seconds for more to come, or each stage of a rollout would be a request of its own.

What a pass comes to: the node's status, and for how long nothing happens by itself.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from msgspec.structs import replace

from lynq.api import LynqNode, NodeStatus, ResourceState, ResourceStatus
from lynq.api.conditions import is_true
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_FORCE_RECONCILE, ANNOTATION_ROLLOUT_UPDATE_START
from lynq.api.reasons import ConditionType
from lynq.api.wire import parse_rfc3339
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.node.apply import ApplyProgress
from lynq.controllers.node.observe import key_of
from lynq.controllers.node.prune import PruneResult
from lynq.controllers.node.state import NodeState, ObjectPlace
from lynq.core.graph.gate import FAILED_STATES
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import StateReason
from lynq.core.node.status import (
    InvalidNode,
    StatusReport,
    debounce_status,
    force_due_at,
    next_status,
    with_paused,
)
from lynq.kube import ObjectReference


class StatusReporter:
    """Tells of nodes."""

    def __init__(
        self, world: ControllerContext, teller: EventEmitter, object_teller: EventEmitter
    ) -> None:
        self._world = world
        self._teller = teller
        self._object_teller = object_teller

    async def publish(
        self,
        node: LynqNode,
        memory: NodeState,
        status: NodeStatus,
        progress: ApplyProgress,
        cleared: PruneResult,
        *,
        seconds: float,
    ) -> timedelta | None:
        """Tell of a pass; return after which time it has to be told if it was put off."""
        # Done is done, whether the status can be written or not.
        self._teller.tell(node, *_deeds(node, status, progress, cleared))
        self._tell_objects(progress, cleared)
        delay = await self._write(node, memory, status)
        if delay is None:
            # Compared with the last status, so it is told when there is a new one.
            self._teller.tell(node, *events.state_events(node.status, progress.step.outcomes))
            self._teller.tell(node, *events.became_ready(node.status, status))
            self._measure(node, memory, status)
        failed = status.failed_resources or status.skipped_resources
        self._world.series.record_reconcile("partial_failure" if failed else "success", seconds)
        return delay

    async def announce(self, node: LynqNode, memory: NodeState, status: NodeStatus) -> LynqNode:
        """Write what a pass is about to do; return the node as it is then."""
        if await self._world.nodes.write_status(node, status):
            memory.status_written_at = self._world.now()
        _await(node, memory, status)
        return self._world.nodes.get(node.metadata.key) or node

    async def publish_trouble(
        self, node: LynqNode, memory: NodeState, status: NodeStatus, trouble: InvalidNode
    ) -> timedelta | None:
        """Tell why nothing of a node can be tried; return as `publish` does."""
        delay = await self._write(node, memory, status)
        if delay is None:
            self._teller.tell(node, *events.in_trouble(node.status, trouble))
            self._world.series.record_node_status(node.metadata.key, status)
        return delay

    async def write_now(self, node: LynqNode, status: NodeStatus) -> None:
        """Write a status, if it says anything new."""
        await self._world.nodes.write_status(node, status)
        self._world.series.record_node_status(node.metadata.key, status)

    def tell(self, node: LynqNode, told: Iterable[Event]) -> None:
        """Tell of a node."""
        self._teller.tell(node, *told)

    def tell_object(self, ref: ObjectRef, uid: str, event: Event) -> None:
        """Tell of one of its objects."""
        about = ObjectReference(ref.api_version, ref.kind, ref.name, ref.namespace, uid)
        self._object_teller.tell(about, event)

    async def _write(
        self, node: LynqNode, memory: NodeState, status: NodeStatus
    ) -> timedelta | None:
        if status == node.status:
            return None
        waited = self._world.now() - memory.status_written_at
        if delay := debounce_status(node.status, status, waited):
            return delay
        if await self._world.nodes.write_status(node, status):
            memory.status_written_at = self._world.now()
        return None

    def _measure(self, node: LynqNode, memory: NodeState, status: NodeStatus) -> None:
        self._world.series.record_node_status(node.metadata.key, status)
        _await(node, memory, status)
        if memory.pending_update_start and is_true(status.conditions, ConditionType.READY):
            if read_at := parse_rfc3339(memory.pending_update_start):
                took = (self._world.now() - read_at).total_seconds()
                self._world.series.record_row_to_ready(max(took, 0.0))
            memory.pending_update_start = ""

    def _tell_objects(self, progress: ApplyProgress, cleared: PruneResult) -> None:
        for sight in progress.adopted:
            live = sight.facts.live
            event = Event(EventReason.ORPHAN_MARKERS_REMOVED, "it is wanted again, and managed")
            self.tell_object(sight.ref, live.uid if live else "", event)
        for item, uid in cleared.retained:
            self.tell_object(item.ref, uid, marked("it left the form"))


def _await(node: LynqNode, memory: NodeState, status: NodeStatus) -> None:
    """Remember a write of the hub that is to become ready."""
    if status.observed_update_start != node.status.observed_update_start:
        memory.pending_update_start = status.observed_update_start


def marked(why: str) -> Event:
    """Tell of an object that nobody manages any more."""
    return Event(EventReason.ORPHAN_MARKERS_ADDED, f"{why}, and it was retained as an orphan")


def _deeds(
    node: LynqNode, status: NodeStatus, progress: ApplyProgress, cleared: PruneResult
) -> Iterable[Event]:
    """Yield what was done in a pass."""
    if progress.changed:
        yield events.applying(node)
    for sight, whose in progress.taken_over:
        message = f"{sight.ref}: fields were taken over from other managers: {whose}"
        yield Event(EventReason.FORCE_APPLY, message, warns=True)
    yield from events.proceeded(node.status, progress.step.outcomes, progress.written)
    yield from (events.left_the_form(item, retained=False) for item in cleared.deleted)
    yield from (events.left_the_form(item, retained=True) for item, _ in cleared.retained)
    if progress.changed:
        yield events.applied(node, changed=progress.changed, failed=status.failed_resources)


class StatusBuilder:
    """Sums up passes."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def is_forced(self, node: LynqNode) -> bool:
        """Return whether everything is to be written, changed or not."""
        asked = node.metadata.annotations.get(ANNOTATION_FORCE_RECONCILE, "")
        if asked and asked != node.status.last_handled_force_reconcile:
            return True
        due = self._force_due(node, node.status)
        return due is not None and due <= self._world.now()

    def _force_due(self, node: LynqNode, status: NodeStatus) -> datetime | None:
        interval = self._world.options.force_reapply_interval
        return force_due_at(status.last_full_reconcile_at, interval, node.metadata.uid)

    def status(
        self,
        node: LynqNode,
        progress: ApplyProgress,
        cleared: PruneResult,
        inventory: tuple[InventoryItem, ...],
        *,
        force: bool,
    ) -> NodeStatus:
        """Return the node's status after a pass."""
        known, outcomes = node.metadata, progress.step.outcomes
        undecided = {this for this, sight in progress.observed.items() if not sight.is_resolved}
        report = StatusReport(
            namespace=known.namespace,
            generation=known.generation,
            outcomes=outcomes,
            leaving=cleared.remaining,
            undecided=[item for item in inventory if item.id in undecided],
            is_writing=bool(progress.step.writes),
            was_forced=force,
            update_start=known.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, ""),
            force_reconcile=known.annotations.get(ANNOTATION_FORCE_RECONCILE, ""),
        )
        now = self._world.now()
        previous = with_paused(node.status, known.generation, now, is_paused=False)
        return next_status(previous, report, now)

    def until(
        self,
        status: NodeStatus,
        progress: ApplyProgress,
        node: LynqNode,
        delay: timedelta | None,
        *,
        outdated: bool = False,
    ) -> float:
        """Return how long nothing can happen by the passing of time alone.

        What the pass went by can be `outdated`, and then something has happened already.
        """
        now = self._world.now()
        moments = [self._force_due(node, status), progress.step.requeue_at]
        if delay is not None:
            moments.append(now + delay)
        if outdated:
            moments.append(now)
        if (
            status.ready_resources != status.desired_resources
            or len(status.resources) > status.desired_resources
        ):
            moments.append(now + self._world.timing.not_ready_requeue)
        soonest = min(moment for moment in moments if moment is not None)
        # Never at once: what is due now was either done, or cannot be.
        return max((soonest - now).total_seconds(), self._world.timing.min_node_requeue)

    def intention(
        self,
        node: LynqNode,
        progress: ApplyProgress,
        cleared: PruneResult,
        inventory: tuple[InventoryItem, ...],
    ) -> NodeStatus | None:
        """Return the status that has to be there before anything is written; None if it is.

        An object that no status knows is lost with the process that has made it. So the
        inventory goes first. What else a status says of an older node still holds until then.
        """
        listed = {item.ref.place for item in inventory}
        outcomes = progress.step.outcomes
        if not progress.step.writes or all(
            not each.ref.name or each.ref.place in listed for each in outcomes
        ):
            return None
        status = self.status(node, progress, cleared, inventory, force=False)
        known = {_key(each): each for each in node.status.resources}
        # What is wrong with a resource is told when a status first says so, and that is later.
        resources = tuple(known.get(_key(each)) or _announced(each) for each in status.resources)
        status = replace(status, resources=resources)
        if node.status.conditions:
            keys = status.applied_resources
            return replace(node.status, resources=resources, applied_resources=keys)
        # Not handled before it is.
        return replace(
            status, last_handled_force_reconcile=node.status.last_handled_force_reconcile
        )


def _key(entry: ResourceStatus) -> tuple[str, str, str, str]:
    return entry.id, entry.kind, entry.namespace, entry.name


def _announced(entry: ResourceStatus) -> ResourceStatus:
    if entry.state not in FAILED_STATES:
        return entry
    message = "it is looked at"
    return replace(
        entry, state=ResourceState.WAITING, reason=str(StateReason.APPLYING), message=message
    )


def contested(progress: ApplyProgress) -> Iterable[ObjectRef]:
    """Yield the objects that are in sight and another node's."""
    for outcome in progress.step.outcomes:
        is_seen = progress.observed[outcome.id].child is not None
        if is_seen and outcome.state is ResourceState.CONFLICTED:
            yield outcome.ref


def is_outdated(progress: ApplyProgress, places: Collection[ObjectPlace]) -> bool:
    """Return whether one of these objects is not what the pass saw any more."""
    for sight in progress.observed.values():
        if sight.kind is not None and sight.ref.place in places:
            seen, shown = sight.child, sight.kind.child(key_of(sight.ref))
            if (seen and seen.live) != (shown and shown.live):
                return True
    return False
