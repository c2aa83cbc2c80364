"""The hubs, forms and nodes: read from the cache, written with read-your-writes.

Every write goes through here, so its answer is always in the cache before anybody looks again.

One resource type as one store, watched in the whole cluster or in some namespaces.

Whoever may only look into some namespaces has to watch each of them by itself. To readers that
makes no difference: a key says in which namespace to look, an index is asked in all of them.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from lynq.api import Metadata
from lynq.api.metadata import HasMetadata, ObjectKey
from lynq.api.wire import Definition
from lynq.controllers.decoding import Loose, Unreadable
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
    """Wire structs `W` as they come, kept as what `project` makes of them."""

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
        places = tuple(namespaces) if resource.namespaced else ()
        self._informers = {
            place: Informer(
                client,
                resource,
                into=into,
                project=project,
                namespace=place,
                labels=labels,
                indexes=indexes,
                metrics=metrics.informer(
                    resource.name if place is None else f"{resource.name}@{place}"
                ),
            )
            for place in (places or (None,))
        }

    async def run(self) -> None:
        """Keep the store in step until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(informer.run(), name=f"informer of {self.resource}")

    async def synced(self) -> None:
        """Wait until everything has been listed once."""
        for informer in self._informers.values():
            await informer.synced()

    @property
    def has_synced(self) -> bool:
        """Whether everything has been listed once."""
        return all(informer.has_synced for informer in self._informers.values())

    @property
    def health(self) -> InformerHealth:
        """How the worst of its watches is."""
        states = [informer.health for informer in self._informers.values()]
        return next((state for state in states if state.problem), states[0])

    @property
    def is_forbidden(self) -> bool:
        """Whether the right to watch is missing; it is tried again all the same."""
        return self.health.phase is InformerPhase.FORBIDDEN

    def covers(self, namespace: str) -> bool:
        """Return whether objects in a namespace are seen at all."""
        return None in self._informers or namespace in self._informers

    def get(self, key: ObjectKey) -> T | None:
        """Return the object under `key`, or None."""
        informer = self._informer(key)
        return informer.store.get(key) if informer else None

    def by(self, index: str, value: Hashable) -> list[T]:
        """Return the objects that the index files under `value`."""
        return [obj for each in self._informers.values() for obj in each.store.by(index, value)]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects that the index files under `value`."""
        return [
            key for each in self._informers.values() for key in each.store.keys_by(index, value)
        ]

    def items(self) -> list[tuple[ObjectKey, T]]:
        """Return all keys with their objects as of now."""
        return [item for each in self._informers.values() for item in each.store.items()]

    def on_change(self, handler: Callable[[ObjectChange[T]], None]) -> None:
        """Call `handler` with every change; it is told at once of what is already here."""
        for informer in self._informers.values():
            informer.on_change(handler)

    def absorb(self, obj: W) -> None:
        """Take the API server's answer to a write of ours."""
        if informer := self._informer(obj.metadata.key):
            informer.absorb(obj)

    def absorb_deleted(self, key: ObjectKey, uid: str) -> None:
        """Take the API server's word that an object is gone."""
        if informer := self._informer(key):
            informer.absorb_deleted(key, uid)

    def _informer(self, key: ObjectKey) -> Informer[W, T] | None:
        return self._informers.get(None) or self._informers.get(key.namespace)


class CachedKind(Protocol):
    """A hub, form or node."""

    @property
    def metadata(self) -> Metadata:
        """Its metadata."""

    @property
    def status(self) -> msgspec.Struct:
        """Its status."""


R = TypeVar("R", bound=CachedKind)


