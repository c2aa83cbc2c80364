"""Which nodes claim an object: the node that it belongs to, and nodes that may desire it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import hub_by_label, hubs_by_owner, is_deleting, pair_or_spec
from lynq.controllers.cached_client import CachedClient
from lynq.controllers.context import BY_CONFLICT, BY_HUB, BY_UID, ControllerContext
from lynq.controllers.node.foreign_nodes import ConflictedNodes, ForeignNodes
from lynq.controllers.node.state import NodeStates
from lynq.core.guard.protection import keeps_objects
from lynq.core.node.objects import (
    AppliedRecord,
    LiveObject,
    ObjectIdentity,
    ObjectRef,
    Owner,
    owner_of,
)
from lynq.core.node.ownership import PossibleOwners, claimant_of, possible_owners
from lynq.core.node.siblings import Sibling


class NodeClaims:
    """Looks up nodes in the cache, and those of other shards at the API server."""

    def __init__(self, context: ControllerContext, states: NodeStates) -> None:
        shard = context.options.shard
        self._states = states
        self._nodes = context.nodes
        self._forms = context.forms
        self._hubs = context.hubs
        self._foreign = None if shard.has_hubs else ForeignNodes(context)
        self._conflicted = ConflictedNodes(context) if shard.count > 1 else None

    def owner(self, node: LynqNode) -> Owner:
        """Return the node as the owner of its objects."""
        hubs = map(self._hubs.get, hubs_by_owner(node))
        return owner_of(node, is_protected=keeps_objects(node, hubs))

    async def claimant(
        self, live: LiveObject, ref: ObjectRef, owner: Owner, record: AppliedRecord
    ) -> str:
        """Return the other node that an object belongs to, for messages; "" if there is none."""
        possible = possible_owners(live, ref, owner)
        if possible is None:
            return ""
        nodes = await self._possible_nodes(possible)
        return claimant_of(live, ref, owner, record, nodes)

    async def other_owner(self, live: LiveObject, ref: ObjectRef, owner: Owner) -> str:
        """Return the other node that exists and owns an object, for messages; "" if none does.

        A node that cannot be known, because its namespace is not watched, may exist.
        """
        possible = possible_owners(live, ref, owner)
        if possible is None:
            return ""
        nodes = await self._possible_nodes(possible)
        if proven := next(filter(None, map(nodes.key_by_uid, possible.uids)), None):
            return _named(proven)
        key = possible.key
        if key is None or key == (owner.namespace, owner.name):
            return ""
        may_exist = nodes.by_key(key) is not None or not nodes.covers(key.namespace)
        return _named(key) if may_exist else ""

    def contender(self, ref: ObjectRef, node: LynqNode) -> str:
        """Return another node that desires an object of this node, for messages; "" if none.

        The caches decide, and what this process has not reported yet.
        """
        reported = self._nodes.keys_by(BY_CONFLICT, ref.identity)
        for other in map(self._nodes.get, {*reported, *self._states.contenders(ref)}):
            if other and other.metadata.uid != node.metadata.uid and not is_deleting(other):
                return _named(other.metadata.key)
        return ""

    async def current_contenders(self, node: LynqNode) -> dict[ObjectIdentity, str]:
        """Return other nodes that desire objects now, by object; {} without shards.

        The nodes of other shards report their conflicts themselves, and a cache may be behind.
        """
        if self._conflicted is None:
            return {}
        uid, contested = node.metadata.uid, await self._conflicted.contested()
        return {
            each.identity: _named(each.contender) for each in contested if each.contender_uid != uid
        }

    async def siblings(self, node: LynqNode) -> list[Sibling]:
        """Return the other forms of the node's hub, with the nodes of the same row."""
        pair, namespace = pair_or_spec(node), node.metadata.namespace
        siblings = []
        for form in self._forms.by(BY_HUB, hub_by_label(node)):
            name = form.metadata.name
            if name != pair.form and not is_deleting(form):
                key = ObjectKey(namespace, node_name(NodePair(pair.uid, name)))
                siblings.append(Sibling(form, key, await self._find(key)))
        return siblings

    async def _possible_nodes(self, possible: PossibleOwners) -> "_KnownNodes":
        nodes = _KnownNodes(self._nodes)
        if self._foreign is None:
            return nodes
        if possible.key and nodes.covers(possible.key.namespace):
            nodes = replace(nodes, labeled=await self._find(possible.key))
        unknown = [uid for uid in possible.uids if nodes.key_by_uid(uid) is None]
        return replace(nodes, read=await self._foreign.keys_of(unknown)) if unknown else nodes

    async def _find(self, key: ObjectKey) -> LynqNode | None:
        """Return a node of any shard; None if it does not exist."""
        node = self._nodes.get(key)
        return await self._foreign.fetch(key) if node is None and self._foreign else node


def _named(key: ObjectKey) -> str:
    return f'LynqNode "{key}"'


@dataclass(frozen=True, slots=True)
class _KnownNodes:
    """The watched nodes, and nodes of other shards that an object may belong to."""

    watched: CachedClient[LynqNode]
    labeled: LynqNode | None = None
    """The node in the labels of the object, if it exists."""
    read: Mapping[str, ObjectKey] = field(default_factory=dict)
    """The keys of nodes that are neither watched nor in the labels, by uid."""

    def covers(self, namespace: str) -> bool:
        return self.watched.cache.covers(namespace)

    def key_by_uid(self, uid: str) -> ObjectKey | None:
        if self.labeled and self.labeled.metadata.uid == uid:
            return self.labeled.metadata.key
        return next(iter(self.watched.keys_by(BY_UID, uid)), None) or self.read.get(uid)

    def by_key(self, key: ObjectKey) -> LynqNode | None:
        # Labels name one node, and no other one is asked for.
        return self.labeled or self.watched.get(key)
