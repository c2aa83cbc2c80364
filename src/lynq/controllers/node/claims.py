"""Which nodes claim an object: the node that it belongs to, and nodes that may desire it."""

from collections.abc import Iterator

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import hub_by_label, hubs_by_owner, is_deleting, pair_or_spec
from lynq.controllers.context import BY_CONFLICT, BY_HUB, BY_UID, ControllerContext
from lynq.core.guard.protection import keeps_objects
from lynq.core.node.objects import ObjectRef, Owner, owner_of
from lynq.core.node.siblings import Sibling


class NodeClaims:
    """Looks up nodes in the cache, which holds the nodes of all shards."""

    def __init__(self, context: ControllerContext) -> None:
        self._nodes = context.nodes
        self._forms = context.forms
        self._hubs = context.hubs

    def owner(self, node: LynqNode) -> Owner:
        """Return the node as the owner of its objects."""
        hubs = map(self._hubs.get, hubs_by_owner(node))
        return owner_of(node, is_protected=keeps_objects(node, hubs))

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

    def siblings(self, node: LynqNode) -> Iterator[Sibling]:
        """Yield the other forms of the node's hub, with the nodes of the same row."""
        pair, namespace = pair_or_spec(node), node.metadata.namespace
        for form in self._forms.by(BY_HUB, hub_by_label(node)):
            name = form.metadata.name
            if name != pair.form and not is_deleting(form):
                key = ObjectKey(namespace, node_name(NodePair(pair.uid, name)))
                yield Sibling(form, key, self._nodes.get(key))
