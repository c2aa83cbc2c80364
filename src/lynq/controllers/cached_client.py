"""Cached reads and writes of hubs, forms and nodes, with read-your-writes.

Four layers hold the objects of a kind. A `Store` indexes them. An `Informer` fills one store from
list and watch. A `ResourceCache` joins one informer per watched namespace into one view: without
the right to watch the whole cluster, each namespace needs a watch of its own. A `CachedClient` adds
decoding and writes: the response to a write is in the cache before the write returns, so the next
reconcile never sees an older object.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import HasMetadata, ObjectKey
from lynq.api.node_metadata import is_deleting
from lynq.api.wire import Definition
from lynq.controllers.decoding import RawObject, Unreadable
from lynq.core.node.merge_patch import merge_patch
from lynq.kube import (
    Client,
    Informer,
    InformerHealth,
    InformerPhase,
    ObjectChange,
    Resource,
    RuntimeMetrics,
)
from lynq.kube.errors import NotFound
from lynq.kube.resource import resource_of
from lynq.kube.store import IndexFunction

W = TypeVar("W", bound=HasMetadata)
T = TypeVar("T")


class ResourceCache(Generic[W, T]):
    """The objects of one resource: decoded as `W`, stored as `project` returns them."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        into: type[W],
        project: Callable[[W], T],
        metrics: RuntimeMetrics,
        namespaces: Iterable[str] = (),
        labels: str | None = None,
        indexes: Mapping[str, IndexFunction[T]] = MappingProxyType({}),
    ) -> None:
        self.resource = resource
        self.into = into
        watched = tuple(namespaces) if resource.namespaced else ()
        self._informers = {
            namespace: Informer(
                client,
                resource,
                into=into,
                project=project,
                namespace=namespace,
                labels=labels,
                indexes=indexes,
                metrics=metrics.informer(
                    resource.name if namespace is None else f"{resource.name}@{namespace}"
                ),
            )
            for namespace in (watched or (None,))
        }

    async def run(self) -> None:
        """List and watch until canceled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(informer.run(), name=f"informer of {self.resource}")

    async def synced(self) -> None:
        """Wait for the first complete list."""
        for informer in self._informers.values():
            await informer.synced()

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete."""
        return all(informer.has_synced for informer in self._informers.values())

    @property
    def health(self) -> InformerHealth:
        """The health of the first informer with a problem, else of any."""
        states = [informer.health for informer in self._informers.values()]
        return next((state for state in states if state.problem), states[0])

    @property
    def is_forbidden(self) -> bool:
        """Whether RBAC forbids the watch; the informer keeps retrying."""
        return self.health.phase is InformerPhase.FORBIDDEN

    @property
    def unwatched_for(self) -> float:
        """Seconds for which the API server has rejected a list or watch; 0 if all are open."""
        return max(informer.unwatched_for for informer in self._informers.values())

    def covers(self, namespace: str) -> bool:
        """Return whether the namespace is watched."""
        return None in self._informers or namespace in self._informers

    def get(self, key: ObjectKey) -> T | None:
        """Return the object under `key`, or None."""
        informer = self._informer(key)
        return informer.store.get(key) if informer else None

    def by(self, index: str, value: Hashable) -> list[T]:
        """Return the objects with this value in the index."""
        return [
            obj for informer in self._informers.values() for obj in informer.store.by(index, value)
        ]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects with this value in the index."""
        return [
            key
            for informer in self._informers.values()
            for key in informer.store.keys_by(index, value)
        ]

    def items(self) -> list[tuple[ObjectKey, T]]:
        """Return all keys and objects."""
        return [item for informer in self._informers.values() for item in informer.store.items()]

    def on_change(self, handler: Callable[[ObjectChange[T]], None]) -> None:
        """Call `handler` for every change, and at once for every object in the cache."""
        for informer in self._informers.values():
            informer.on_change(handler)

    def store_response(self, obj: W) -> None:
        """Store the API server's response to a write."""
        if informer := self._informer(obj.metadata.key):
            informer.absorb(obj)

    def store_unselected(self, obj: W) -> None:
        """Drop an object that the watch does not select after a write."""
        if informer := self._informer(obj.metadata.key):
            informer.absorb_unselected(obj)

    def store_deletion(self, key: ObjectKey, uid: str) -> None:
        """Drop an object that the API server reported as deleted."""
        if informer := self._informer(key):
            informer.absorb_deleted(key, uid)

    def _informer(self, key: ObjectKey) -> Informer[W, T] | None:
        return self._informers.get(None) or self._informers.get(key.namespace)


class CachedKind(Protocol):
    """A hub, form or node."""

    @property
    def metadata(self) -> Metadata:
        """The object's `metadata`."""

    @property
    def status(self) -> msgspec.Struct:
        """The object's `status`."""


R = TypeVar("R", bound=CachedKind)


