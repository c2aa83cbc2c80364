"""Which nodes claim an object: the node that it belongs to, and nodes that wait for it."""

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import is_deleting
from lynq.controllers.context import BY_CONFLICT, BY_UID, ControllerContext
from lynq.core.node.objects import ObjectRef


class NodeClaims:
    """Looks up nodes in the cache, which holds the nodes of all shards."""

    def __init__(self, context: ControllerContext) -> None:
        self._nodes = context.nodes

    def covers(self, namespace: str) -> bool:
        """Return whether the nodes of a namespace are watched."""
        return self._nodes.cache.covers(namespace)

    def by_uid(self, uid: str) -> LynqNode | None:
        """Return the node with this uid."""
        return next(iter(self._nodes.by(BY_UID, uid)), None) if uid else None

    def by_key(self, key: ObjectKey) -> LynqNode | None:
        """Return the node with this namespace and name."""
        return self._nodes.get(key)

    def contender(self, ref: ObjectRef, node: LynqNode) -> str:
        """Return another node that desires an object of this node, for messages; "" if none."""
        for other in self._nodes.by(BY_CONFLICT, ref.identity):
            if other.metadata.uid != node.metadata.uid and not is_deleting(other):
                return f'LynqNode "{other.metadata.key}"'
        return ""
