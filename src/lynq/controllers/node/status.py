"""Makes known what a pass has come to: one status write, events, series.

What others go by is written at once. How far resources have come that are on their way anyway may
wait a few seconds for more to come, or each stage of a rollout would be a request of its own.
"""

from collections.abc import Iterable
from datetime import timedelta

from lynq.api import LynqNode, NodeStatus
from lynq.api.conditions import is_true
from lynq.api.events import Event
from lynq.api.reasons import ConditionType, EventReason
from lynq.api.wire import parse_rfc3339
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.node.apply import ApplyProgress
from lynq.controllers.node.prune import PruneResult
from lynq.controllers.node.state import NodeState
from lynq.core.node import events
from lynq.core.node.objects import ObjectRef
from lynq.core.node.status import InvalidNode, debounce_status
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
        self._world.series.reconciled("partial_failure" if failed else "success", seconds)
        return delay

    async def announce(self, node: LynqNode, memory: NodeState, status: NodeStatus) -> LynqNode:
        """Write what a pass is about to do; return the node as it is then."""
        if await self._world.nodes.write_status(node, status):
            memory.status_written = self._world.now()
        _await(node, memory, status)
        return self._world.nodes.get(node.metadata.key) or node

    async def publish_trouble(
        self, node: LynqNode, memory: NodeState, status: NodeStatus, trouble: InvalidNode
    ) -> timedelta | None:
        """Tell why nothing of a node can be tried; return as `publish` does."""
        delay = await self._write(node, memory, status)
        if delay is None:
            self._teller.tell(node, *events.in_trouble(node.status, trouble))
            self._world.series.node_status(node.metadata.key, status)
        return delay

    async def write_now(self, node: LynqNode, status: NodeStatus) -> None:
        """Write a status, if it says anything new."""
        await self._world.nodes.write_status(node, status)
        self._world.series.node_status(node.metadata.key, status)

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
        waited = self._world.now() - memory.status_written
        if delay := debounce_status(node.status, status, waited):
            return delay
        if await self._world.nodes.write_status(node, status):
            memory.status_written = self._world.now()
        return None

    def _measure(self, node: LynqNode, memory: NodeState, status: NodeStatus) -> None:
        self._world.series.node_status(node.metadata.key, status)
        _await(node, memory, status)
        if memory.awaited and is_true(status.conditions, ConditionType.READY):
            if read_at := parse_rfc3339(memory.awaited):
                took = (self._world.now() - read_at).total_seconds()
                self._world.series.row_to_ready(max(took, 0.0))
            memory.awaited = ""

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
        memory.awaited = status.observed_update_start


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
