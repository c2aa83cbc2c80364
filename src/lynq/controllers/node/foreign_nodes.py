"""Nodes of other shards, read from the API server when an object may concern one of them.

Does an object belong to one of them? A shard without hubs watches its own nodes only. Another node
is read by its name, which the labels of the object have. They can be edited, and an object with an
owner reference has none, so a uid that is still unknown is looked up in a list of all nodes,
metadata only. A uid in the list never gets another name: its node is read and compared. A uid that
is not in the list is looked up again when the list is some seconds old, and never again if the list
is younger than the first look-up: an owner exists before its objects, so it is not a node. Until
then, an object of a node that is younger than the list counts as that of an unnamed node or of the
node in its labels, and is in conflict.

Does one of them desire an object that this shard is about to delete? Such a node has the label
`lynq.sh/conflicted`. The labelled nodes are read before each wave of deletions, by every shard. A
watch would not do, not even the one of shard 0, which has all nodes: the response to the hub's own
write of a node is cached before earlier events of other nodes arrive.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final, NamedTuple

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_CONFLICTED, TRUE
from lynq.api.node_metadata import is_deleting
from lynq.controllers.concurrency import SharedRead
from lynq.controllers.context import ControllerContext
from lynq.core.node.objects import ObjectIdentity, contested_objects
from lynq.kube import PartialObject

_MAX_ASKED: Final = 10_000
"""Number of uids whose first look-up is remembered."""


class ForeignNodes:
    """Looks up the nodes that objects belong to and that this process does not watch."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._keys = SharedRead(self._list_keys)
        self._listed: Mapping[str, ObjectKey] = {}
        """The keys of the nodes in the last list, by uid."""
        self._listed_at = 0.0
        """The time of the event loop at which the last list began."""
        self._asked_at: dict[str, float] = {}
        """When each uid that was not listed was first looked up."""

    async def fetch(self, key: ObjectKey) -> LynqNode | None:
        """Read a node; None if it does not exist."""
        return await self._context.nodes.fetch(key)

    async def keys_of(self, uids: Iterable[str]) -> dict[str, ObjectKey]:
        """Return the keys of those nodes with these uids that exist."""
        uids, now = tuple(uids), asyncio.get_running_loop().time()
        unknown = [uid for uid in uids if uid not in self._listed and not self._is_no_node(uid)]
        if unknown:
            if len(self._asked_at) > _MAX_ASKED:
                self._asked_at.clear()
            for uid in unknown:
                self._asked_at.setdefault(uid, now)
            lifetime = self._context.timing.node_list_lifetime
            self._listed = await self._keys.result(now - lifetime)
        keys = {uid: self._listed[uid] for uid in uids if uid in self._listed}
        nodes = {uid: await self.fetch(key) for uid, key in keys.items()}
        return {uid: keys[uid] for uid, node in nodes.items() if node and node.metadata.uid == uid}

    def _is_no_node(self, uid: str) -> bool:
        """Return whether a list that began after the first look-up does not have the uid."""
        asked_at = self._asked_at.get(uid)
        return asked_at is not None and asked_at <= self._listed_at and uid not in self._listed

    async def _list_keys(self) -> dict[str, ObjectKey]:
        began = asyncio.get_running_loop().time()
        client, resource = self._context.client, self._context.nodes.resource
        keys: dict[str, ObjectKey] = {}
        for namespace in self._context.options.namespaces or (None,):
            async for page in client.pages(resource, namespace, into=PartialObject):
                keys.update((node.metadata.uid, node.metadata.key) for node in page.items)
        self._listed_at = began
        return keys


class ContestedObject(NamedTuple):
    """An object that a node desires and that belongs to another owner."""

    identity: ObjectIdentity
    contender: ObjectKey
    contender_uid: str


class ConflictedNodes:
    """Reads the nodes of all shards that desire objects of other owners.

    Every process of this version labels a node before its status reports a conflict. Conflicts that
    an older version has reported are found by the first read, which lists all nodes. Those without
    the label are read one by one until their shard has labelled them.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._contested = SharedRead(self._read_contested)
        self._unlabelled: set[ObjectKey] | None = None
        """The nodes in conflict without the label; None before the first read."""

    async def contested(self) -> list[ContestedObject]:
        """Return the objects that are contested now; nodes that are pruned together share it."""
        return await self._contested.result()

    async def _read_contested(self) -> list[ContestedObject]:
        contested: list[ContestedObject] = []
        unlabelled: set[ObjectKey] = set()
        async for node in self._nodes():
            key, uid = node.metadata.key, node.metadata.uid
            identities = () if is_deleting(node) else tuple(contested_objects(node.status))
            contested += (ContestedObject(identity, key, uid) for identity in identities)
            if identities and node.metadata.labels.get(LABEL_CONFLICTED) != TRUE:
                unlabelled.add(key)
        self._unlabelled = unlabelled
        return contested

    async def _nodes(self) -> AsyncIterator[LynqNode]:
        """Yield all nodes that may be in conflict."""
        nodes, unlabelled = self._context.nodes, self._unlabelled
        labels = None if unlabelled is None else f"{LABEL_CONFLICTED}={TRUE}"
        for namespace in self._context.options.namespaces or (None,):
            async for node in nodes.fetch_selected(namespace, labels):
                yield node
        for key in unlabelled or ():
            if fetched := await nodes.fetch(key):
                yield fetched
