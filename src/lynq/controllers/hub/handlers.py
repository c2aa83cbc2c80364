"""Turns changes of hubs, forms and nodes into keys of hubs."""

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import hub_by_label, hub_of_form, hubs_by_owner, is_deleting
from lynq.controllers.context import ControllerContext
from lynq.controllers.hub.predicates import (
    Trigger,
    form_changed,
    hub_changed,
    node_changed,
    workload_became_ready,
)
from lynq.controllers.hub.state import HubState, HubStates
from lynq.kube import WorkQueue


class HubEventHandlers:
    """Wakes hubs, each no more often than it has something to do."""

    def __init__(
        self, world: ControllerContext, queue: WorkQueue[ObjectKey], memories: HubStates
    ) -> None:
        self._world = world
        self._queue = queue
        self._memories = memories

    def attach(self) -> None:
        """Listen to all changes, those that happened before included."""
        self._world.hubs.on_change(self._hub_changed)
        self._world.forms.on_change(self._form_changed)
        self._world.nodes.on_change(self._node_changed)

    def workload_is_up(self, node: LynqNode) -> None:
        """Take note that a workload of a node has become ready."""
        hub = hub_by_label(node)
        memory = self._memories.get(hub) if hub else None
        if hub and memory:
            self._bring(hub, workload_became_ready(node, memory, self._world.now()))

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        effect = hub_changed(old, new)
        if effect is Trigger.NOTHING:
            return
        memory = self._memories.get(key)
        if memory and effect is Trigger.READ:
            memory.wants_read = True
        self._wake(key)

    def _form_changed(self, key: ObjectKey, old: LynqForm | None, new: LynqForm | None) -> None:
        effect = form_changed(old, new)
        for form in (old, new):
            if form:
                self._bring(hub_of_form(form), effect)
        if old is None and not self._world.forms.exists(key):
            self._unreadable_form_went(key.namespace)

    def _unreadable_form_went(self, namespace: str) -> None:
        """Have all hubs of a namespace look: nobody knows whose the form was, and it has nodes."""
        for hub in self._memories:
            if hub.namespace == namespace:
                self._bring(hub, Trigger.PLAN)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        for hub in _hubs_of(old) | _hubs_of(new):
            memory = self._memories.get(hub)
            if memory and key.name not in memory.writing:
                if self._is_deleting(hub):
                    self._queue.add_after(
                        hub, self._world.timing.hub_finalizer_batch, group=str(hub)
                    )
                else:
                    self._bring(hub, node_changed(old, new, memory, self._world.now()))

    def _is_deleting(self, key: ObjectKey) -> bool:
        # From the cache, because one that cannot be read is let go as well.
        hub = self._world.hubs.cache.get(key)
        return hub is not None and is_deleting(hub)

    def _bring(self, hub: ObjectKey, effect: Trigger) -> None:
        memory = self._memories.get(hub)
        match effect:
            case Trigger.PLAN | Trigger.READ:
                if memory:
                    memory.replan = True
                    memory.wants_read = memory.wants_read or effect is Trigger.READ
                self._wake(hub)
            case Trigger.COUNT:
                self._count(hub, memory)

    def _count(self, hub: ObjectKey, memory: HubState | None) -> None:
        # Counters wait until they may be written: ten thousand changes are a few passes.
        if self._world.options.shard.owns(hub):
            self._queue.add_after(hub, memory.pace.wait if memory else 0.0, group=str(hub))

    def _wake(self, hub: ObjectKey) -> None:
        if self._world.options.shard.owns(hub):
            self._queue.add(hub, group=str(hub))


def _hubs_of(node: LynqNode | None) -> set[ObjectKey]:
    """Return the hubs of a node by both rules: a hub still owns a node whose label was edited."""
    labeled = hub_by_label(node)
    return hubs_by_owner(node) | ({labeled} if labeled else set())
