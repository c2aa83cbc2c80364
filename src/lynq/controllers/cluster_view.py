"""What the caches know, for those who may not see the controllers: the admission webhooks."""

from collections.abc import Sequence

from lynq.api import HubSpec, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.context import BY_FORM, BY_HUB, ControllerContext


class CachedClusterView:
    """Answers from the caches, at once and without a request."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    def sees(self, namespace: str) -> bool:
        """Return whether everything in this namespace is known by now."""
        watched = self._world.options.namespaces
        is_synced = self._world.hubs.cache.has_synced and self._world.nodes.cache.has_synced
        return is_synced and (not watched or namespace in watched)

    def hub(self, key: ObjectKey) -> HubSpec | None:
        """Return what a hub wants; None if it is not there, or cannot be read."""
        hub = self._world.hubs.get(key)
        return hub.spec if hub else None

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode]:
        """Return the nodes that a hub has made."""
        return self._world.nodes.by(BY_HUB, key)

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode]:
        """Return the nodes that were made from a form."""
        return self._world.nodes.by(BY_FORM, key)
