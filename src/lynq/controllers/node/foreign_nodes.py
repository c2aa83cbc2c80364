"""Nodes of other shards, read from the API server when an object may concern one of them.

A shard without hubs watches its own nodes. Two questions concern the others.

Does an object belong to one of them? The node is read by its name, which the labels of the object
have. They can be edited, and an object with an owner reference has none, so a uid that is still
unknown is looked up in a list of all nodes, metadata only. A uid in the list never gets another
name: its node is read and compared. A uid that is not in the list is looked up again when the list
is some seconds old. Until then, an object of a node that is younger than the list counts as that of
an unnamed node or of the node in its labels, and is in conflict.

Does one of them desire an object that this shard is about to delete? Such a node has the label
`lynq.sh/conflicted`. The labelled nodes are read before each prune, and not watched: a watch may be
behind that of the shard's own nodes, and show the deletion of a node before a conflict that was
reported earlier.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_CONFLICTED, TRUE
from lynq.controllers.concurrency import SharedRead
from lynq.controllers.context import ControllerContext
from lynq.kube import PartialObject

_LIST_LIFETIME: Final = 10.0
"""Seconds for which a list of all nodes is not repeated."""


class ForeignNodes:
    """Reads nodes that this process does not watch."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._keys = SharedRead(self._list_keys)
        self._listed: Mapping[str, ObjectKey] = {}
        """The keys of the nodes in the last list, by uid."""
        self._conflicted = SharedRead(self._list_conflicted)

    async def fetch(self, key: ObjectKey) -> LynqNode | None:
        """Read a node; None if it does not exist."""
        return await self._context.nodes.fetch(key)

    async def keys_of(self, uids: Iterable[str]) -> dict[str, ObjectKey]:
        """Return the keys of those nodes with these uids that exist."""
        uids = tuple(uids)
        if any(uid not in self._listed for uid in uids):
            since = asyncio.get_running_loop().time() - _LIST_LIFETIME
            self._listed = await self._keys.result(since)
        keys = {uid: self._listed[uid] for uid in uids if uid in self._listed}
        nodes = {uid: await self.fetch(key) for uid, key in keys.items()}
        return {uid: keys[uid] for uid, node in nodes.items() if node and node.metadata.uid == uid}

    async def conflicted(self) -> list[LynqNode]:
        """Return the nodes of all shards that are in conflict now."""
        return await self._conflicted.result()

    async def _list_keys(self) -> dict[str, ObjectKey]:
        client, resource = self._context.client, self._context.nodes.resource
        keys: dict[str, ObjectKey] = {}
        for namespace in self._context.options.namespaces or (None,):
            async for page in client.pages(resource, namespace, into=PartialObject):
                keys.update((node.metadata.uid, node.metadata.key) for node in page.items)
        return keys

    async def _list_conflicted(self) -> list[LynqNode]:
        nodes, labels = self._context.nodes, f"{LABEL_CONFLICTED}={TRUE}"
        namespaces = self._context.options.namespaces or (None,)
        return [node for each in namespaces for node in await nodes.fetch_selected(each, labels)]
