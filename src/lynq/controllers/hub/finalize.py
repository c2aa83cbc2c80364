"""Takes a deleted hub's nodes away, and then lets the hub go.

Deleting a hub is an order, so the guard is not asked. With `--cascade=orphan` the garbage collector
first takes the owner references off; until it has, nothing is touched, and the nodes that it has
freed are no longer the hub's.
"""

import asyncio
from typing import Final

import structlog

from lynq.api import DeletionPolicy, LynqHub, LynqNode, ResourceStatus
from lynq.api.events import Event, EventReason
from lynq.api.names import ANNOTATION_PROTECT, ANNOTATION_RETAIN, FINALIZER_HUB, TRUE
from lynq.api.node_metadata import is_deleting, is_owned_by_hub, is_protected, pair_or_spec
from lynq.api.resource import all_resources
from lynq.controllers.concurrency import for_each_parallel
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.apply import PlanApplier
from lynq.controllers.hub.state import HubState
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.schedule import retry_delay
from lynq.core.node.objects import ref_of
from lynq.core.node.state import StateReason
from lynq.kube import Result
from lynq.kube.errors import KubeError, NotFound
from lynq.kube.requests import FINALIZER_ORPHAN

_log = structlog.get_logger(__name__)

_NAMED: Final = 3
_PROTECTED: Final = KubeError(f"the annotation {ANNOTATION_PROTECT} forbids it: take it off")


class HubFinalizer:
    """Takes hubs away."""

    def __init__(
        self, world: ControllerContext, teller: EventEmitter, carrier: PlanApplier
    ) -> None:
        self._world = world
        self._teller = teller
        self._carrier = carrier

    async def remove(self, hub: LynqHub, memory: HubState) -> Result:
        """Do what can be done now; changes of the hub and its nodes call for the next step."""
        finalizers = hub.metadata.finalizers
        if FINALIZER_HUB not in finalizers or FINALIZER_ORPHAN in finalizers:
            return Result()
        nodes = self._nodes(hub)
        if not nodes:
            await self._let_go(hub)
            return Result()
        is_round_over = await self._delete(hub, nodes, memory)
        self._tell_of_unretained(hub, nodes, memory)
        if not is_round_over:
            return Result(self._world.timing.min_requeue)
        failures = _failures(nodes, memory)
        memory.tried.clear()
        if not failures:
            memory.write_failures = 0
            return Result()
        memory.write_failures += 1
        self._tell_of(hub, failures)
        longest = self._world.timing.hub_finalizer_max_retry
        return Result(retry_delay(memory.write_failures, longest).total_seconds())

    def _nodes(self, hub: LynqHub) -> list[LynqNode]:
        """Return all nodes that the hub owns, whatever their labels say by now."""
        return [node for node in self._world.nodes.values() if is_owned_by_hub(node, hub)]

    async def _delete(self, hub: LynqHub, nodes: list[LynqNode], memory: HubState) -> bool:
        """Delete nodes for a turn; return whether each was tried in this round."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._world.timing.hub_write_turn
        due = [node for node in nodes if not (is_deleting(node) or is_protected(node))]
        due = [node for node in due if node.metadata.uid not in memory.tried]

        async def delete(node: LynqNode) -> None:
            if clock() < until:
                error = await self._carrier.remove(hub, _removal(node), memory)
                memory.tried[node.metadata.uid] = error

        await for_each_parallel(due, delete)
        return all(node.metadata.uid in memory.tried for node in due)

    def _tell_of(self, hub: LynqHub, failures: dict[str, KubeError]) -> None:
        names = sorted(failures)
        shown = ", ".join(names[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        message = (
            f"nodes could not be deleted, and will be tried again: {shown}{more}; "
            f"the first one: {failures[names[0]]}"
        )
        _log.warning("hub not cleaned up", hub=str(hub.metadata.key), nodes=len(names))
        self._teller.tell(hub, Event(EventReason.CLEANUP_FAILED, message, warns=True))

    def _tell_of_unretained(self, hub: LynqHub, nodes: list[LynqNode], memory: HubState) -> None:
        """Tell what keeps nodes from going although it is to stay, each object once.

        The nodes go on trying, and their statuses say how it is now.
        """
        found = {
            ref_of(entry): entry.message
            for node in nodes
            if is_deleting(node)
            for entry in _unretained(node)
        }
        fresh = sorted(found.keys() - memory.unretained)
        if not fresh:
            return
        memory.unretained.update(fresh)
        shown = "; ".join(f"{ref}: {found[ref]}" for ref in fresh[:_NAMED])
        more = f"; and {len(fresh) - _NAMED} more" if len(fresh) > _NAMED else ""
        message = f"objects are to be retained, and their nodes cannot let them go: {shown}{more}"
        event = Event(EventReason.RETAIN_RESOURCE_PROCESS_FAILED, message, warns=True)
        self._teller.tell(hub, event)

    async def _let_go(self, hub: LynqHub) -> None:
        rest = [each for each in hub.metadata.finalizers if each != FINALIZER_HUB]
        try:
            await self._world.hubs.patch(hub, {"finalizers": rest})
        except NotFound:
            return


def _failures(nodes: list[LynqNode], memory: HubState) -> dict[str, KubeError]:
    """Return why nodes are still there after a round, by name."""
    failures: dict[str, KubeError] = {}
    for node in nodes:
        error = _PROTECTED if is_protected(node) else memory.tried.get(node.metadata.uid)
        if error and not is_deleting(node):
            failures[node.metadata.name] = error
    return failures


def _removal(node: LynqNode) -> NodeDeletion:
    return NodeDeletion(
        pair_or_spec(node), node.metadata.name, node.metadata.uid, DeletionCause.HUB_GONE
    )


def _unretained(node: LynqNode) -> list[ResourceStatus]:
    """Return what a leaving node says of objects that it could not let go, though they stay."""
    failed = StateReason.REMOVAL_FAILED
    stuck = [entry for entry in node.status.resources if entry.reason == failed]
    if not stuck or node.metadata.annotations.get(ANNOTATION_RETAIN) == TRUE:
        return stuck
    stays = {
        resource.id
        for resource in all_resources(node.spec)
        if resource.deletion_policy is DeletionPolicy.RETAIN
    }
    return [entry for entry in stuck if entry.id in stays]
