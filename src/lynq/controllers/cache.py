"""One resource type as one store, watched in the whole cluster or in some namespaces.

Whoever may only look into some namespaces has to watch each of them by itself. To readers that
makes no difference: a key says in which namespace to look, an index is asked in all of them.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from lynq.api.metadata import ObjectKey
from lynq.kube import (
    Client,
    Informer,
    InformerHealth,
    InformerPhase,
    ObjectChange,
    Resource,
    RuntimeMetrics,
)
from lynq.kube.store import HasMetadata, IndexFunction

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