class CachedClient(Generic[R]):
    """Cached reads and writes of one of Lynq's kinds."""

    def __init__(
        self,
        client: Client,
        definition: Definition,
        decode: Callable[[RawObject], R | Unreadable],
        *,
        metrics: RuntimeMetrics,
        namespaces: tuple[str, ...] = (),
        labels: str | None = None,
        indexes: Mapping[str, IndexFunction[R]],
    ) -> None:
        self.resource = resource_of(definition)
        self._client = client
        self._decode = decode
        self.cache: ResourceCache[RawObject, R | Unreadable] = ResourceCache(
            client,
            self.resource,
            into=RawObject,
            project=decode,
            metrics=metrics,
            namespaces=namespaces,
            labels=labels,
            indexes={
                **{name: _readable_only(index) for name, index in indexes.items()},
                _UNREADABLE: _by_namespace,
            },
        )

    def get(self, key: ObjectKey) -> R | None:
        """Return the object under `key`; None if it does not exist or cannot be decoded."""
        return _readable(self.cache.get(key))

    def problem(self, key: ObjectKey) -> str:
        """Return why the object under `key` cannot be decoded; "" if it can or does not exist."""
        obj = self.cache.get(key)
        return obj.problem if isinstance(obj, Unreadable) else ""

    def exists(self, key: ObjectKey) -> bool:
        """Return whether the object under `key` exists, decodable or not."""
        return self.cache.get(key) is not None

    def unreadable(self, namespace: str) -> list[str]:
        """Return the names of the objects in a namespace that cannot be decoded."""
        return [key.name for key in self.cache.keys_by(_UNREADABLE, namespace)]

    def by(self, index: str, value: Hashable) -> list[R]:
        """Return the objects with this value in the index."""
        return [obj for obj in self.cache.by(index, value) if not isinstance(obj, Unreadable)]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects with this value in the index."""
        return self.cache.keys_by(index, value)

    def values(self) -> list[R]:
        """Return all objects that can be decoded."""
        return [obj for _, obj in self.cache.items() if not isinstance(obj, Unreadable)]

    def on_change(self, handler: Callable[[ObjectKey, R | None, R | None], None]) -> None:
        """Call `handler` with key, old and new object; None for one that cannot be decoded."""
        self.cache.on_change(
            lambda change: handler(change.key, _readable(change.old), _readable(change.new))
        )

    async def fetch(self, key: ObjectKey) -> R | None:
        """Read the object from the API server; None if it does not exist or cannot be decoded.

        The cache is left as it is: a write that was decided with an outdated cache has to conflict.
        """
        try:
            response = await self._client.get(
                self.resource, key.name, key.namespace, into=RawObject
            )
        except NotFound as error:
            if not error.proves_absence:
                raise
            return None
        return _readable(self._decode(response))

    async def fetch_selected(self, namespace: str | None, labels: str | None) -> AsyncIterator[R]:
        """Read all objects that can be decoded from the API server; with labels, those of them."""
        async for page in self._client.pages(
            self.resource, namespace, labels=labels, into=RawObject
        ):
            for obj in map(self._decode, page.items):
                if not isinstance(obj, Unreadable):
                    yield obj

    async def create(self, obj: R) -> R:
        """Create an object."""
        body: Any = obj
        response = await self._client.create(self.resource, body, into=RawObject)
        return self._stored(response, obj)

    async def replace(self, obj: R) -> R:
        """Replace an object; raises Conflict if its resourceVersion is outdated."""
        body: Any = obj
        response = await self._client.replace(self.resource, body, into=RawObject)
        return self._stored(response, obj)

    async def patch(self, obj: R, metadata: dict[str, Any]) -> R:
        """Patch the metadata; raises Conflict if the object's resourceVersion is outdated."""
        body = {"metadata": {**metadata, "resourceVersion": obj.metadata.resource_version}}
        return self._stored(await self._send_patch(obj, body), obj)

    async def write_status(self, obj: R, status: msgspec.Struct) -> bool:
        """Patch the status if it differs; return whether a request was sent.

        The patch holds the changed fields only. Raises Conflict if the object's resourceVersion is
        outdated.
        """
        difference = merge_patch(obj.status, status)
        if not difference:
            return False
        body = {
            "metadata": {"resourceVersion": obj.metadata.resource_version},
            "status": difference,
        }
        self._stored(await self._send_patch(obj, body, subresource="status"), obj)
        return True

    async def delete(self, key: ObjectKey, uid: str, version: str = "") -> None:
        """Delete the object with this uid; an object that does not exist is no error.

        With a resourceVersion, raises Conflict if the object has another one.
        """
        try:
            is_gone = await self._client.delete(
                self.resource, key.name, key.namespace, uid=uid, resource_version=version or None
            )
        except NotFound as error:
            if not error.proves_absence:
                raise
            is_gone = True
        if is_gone:
            self.cache.store_deletion(key, uid)

    async def _send_patch(
        self, obj: R, body: dict[str, Any], *, subresource: str | None = None
    ) -> RawObject:
        name, namespace = obj.metadata.name, obj.metadata.namespace
        return await self._client.patch(
            self.resource, name, body, namespace, subresource=subresource, into=RawObject
        )

    def _stored(self, response: RawObject, sent: R) -> R:
        metadata = response.metadata
        if is_deleting(response) and not metadata.finalizers:
            # The API server has removed it. The response has the version of before, so that the
            # cache would keep the object with its finalizer until the watch event arrives.
            self.cache.store_deletion(metadata.key, metadata.uid)
        else:
            self.cache.store_response(response)
        decoded = self.cache.get(metadata.key)
        if decoded is None or decoded.metadata.resource_version != metadata.resource_version:
            decoded = self._decode(response)
        return sent if isinstance(decoded, Unreadable) else decoded


_UNREADABLE = "unreadable"


def _readable(obj: R | Unreadable | None) -> R | None:
    return None if isinstance(obj, Unreadable) else obj


def _readable_only(index: IndexFunction[R]) -> IndexFunction[R | Unreadable]:
    def values(obj: R | Unreadable) -> list[Hashable]:
        return [] if isinstance(obj, Unreadable) else list(index(obj))

    return values


def _by_namespace(obj: object) -> tuple[str, ...]:
    return (obj.metadata.namespace,) if isinstance(obj, Unreadable) else ()
