"""Turns changes of forms, hubs and nodes into keys of forms."""

from collections.abc import Callable

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import is_deleting
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.core.hub.node_counts import form_of, health_of
from lynq.core.hub.rollout import facts_of
from lynq.kube import WorkQueue


class FormEventHandlers:
    """Wakes forms; `pause` says how long a form's next status has to wait."""

    def __init__(
        self,
        world: ControllerContext,
        queue: WorkQueue[ObjectKey],
        pause: Callable[[ObjectKey], float],
    ) -> None:
        self._world = world
        self._queue = queue
        self._pause = pause

    def attach(self) -> None:
        """Listen to all changes, those that happened before included."""
        self._world.forms.on_change(self._form_changed)
        self._world.hubs.on_change(self._hub_changed)
        self._world.nodes.on_change(self._node_changed)

    def workload_is_up(self, node: LynqNode) -> None:
        """Take note that a workload of a node has become ready.

        As a rule the node says so soon, and then is time enough. But its status comes by another
        watch than the workload, and may have been here first: then nobody else says it.
        """
        key = form_of(node)
        form = self._world.forms.get(key)
        facts = facts_of(node, workloads_ready=True)
        if form and _is_limited(form) and facts.has_settled(self._world.now()):
            self._wake(key, form, after=self._pause(key))

    def _form_changed(self, key: ObjectKey, old: LynqForm | None, new: LynqForm | None) -> None:
        # Its status is our own work.
        if _version(old) != _version(new):
            self._wake(key, new or old)

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        if _version(old) != _version(new):
            for form in self._world.forms.by(BY_HUB, key):
                self._wake(form.metadata.key, form)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        for name in {node.spec.template_ref for node in (old, new) if node}:
            form = self._world.forms.get(ObjectKey(key.namespace, name))
            if form and (_counts_differently(old, new) or _is_limited(form)):
                # Many nodes change in one second, and the status is written once.
                self._wake(form.metadata.key, form, after=self._pause(form.metadata.key))

    def _wake(self, key: ObjectKey, form: LynqForm | None, *, after: float = 0.0) -> None:
        if self._world.options.shard.owns(key):
            hub = ObjectKey(key.namespace, form.spec.hub_id) if form else key
            self._queue.add_after(key, after, group=str(hub))


def _version(obj: LynqForm | LynqHub | None) -> tuple[object, ...] | None:
    if obj is None:
        return None
    known = obj.metadata
    return known.uid, known.generation, known.deletion_timestamp


def _counts_differently(old: LynqNode | None, new: LynqNode | None) -> bool:
    if old is None or new is None or old.spec.template_ref != new.spec.template_ref:
        return True
    return is_deleting(old) != is_deleting(new) or health_of(old) is not health_of(new)


def _is_limited(form: LynqForm) -> bool:
    return form.spec.rollout is not None and form.spec.rollout.max_skew > 0
