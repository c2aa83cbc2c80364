"""Secrets and ConfigMaps of hubs are watched by name, and fetched only while the watch fails."""

from collections.abc import AsyncIterator

import pytest_asyncio

from background_tasks import run_in_background
from lynq.api import KeyHolder
from lynq.api.metadata import ObjectKey
from lynq.controllers.hub.source_objects import SourceObject
from lynq.kube import Client
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.secret_watcher import SecretWatcher
from waiting import eventually, stays


@pytest_asyncio.fixture(loop_scope="function")
async def watcher(client: Client, namespace: str) -> AsyncIterator[SecretWatcher]:
    watcher = SecretWatcher(client, namespace)
    await watcher.write("first")
    async with run_in_background(watcher.jobs.run()):
        yield watcher


async def test_watched_secret_is_not_fetched_again(watcher: SecretWatcher) -> None:
    assert await watcher.text() == b"first"
    await eventually(watcher.has_watch)
    assert await watcher.text() == b"first"
    assert watcher.requests.sent == []
    assert watcher.changes == {}


async def test_change_is_announced_to_every_hub_that_uses_the_secret(
    watcher: SecretWatcher,
) -> None:
    await watcher.data("one")
    await watcher.data("two")
    await eventually(watcher.has_watch)
    watcher.release("hub")
    await watcher.write("second")
    await eventually(lambda: watcher.changes == {"one": 1, "two": 1})
    assert await watcher.text("one") == await watcher.text("two") == b"second"
    assert len(watcher.streams) == 1


async def test_deleted_and_recreated_secret_is_announced(watcher: SecretWatcher) -> None:
    await watcher.data()
    await eventually(watcher.has_watch)
    await watcher.delete()
    await eventually(lambda: watcher.changes == {"hub": 1})
    assert await watcher.data() is None
    await watcher.write("again")
    await eventually(lambda: watcher.changes == {"hub": 2})
    assert await watcher.text() == b"again"


async def test_secret_with_unchanged_data_is_not_announced(watcher: SecretWatcher) -> None:
    await watcher.data()
    await eventually(watcher.has_watch)
    labels = {"metadata": {"labels": {"touched": "yes"}}}
    await watcher.client.patch(SECRETS, "login", labels, watcher.namespace)
    await stays(lambda: watcher.changes == {}, seconds=0.5)


async def test_released_secret_is_watched_no_longer(watcher: SecretWatcher) -> None:
    await watcher.data("one")
    await watcher.data("two")
    await eventually(watcher.has_watch)
    watcher.release("hub")
    watcher.release("one")
    await watcher.write("second")
    await eventually(lambda: watcher.changes == {"two": 1})
    watcher.release("two")
    await watcher.write("third")
    await stays(lambda: watcher.changes == {"two": 1}, seconds=0.5)


async def test_config_map_is_watched_too(watcher: SecretWatcher) -> None:
    metadata = {"name": "trust", "namespace": watcher.namespace}
    await watcher.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"ca": "A"}})
    reference = SourceObject(KeyHolder.CONFIG_MAP, ObjectKey(watcher.namespace, "trust"))
    changes: list[str] = []
    hub = ObjectKey(watcher.namespace, "hub")

    async def is_watched() -> bool:
        watcher.requests.sent.clear()
        data = await watcher.objects.data(reference, hub, lambda: changes.append("changed"))
        assert data == {"ca": "A"}
        return watcher.requests.sent == []

    await eventually(is_watched)
    await watcher.client.patch(CONFIG_MAPS, "trust", {"data": {"ca": "B"}}, watcher.namespace)
    await eventually(lambda: changes == ["changed"])
