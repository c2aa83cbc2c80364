"""Which nodes claim an object: the node that it belongs to, and nodes that may desire it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair, node_name
from lynq.api.node_metadata import hub_by_label, hubs_by_owner, is_deleting, pair_or_spec
from lynq.controllers.cached_client import CachedClient
from lynq.controllers.context import BY_CONFLICT, BY_HUB, BY_UID, ControllerContext
from lynq.controllers.node.foreign_nodes import ForeignNodes
from lynq.core.guard.protection import keeps_objects
from lynq.core.node.objects import (
    AppliedRecord,
    LiveObject,
    ObjectIdentity,
    ObjectRef,
    Owner,
    contested_objects,
    owner_of,
)
from lynq.core.node.ownership import PossibleOwners, claimant_of, possible_owners
from lynq.core.node.siblings import Sibling

Contenders: TypeAlias = Mapping[ObjectIdentity, Sequence[LynqNode]]
"""Nodes by the objects that they desire and that belong to another owner."""


class NodeClaims:
    """Looks up nodes in the cache, and those of other shards at the API server."""

    def __init__(self, context: ControllerContext) -> None:
        self._nodes = context.nodes
        self._forms = context.forms
        self._hubs = context.hubs
        self._foreign = None if context.options.shard.has_hubs else ForeignNodes(context)

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

    async def foreign_contenders(self) -> Contenders:
        """Return the nodes of other shards that desire objects of other nodes, by object."""
        contenders: dict[ObjectIdentity, list[LynqNode]] = {}
        for node in await self._foreign.conflicted() if self._foreign else ():
            for identity in contested_objects(node.status):
                contenders.setdefault(identity, []).append(node)
        return contenders

    def contender(self, ref: ObjectRef, node: LynqNode, foreign: Contenders) -> str:
        """Return another node that desires an object of this node, for messages; "" if none."""
        identity = ref.identity
        for other in (*self._nodes.by(BY_CONFLICT, identity), *foreign.get(identity, ())):
            if other.metadata.uid != node.metadata.uid and not is_deleting(other):
                return f'LynqNode "{other.metadata.key}"'
        return ""

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
        if self.labeled and self.labeled.metadata.key == key:
            return self.labeled
        return self.watched.get(key)