class CachedClient(Generic[R]):
    """All objects of one of our kinds."""

    def __init__(
        self,
        client: Client,
        definition: Definition,
        decode: Callable[[Loose], R | Unreadable],
        *,
        metrics: RuntimeMetrics,
        namespaces: tuple[str, ...] = (),
        indexes: Mapping[str, IndexFunction[R]],
    ) -> None:
        self.resource = resource_of(definition)
        self._client = client
        self._decode = decode
        self.cache: ResourceCache[Loose, R | Unreadable] = ResourceCache(
            client,
            self.resource,
            into=Loose,
            project=decode,
            metrics=metrics,
            namespaces=namespaces,
            indexes={
                **{name: _readable_only(index) for name, index in indexes.items()},
                _UNREADABLE: _by_namespace,
            },
        )

    def get(self, key: ObjectKey) -> R | None:
        """Return the object under `key`; None also if it is there and cannot be read."""
        found = self.cache.get(key)
        return None if isinstance(found, Unreadable) else found

    def problem(self, key: ObjectKey) -> str:
        """Return why the object under `key` cannot be read; "" if it can, or is not there."""
        found = self.cache.get(key)
        return found.problem if isinstance(found, Unreadable) else ""

    def exists(self, key: ObjectKey) -> bool:
        """Return whether there is an object under `key`, readable or not."""
        return self.cache.get(key) is not None

    def unreadable(self, namespace: str) -> list[str]:
        """Return the names of the objects in a namespace that cannot be read."""
        return [key.name for key in self.cache.keys_by(_UNREADABLE, namespace)]

    def by(self, index: str, value: Hashable) -> list[R]:
        """Return the objects that the index files under `value`."""
        found = self.cache.by(index, value)
        return [each for each in found if not isinstance(each, Unreadable)]

    def keys_by(self, index: str, value: Hashable) -> list[ObjectKey]:
        """Return the keys of the objects that the index files under `value`."""
        return self.cache.keys_by(index, value)

    def values(self) -> list[R]:
        """Return all objects that can be read."""
        return [each for _, each in self.cache.items() if not isinstance(each, Unreadable)]

    def on_change(self, handler: Callable[[ObjectKey, R | None, R | None], None]) -> None:
        """Call `handler` with key, old and new of every change; unreadable ones count as None."""

        def told(change: ObjectChange[R | Unreadable]) -> None:
            old, new = change.old, change.new
            handler(
                change.key,
                None if isinstance(old, Unreadable) else old,
                None if isinstance(new, Unreadable) else new,
            )

        self.cache.on_change(told)

    async def create(self, obj: R) -> R:
        """Create an object."""
        sent: Any = obj
        return self._absorbed(await self._client.create(self.resource, sent, into=Loose), obj)

    async def replace(self, obj: R) -> R:
        """Put an object in place of the one there is; raises Conflict if that has changed."""
        sent: Any = obj
        return self._absorbed(await self._client.replace(self.resource, sent, into=Loose), obj)

    async def patch(self, obj: R, metadata: dict[str, Any]) -> R:
        """Change some metadata of an object; raises Conflict if it has changed."""
        known = obj.metadata
        patch = {"metadata": {**metadata, "resourceVersion": known.resource_version}}
        answer = await self._client.patch(
            self.resource, known.name, patch, known.namespace, into=Loose
        )
        return self._absorbed(answer, obj)

    async def write_status(self, obj: R, status: msgspec.Struct) -> bool:
        """Make the status so, if it is not; return whether anything was sent.

        Only what differs is sent. Raises Conflict if the object has changed meanwhile.
        """
        difference = merge_patch(obj.status, status)
        if not difference:
            return False
        known = obj.metadata
        patch = {
            "metadata": {"resourceVersion": known.resource_version},
            "status": difference,
        }
        answer = await self._client.patch(
            self.resource, known.name, patch, known.namespace, subresource="status", into=Loose
        )
        self._absorbed(answer, obj)
        return True

    async def delete(self, key: ObjectKey, uid: str, version: str = "") -> None:
        """Delete the object of this uid; one that is gone already is what was wanted.

        With a resourceVersion, raises Conflict if the object has changed meanwhile.
        """
        try:
            gone = await self._client.delete(
                self.resource, key.name, key.namespace, uid=uid, resource_version=version or None
            )
        except NotFound:
            gone = True
        if gone:
            self.cache.absorb_deleted(key, uid)

    def _absorbed(self, answer: Loose, sent: R) -> R:
        self.cache.absorb(answer)
        decoded = self._decode(answer)
        return sent if isinstance(decoded, Unreadable) else decoded


_UNREADABLE = "unreadable"


def _readable_only(index: IndexFunction[R]) -> IndexFunction[R | Unreadable]:
    def values(obj: R | Unreadable) -> list[Hashable]:
        return [] if isinstance(obj, Unreadable) else list(index(obj))

    return values


def _by_namespace(obj: object) -> tuple[str, ...]:
    return (obj.metadata.namespace,) if isinstance(obj, Unreadable) else ()
