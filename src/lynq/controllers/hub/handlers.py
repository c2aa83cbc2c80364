"""Event handlers: turn changes of hubs, forms and nodes into keys of hubs."""

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.installation_key import KeyState
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import hub_by_label, hub_of_form, hubs_by_owner, is_deleting
from lynq.controllers.context import ControllerContext
from lynq.controllers.hub.finalize import is_deleted_without_nodes
from lynq.controllers.hub.state import HubState, HubStates
from lynq.core.hub.predicates import (
    Trigger,
    form_changed,
    hub_changed,
    node_changed,
    workload_became_ready,
)
from lynq.kube import WorkQueue


class HubEventHandlers:
    """Enqueues hubs for the changes that concern them."""

    def __init__(
        self, context: ControllerContext, queue: WorkQueue[ObjectKey], states: HubStates
    ) -> None:
        self._context = context
        self._queue = queue
        self._states = states

    def attach(self) -> None:
        """Register the handlers; objects that are already cached are handled too."""
        self._context.hubs.on_change(self._hub_changed)
        self._context.forms.on_change(self._form_changed)
        self._context.nodes.on_change(self._node_changed)
        self._context.current_key.on_change(self._key_changed)

    def workload_became_ready(self, node: LynqNode) -> None:
        """Handle a workload of a node that has become ready."""
        hub = hub_by_label(node)
        state = self._states.get(hub) if hub else None
        if hub and state:
            self._react(hub, workload_became_ready(node, state.plan, self._context.clock()))

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        trigger = hub_changed(old, new)
        state = self._states.get(key)
        # Recorded at once: the finalizer may be removed before the hub is reconciled, and before
        # the cache has nodes without their owner reference.
        if state and new and is_deleted_without_nodes(new):
            state.finalize.orphans_nodes = True
        if trigger is Trigger.NOTHING:
            return
        if state and trigger is Trigger.READ:
            state.read.requested = True
        self._enqueue(key)

    def _key_changed(self, _old: KeyState, _new: KeyState) -> None:
        """Plan every hub: nodes are signed with another key, or wait for one."""
        for hub in self._context.hubs.values():
            self._react(hub.metadata.key, Trigger.PLAN)

    def _form_changed(self, key: ObjectKey, old: LynqForm | None, new: LynqForm | None) -> None:
        trigger = form_changed(old, new)
        for form in (old, new):
            if form:
                self._react(hub_of_form(form), trigger)
        if old is None and not self._context.forms.exists(key):
            self._unreadable_form_deleted(key.namespace)

    def _unreadable_form_deleted(self, namespace: str) -> None:
        """Plan every hub of the namespace: the hub of the unreadable form is unknown."""
        for hub in self._states:
            if hub.namespace == namespace:
                self._react(hub, Trigger.PLAN)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        # Also for other hubs: the name of the node may be desired by one of their rows.
        for neighbor in self._states.in_namespace(key.namespace):
            neighbor.plan.record_changed_node(key.name)
        for hub in _hubs_of(old) | _hubs_of(new):
            state = self._states.get(hub)
            if state and key.name not in state.write.in_flight:
                if self._is_deleting(hub):
                    delay = self._context.timing.hub_finalizer_batch
                    self._queue.add_after(hub, delay, group=str(hub))
                else:
                    self._react(hub, node_changed(old, new, state.plan, self._context.clock()))

    def _is_deleting(self, key: ObjectKey) -> bool:
        # From the cache, because unreadable hubs are finalized too.
        hub = self._context.hubs.cache.get(key)
        return hub is not None and is_deleting(hub)

    def _react(self, hub: ObjectKey, trigger: Trigger) -> None:
        state = self._states.get(hub)
        match trigger:
            case Trigger.PLAN | Trigger.READ:
                if state:
                    state.plan.requested = True
                    state.read.requested = state.read.requested or trigger is Trigger.READ
                self._enqueue(hub)
            case Trigger.COUNT:
                self._enqueue_for_status(hub, state)

    def _enqueue_for_status(self, hub: ObjectKey, state: HubState | None) -> None:
        # Delayed until the status may be written: ten thousand changes cause a few reconciles.
        if self._context.options.shard.has_hubs:
            delay = state.announced.limiter.wait if state else 0.0
            self._queue.add_after(hub, delay, group=str(hub))

    def _enqueue(self, hub: ObjectKey) -> None:
        if self._context.options.shard.has_hubs:
            self._queue.add(hub, group=str(hub))


def _hubs_of(node: LynqNode | None) -> set[ObjectKey]:
    """Return the hubs of a node by both rules: a hub still owns a node whose label was edited."""
    labeled = hub_by_label(node)
    return hubs_by_owner(node) | ({labeled} if labeled else set())
