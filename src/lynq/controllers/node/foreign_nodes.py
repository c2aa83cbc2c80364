"""Nodes of other shards, read from the API server when an object may concern one of them.

A shard without hubs watches its own nodes, and those of others that are in conflict. An object that
it desires may belong to any node, and that is not in its caches. A node is read by its name, which
the labels of the object have. The labels can be edited, and an owner reference has only a uid in
the caches, so a uid that is still unknown is looked up in a list of all nodes, metadata only.

The list is reused for some seconds. A node that is younger than the list is not found in it: its
objects count as those of an unnamed node, and are in conflict until the next reconcile. A node that
was deleted since has its objects in conflict for as long. In no case an object changes owners.
"""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.context import BY_CONFLICT, ControllerContext
from lynq.core.node.objects import ObjectIdentity
from lynq.kube import PartialObject

_LIST_LIFETIME: Final = 10.0
"""Seconds for which a list of all nodes is reused."""


class ForeignNodes:
    """Reads nodes that this process does not watch."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._listing = asyncio.Lock()
        self._keys: Mapping[str, ObjectKey] = MappingProxyType({})
        self._expires = 0.0

    async def fetch(self, key: ObjectKey) -> LynqNode | None:
        """Read a node; None if it does not exist."""
        return await self._context.nodes.fetch(key)

    async def keys(self) -> Mapping[str, ObjectKey]:
        """Return the keys of all nodes by uid, from a list that is some seconds old at most."""
        clock = asyncio.get_running_loop().time
        async with self._listing:
            if clock() >= self._expires:
                expires = clock() + _LIST_LIFETIME
                self._keys = await self._list()
                self._expires = expires
        return self._keys

    def conflicted(self, identity: ObjectIdentity) -> list[LynqNode]:
        """Return the nodes of other shards that desire an object of another node."""
        nodes = self._context.conflicted_nodes
        return nodes.by(BY_CONFLICT, identity) if nodes else []

    async def _list(self) -> dict[str, ObjectKey]:
        client, resource = self._context.client, self._context.nodes.resource
        keys: dict[str, ObjectKey] = {}
        for namespace in self._context.options.namespaces or (None,):
            async for page in client.pages(resource, namespace, into=PartialObject):
                keys.update((node.metadata.uid, node.metadata.key) for node in page.items)
        return keys
