"""A pass over a node that is to be kept: its steps, in their order.

Nothing in it waits for readiness: it brings everything as far as it can be brought now, says so in
one status, and comes back when something changes or the next deadline is due.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lynq.api import LynqNode, NodeStatus, ResourceState
from lynq.api.digests import is_untouched
from lynq.api.names import FINALIZER_NODE
from lynq.api.node_metadata import is_deleting, is_paused
from lynq.api.reasons import OrphanReason
from lynq.api.resource import all_resources
from lynq.controllers.children import KindNotWatched
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.context import ControllerContext
from lynq.controllers.node.apply import Applier
from lynq.controllers.node.observe import ObservedResource, Observer
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.state import NodeState, NodeStates, ObjectPlace
from lynq.controllers.node.status import StatusBuilder, StatusReporter, contested, is_outdated
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.graph.model import Graph
from lynq.core.graph.problems import GraphError
from lynq.core.node.inventory import InventoryItem, claimed, orphans, read_inventory
from lynq.core.node.objects import ref_of
from lynq.core.node.prune import spared_for, spared_in_edited
from lynq.core.node.status import InvalidNode, invalid_status, with_paused
from lynq.core.node.variables import VariablesError, variables_of
from lynq.kube import PartialObject, Result
from lynq.kube.errors import KubeError

_UNWRITTEN: Final = frozenset({ResourceState.SKIPPED, ResourceState.WAITING})


class NodeChanged(Exception):  # noqa: N818 - says what happened
    """The node is another one than the cache has shown: nothing is taken away for it."""


@dataclass(frozen=True, slots=True)
class _DesiredState:
    """What a node asks for, as far as it can be understood."""

    variables: Mapping[str, str]
    graph: Graph


class NodeReconciler:
    """Keeps nodes as their rows and forms want them."""

    def __init__(
        self,
        world: ControllerContext,
        lookout: Observer,
        remover: Pruner,
        writer: Applier,
        publisher: StatusReporter,
        *,
        memories: NodeStates,
    ) -> None:
        self._world = world
        self._lookout = lookout
        self._remover = remover
        self._writer = writer
        self._publisher = publisher
        self._memories = memories
        self._summary = StatusBuilder(world)

    async def watch_kinds_in_use(self) -> None:
        """Begin the watches of every kind that a node has objects of."""
        nodes = self._world.nodes.values()
        kinds = {(each.api_version, each.kind) for node in nodes for each in node.status.resources}
        await gather_or_cancel(self._try_kind(*kind) for kind in kinds if all(kind))

    async def keep(self, node: LynqNode, memory: NodeState) -> Result:
        """Bring a node as far as it can be brought now."""
        began = time.monotonic()
        node = await self._with_finalizer(node)
        wish = _desired_state(node)
        if isinstance(wish, InvalidNode):
            return await self._give_up(node, memory, wish)
        memory.absent.clear()
        inventory = read_inventory(node.status, node.metadata.namespace, wish.variables)
        sights = await self._look(node, wish, inventory, memory)
        cleared = await self._prune(node, sights, inventory, memory)
        force = self._summary.is_forced(node)
        plan = self._writer.plan(node, wish.graph, sights, now=self._world.now(), force=force)
        if intention := self._summary.intention(node, plan, cleared, inventory):
            node = await self._announce(node, memory, intention)
        progress = await self._writer.apply(
            node,
            wish.graph,
            plan,
            memory,
            force=force,
            clock=self._world.now,
            is_current=lambda: self._is_still_wanted(node),
        )
        if progress.step.writes:
            # The node became another one meanwhile, and is in the queue again.
            return Result()
        status = self._summary.status(node, progress, cleared, inventory, force=force)
        memory.keep_only({sight.ref for sight in sights.values()})
        known = memory.contested
        self._memories.set_contested(node, contested(progress))
        # What became of the new ones since they were looked at has woken nobody.
        outdated = is_outdated(progress, memory.contested - known)
        delay = await self._publisher.publish(
            node, memory, status, progress, cleared, seconds=time.monotonic() - began
        )
        return Result(self._summary.until(status, progress, node, delay, outdated=outdated))

    async def _announce(self, node: LynqNode, memory: NodeState, intention: NodeStatus) -> LynqNode:
        """Write what the pass is about to do; raises NodeChanged if it is about another node."""
        announced = await self._publisher.announce(node, memory, intention)
        known, now = node.metadata, announced.metadata
        if (known.generation, known.annotations) != (now.generation, now.annotations):
            raise NodeChanged
        return announced

    async def _try_kind(self, api_version: str, kind: str) -> None:
        try:
            await self._lookout.kind(api_version, kind)
        except (KubeError, KindNotWatched):
            # Told by the resources of that kind, or over by then.
            return

    async def _with_finalizer(self, node: LynqNode) -> LynqNode:
        """Make sure that the node cannot go without us; the hub's nodes come with it."""
        finalizers = node.metadata.finalizers
        if FINALIZER_NODE in finalizers:
            return node
        return await self._world.nodes.patch(node, {"finalizers": [*finalizers, FINALIZER_NODE]})

    async def _give_up(self, node: LynqNode, memory: NodeState, trouble: InvalidNode) -> Result:
        now, generation = self._world.now(), node.metadata.generation
        previous = with_paused(node.status, generation, now, is_paused=False)
        status = invalid_status(previous, trouble, generation, now)
        delay = await self._publisher.publish_trouble(node, memory, status, trouble)
        return Result(delay.total_seconds()) if delay else Result()

    async def _look(
        self,
        node: LynqNode,
        wish: _DesiredState,
        inventory: tuple[InventoryItem, ...],
        memory: NodeState,
    ) -> dict[str, ObservedResource]:
        return await self._lookout.observe(
            node,
            all_resources(node.spec),
            wish.variables,
            memory,
            listed=_previously_applied(node.status, inventory),
            now=self._world.now(),
        )

    async def _prune(
        self,
        node: LynqNode,
        sights: Mapping[str, ObservedResource],
        inventory: tuple[InventoryItem, ...],
        memory: NodeState,
    ) -> PruneResult:
        """Take away what left the form, before anything is written that may need its place."""
        undecided = {this for this, sight in sights.items() if not sight.is_resolved}
        wanted = [sight.ref for sight in sights.values() if sight.facts.desired is not None]
        listed = {item.ref for item in inventory}
        unlisted = [item for item in self._remover.unlisted(node) if item.ref not in listed]
        # What an entry that cannot be decided about would want may be among the unlisted.
        known = (*inventory, *(() if undecided else unlisted))
        leftovers = orphans(known, wanted, undecided)
        if leftovers and _has_controlling_hub(node) and not is_untouched(node):
            return PruneResult(remaining=[spared_in_edited(item) for item in leftovers])
        claims = claimed(leftovers, [sights[this].facts.resource for this in undecided])
        cleared = await self._remover.clear(
            node,
            [item for item in leftovers if item not in claims],
            memory,
            OrphanReason.REMOVED_FROM_TEMPLATE,
            now=self._world.now,
            confirm=lambda: self._confirm(node),
        )
        spared = (spared_for(item, this) for item, this in claims.items())
        cleared.remaining = (*cleared.remaining, *spared)
        return cleared

    async def _confirm(self, node: LynqNode) -> None:
        """Make sure that it is this node that wants objects to go; raises NodeChanged, NotFound.

        The caches of a process that has just become the leader can be behind, each on its own: an
        object that the node is known not to want may be one that it wants by now.
        """
        known = node.metadata
        client, resource = self._world.client, self._world.nodes.resource
        found = await client.get(resource, known.name, known.namespace, into=PartialObject)
        if found.metadata.resource_version != known.resource_version:
            raise NodeChanged

    def _is_still_wanted(self, node: LynqNode) -> bool:
        now = self._world.nodes.get(node.metadata.key)
        return (
            now is not None
            and now.metadata.uid == node.metadata.uid
            and now.metadata.generation == node.metadata.generation
            and not is_deleting(now)
            and not is_paused(now)
        )


def _previously_applied(status: NodeStatus, inventory: Iterable[InventoryItem]) -> set[ObjectPlace]:
    """Return the objects that the node has surely tried to write."""
    unwritten = {ref_of(each).place for each in status.resources if each.state in _UNWRITTEN}
    return {item.ref.place for item in inventory} - unwritten


def _has_controlling_hub(node: LynqNode) -> bool:
    """Return whether there is a hub that puts an edited node right."""
    return any(each.controller for each in node.metadata.owner_references)


def _desired_state(node: LynqNode) -> _DesiredState | InvalidNode:
    try:
        return _DesiredState(variables_of(node), build_graph(entries_of(node.spec)))
    except VariablesError as error:
        return InvalidNode.with_variables(error)
    except GraphError as error:
        return InvalidNode.with_graph(error)
