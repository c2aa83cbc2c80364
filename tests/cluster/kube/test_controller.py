"""A complete controller on a real API server: informer, queue, reconcile, apply."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from indexes import by_owner_uid
from lynq.api import Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.wire import Wire
from lynq.kube import Client, Controller, Informer, ObjectChange, Result, RuntimeMetrics, WorkQueue
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

COLOURS = {"colour": "red"}


class ConfigMap(Wire, frozen=True, gc=False):
    metadata: Metadata
    data: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it


class Copier:
    """Keeps a copy of every ConfigMap that is labelled as an original."""

    def __init__(self, client: Client, namespace: str, registry: CollectorRegistry) -> None:
        metrics = RuntimeMetrics(registry)
        self._client = client
        self.queue: WorkQueue[ObjectKey] = WorkQueue(metrics=metrics.queue("copier"))
        self.originals: Informer[ConfigMap, ConfigMap] = Informer(
            client, CONFIG_MAPS, into=ConfigMap, namespace=namespace, labels="role=original"
        )
        self.copies: Informer[ConfigMap, ConfigMap] = Informer(
            client,
            CONFIG_MAPS,
            into=ConfigMap,
            namespace=namespace,
            labels="role=copy",
            indexes={"owner": by_owner_uid},
        )
        self.originals.on_change(lambda change: self.queue.add(change.key))
        self.copies.on_change(self._copy_changed)
        self.controller = Controller(
            "copier", self.queue, self._reconcile, workers=4, metrics=metrics.controller("copier")
        )
        self.applied = 0

    def _copy_changed(self, change: ObjectChange[ConfigMap]) -> None:
        copy = change.new or change.old
        assert copy is not None
        [owner] = copy.metadata.owner_references
        self.queue.add(ObjectKey(change.key.namespace, owner.name))

    async def _reconcile(self, key: ObjectKey) -> Result:
        original = self.originals.store.get(key)
        if original is None:
            return Result()
        copies = self.copies.store.by("owner", original.metadata.uid)
        if [copy.data for copy in copies] != [original.data]:
            self.applied += 1
            copy = await self._client.apply(
                CONFIG_MAPS, _copy_of(original), manager="copier", force=True, into=ConfigMap
            )
            self.copies.absorb(copy)
        return Result()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run informers, then workers; stop in the reverse order."""
        async with asyncio.TaskGroup() as group:
            informers = [
                group.create_task(informer.run()) for informer in (self.originals, self.copies)
            ]
            await self.originals.synced()
            await self.copies.synced()
            group.create_task(self.controller.run())
            yield
            self.controller.stop()
            for informer in informers:
                informer.cancel()


def _copy_of(original: ConfigMap) -> dict[str, Any]:
    metadata = original.metadata
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{metadata.name}-copy",
            "namespace": metadata.namespace,
            "labels": {"role": "copy"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": metadata.name,
                    "uid": metadata.uid,
                }
            ],
        },
        "data": original.data,
    }


def original(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"role": "original"}}, "data": COLOURS}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


async def test_controller_reconciles_and_corrects_drift(
    client: Client, namespace: str, registry: CollectorRegistry
) -> None:
    async def data(name: str) -> dict[str, str] | None:
        try:
            obj = await client.get(CONFIG_MAPS, name, namespace, into=ConfigMap)
        except NotFound:
            return None
        return obj.data

    async def copied(name: str, expected: dict[str, str]) -> bool:
        return await data(f"{name}-copy") == expected

    await client.create(CONFIG_MAPS, original("early"), namespace)
    copier = Copier(client, namespace, registry)
    async with copier.running():
        await eventually(lambda: copied("early", COLOURS))

        await client.create(CONFIG_MAPS, original("late"), namespace)
        await eventually(lambda: copied("late", COLOURS))

        await client.patch(CONFIG_MAPS, "late", {"data": {"colour": "blue"}}, namespace)
        await eventually(lambda: copied("late", {"colour": "blue"}))

        await client.patch(CONFIG_MAPS, "late-copy", {"data": {"colour": "grey"}}, namespace)
        await eventually(lambda: copied("late", {"colour": "blue"}))

        await client.delete(CONFIG_MAPS, "early-copy", namespace)
        await eventually(lambda: copied("early", COLOURS))

        await client.delete(CONFIG_MAPS, "late", namespace)
        await eventually(lambda: _gone(data("late-copy")))

    def total(result: str) -> float | None:
        labels = {"controller": "copier", "result": result}
        return registry.get_sample_value("controller_runtime_reconcile_total", labels)

    assert total("error") == 0
    assert (total("success") or 0) >= copier.applied
    # One each for: early, late, its change, the foreign change, the deletion. Not more: our own
    # writes are in the store before their watch events.
    assert copier.applied == 5


async def _gone(obj: Any) -> bool:
    return await obj is None


async def test_two_hundred_objects_take_two_hundred_applies(
    client: Client, namespace: str, registry: CollectorRegistry
) -> None:
    copier = Copier(client, namespace, registry)
    async with copier.running():
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(client.create(CONFIG_MAPS, original(f"o{number}"), namespace))
        await eventually(lambda: len(copier.copies.store) == 200, within=60)
        assert registry.get_sample_value("workqueue_depth", {"name": "copier"}) is not None
    assert copier.applied == 200
