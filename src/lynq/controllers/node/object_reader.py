"""Finds the watch of a kind, and reads objects that no cache holds."""

from collections.abc import Iterable, Mapping
from typing import Any

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.children import Child, Children, KindNotWatched, WatchedKind
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.node.live_bodies import decoded
from lynq.core.node.objects import ObjectRef
from lynq.kube import Client, Discovery
from lynq.kube.errors import GroupUnavailable, KubeError, NotFound


class ObjectReader:
    """Reads the objects of nodes, and starts the watches of their kinds."""

    def __init__(self, client: Client, children: Children, discovery: Discovery) -> None:
        self._client = client
        self._children = children
        self._discovery = discovery

    async def watch_kinds_in_use(self, nodes: Iterable[LynqNode]) -> None:
        """Start the watch of every kind that one of the nodes has objects of."""
        entries = (entry for node in nodes for entry in node.status.resources)
        kinds = {(entry.api_version, entry.kind) for entry in entries}
        await gather_or_cancel(self._try_watch(*kind) for kind in kinds if all(kind))

    async def kind(
        self, api_version: str, kind: str, *, allow_outdated: bool = False
    ) -> WatchedKind:
        """Return the watch of a kind; raises UnknownKind or KindNotWatched."""
        resource = await self._discovery.resource(api_version, kind)
        return await self._children.watched(resource, allow_outdated=allow_outdated)

    async def fetch(self, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Read an object from the API server; None if it does not exist."""
        try:
            obj = await self._client.get(kind.resource, ref.name, ref.namespace, into=kind.into)
        except NotFound as error:
            self.check_served(kind, error)
            return None
        return kind.child_of(obj)

    async def read(
        self, kind: WatchedKind, ref: ObjectRef
    ) -> tuple[Child, Mapping[str, Any]] | None:
        """Read the whole object from the API server; None if it does not exist."""
        try:
            body = await self._client.get(kind.resource, ref.name, ref.namespace)
        except NotFound as error:
            self.check_served(kind, error)
            return None
        return kind.child_of(decoded(body, kind.into)), body

    def check_served(self, kind: WatchedKind, error: NotFound) -> None:
        """Raise GroupUnavailable if the path was not found, and not the object.

        A CRD that no longer serves a version keeps its objects: they are served in another one.
        """
        if not error.proves_absence:
            self._discovery.invalidate()
            raise GroupUnavailable(f"{kind.resource} is no longer served; rediscovering")

    async def _try_watch(self, api_version: str, kind: str) -> None:
        try:
            await self.kind(api_version, kind)
        except (KubeError, KindNotWatched):
            # Reported by the resources of that kind, if it lasts.
            return


def key_of(ref: ObjectRef) -> ObjectKey:
    """Return the namespace and name of an object."""
    return ObjectKey(ref.namespace, ref.name)
