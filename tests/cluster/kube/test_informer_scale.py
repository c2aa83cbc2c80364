"""5,000 objects listed and watched: duration, and memory per object."""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from background_tasks import run_in_background
from lynq.controllers.children import Child, WatchedKind
from lynq.kube import Client, Informer, PartialObject, RuntimeMetrics
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually

COUNT = 5_000
SELECTOR = "lynq.sh/managed=true"


def child(number: int, namespace: str) -> dict[str, Any]:
    """Return a child like the node controller applies it, five per node."""
    node = f"tenant-{number // 5:05d}-web"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"tenant-{number:05d}-config",
            "namespace": namespace,
            "labels": {
                "lynq.sh/managed": "true",
                "lynq.sh/node": node,
                "lynq.sh/node-namespace": namespace,
                "lynq.sh/hub": "customers",
            },
            "annotations": {
                "lynq.sh/applied-hash": f"{number:064x}",
                "lynq.sh/apply-start-time": "2026-01-01T00:00:00Z",
            },
        },
        "data": {"settings": "x" * 200},
    }


async def for_each(
    numbers: Iterable[int], act: Callable[[int], Awaitable[object]], *, at_once: int = 100
) -> None:
    """Run an action for many numbers with limited concurrency."""
    places = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with places:
            await act(number)

    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(one(number))


async def traced(informer: Informer[PartialObject, Any]) -> float:
    """Return the bytes per object of a synced informer."""
    gc.collect()
    tracemalloc.start()
    try:
        async with run_in_background(informer.run()):
            await informer.synced()
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            return held / len(informer.store)
    finally:
        tracemalloc.stop()


@pytest.mark.timing
async def test_five_thousand_objects_are_cached_cheaply(
    client: Client, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = WatchedKind(client, CONFIG_MAPS, RuntimeMetrics(CollectorRegistry()), (namespace,))

    def informer() -> Informer[PartialObject, Child]:
        return Informer(
            client,
            CONFIG_MAPS,
            into=PartialObject,
            project=kind.child_of,
            namespace=namespace,
            labels=SELECTOR,
            indexes={"node": lambda child: (child.live.labels["lynq.sh/node"],)},
        )

    def create(number: int) -> Awaitable[PartialObject]:
        return client.create(CONFIG_MAPS, child(number, namespace), into=PartialObject)

    watched, listed = informer(), informer()
    async with run_in_background(watched.run()):
        await watched.synced()
        await for_each(range(COUNT), create)
        await eventually(lambda: len(watched.store) == COUNT)

        started = time.perf_counter()
        async with run_in_background(listed.run()):
            await listed.synced()
            seconds = time.perf_counter() - started
            assert dict(listed.store.items()) == dict(watched.store.items())
        assert len(listed.store.by("node", "tenant-00007-web")) == 5

        await for_each(range(200), lambda n: client.delete(CONFIG_MAPS, _name(n), namespace))
        await eventually(lambda: len(watched.store) == COUNT - 200)

    whole: Informer[PartialObject, PartialObject] = Informer(
        client, CONFIG_MAPS, into=PartialObject, namespace=namespace, labels=SELECTOR
    )
    kept, partial = await traced(informer()), await traced(whole)
    with capsys.disabled():
        print(  # noqa: T201 - a measurement
            f"\n{COUNT:,} objects synced in {seconds:.2f} s; bytes per cached object:"
            f" {kept:,.0f} as the operator keeps it, with an index, {partial:,.0f} as metadata"
        )
    assert seconds < 10
    assert kept < 2_000
    assert partial < 6_000


def _name(number: int) -> str:
    return f"tenant-{number:05d}-config"
