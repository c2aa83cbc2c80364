"""Watches: events in order, selectors, bookmarks, expired versions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from contract.manifests import HOLD, config_map
from lynq.kube import Bookmark, Client, PartialObject, Resource, WatchEvent, errors
from lynq.kube.resource import CONFIG_MAPS

Events = AsyncIterator[WatchEvent[Any] | Bookmark]
WEB = {"tier": "web"}


@asynccontextmanager
async def watching(client: Client, namespace: str, **options: Any) -> AsyncIterator[Events]:
    """A watch of the test's ConfigMaps from now on, for at most 30 s."""
    # The controller-manager publishes one in each new namespace.
    options = {"fields": "metadata.name!=kube-root-ca.crt", **options}
    if "since" not in options and "initial_events" not in options:
        options["since"] = (await client.list(CONFIG_MAPS, namespace)).resource_version
    stream = client.watch(CONFIG_MAPS, namespace, **options)
    async with asyncio.timeout(30), aclosing(stream) as events:
        yield events


async def next_events(events: Events, count: int) -> list[tuple[str, str]]:
    """Return type and name of the next events."""
    received: list[tuple[str, str]] = []
    async for event in events:
        if isinstance(event, WatchEvent):
            received.append((event.type.value, event.object["metadata"]["name"]))
        if len(received) == count:
            return received
    raise AssertionError(f"the watch ended after {received}")


async def next_event(events: Events) -> WatchEvent[Any]:
    """Return the next event that is no bookmark."""
    async for event in events:
        if isinstance(event, WatchEvent):
            return event
    raise AssertionError("the watch ended")


async def create(client: Client, namespace: str, name: str, **fields: Any) -> dict[str, Any]:
    return await client.create(CONFIG_MAPS, config_map(namespace, name, **fields))


async def label(client: Client, namespace: str, name: str, **labels: str | None) -> dict[str, Any]:
    return await client.patch(CONFIG_MAPS, name, {"metadata": {"labels": labels}}, namespace)


async def test_events_are_in_order(client: Client, namespace: str) -> None:
    async with watching(client, namespace) as events:
        await create(client, namespace, "a")
        await label(client, namespace, "a", tier="web")
        await create(client, namespace, "b")
        await client.delete(CONFIG_MAPS, "a", namespace)
        assert await next_events(events, 4) == [
            ("ADDED", "a"),
            ("MODIFIED", "a"),
            ("ADDED", "b"),
            ("DELETED", "a"),
        ]


async def test_event_has_the_written_object(client: Client, namespace: str) -> None:
    async with watching(client, namespace) as events:
        created = await create(client, namespace, "a", data={"k": "1"})
        changed = await label(client, namespace, "a", tier="web")
        await client.delete(CONFIG_MAPS, "a", namespace)
        added, modified, deleted = [await next_event(events) for _ in range(3)]
    assert added.object == created
    assert modified.object == changed
    version = deleted.object["metadata"].pop("resourceVersion")
    assert int(version) > int(changed["metadata"].pop("resourceVersion"))
    assert deleted.object == changed


async def test_watch_resumes_after_a_version(client: Client, namespace: str) -> None:
    first = await create(client, namespace, "a")
    await create(client, namespace, "b")
    version = first["metadata"]["resourceVersion"]
    async with watching(client, namespace, since=version) as events:
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_watch_without_a_version_begins_with_what_exists(
    client: Client, namespace: str
) -> None:
    await create(client, namespace, "a", labels=WEB)
    async with watching(client, namespace, since=None, labels="tier") as events:
        assert await next_events(events, 1) == [("ADDED", "a")]
        await client.delete(CONFIG_MAPS, "a", namespace)
        assert await next_events(events, 1) == [("DELETED", "a")]


async def test_object_that_enters_the_selection_is_added(client: Client, namespace: str) -> None:
    await create(client, namespace, "a")
    async with watching(client, namespace, labels="tier=web") as events:
        await label(client, namespace, "a", tier="db")
        await label(client, namespace, "a", tier="web")
        await label(client, namespace, "a", other="1")
        assert await next_events(events, 2) == [("ADDED", "a"), ("MODIFIED", "a")]


async def test_object_that_leaves_the_selection_is_deleted(client: Client, namespace: str) -> None:
    created = await create(client, namespace, "a", labels=WEB)
    async with watching(client, namespace, labels="tier=web") as events:
        left = await label(client, namespace, "a", tier="db")
        await client.delete(CONFIG_MAPS, "a", namespace)
        await create(client, namespace, "b", labels=WEB)
        event = await next_event(events)
        assert event.type.value == "DELETED"
        assert event.object["metadata"]["labels"] == created["metadata"]["labels"]
        assert event.object["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_object_outside_of_the_selection_has_no_events(
    client: Client, namespace: str
) -> None:
    fields = "metadata.name!=b,metadata.name!=kube-root-ca.crt"
    async with watching(client, namespace, labels="!tier", fields=fields) as events:
        await create(client, namespace, "a", labels=WEB)
        await create(client, namespace, "b")
        await create(client, namespace, "c")
        assert await next_events(events, 1) == [("ADDED", "c")]


async def test_one_object_is_watched_by_its_name(client: Client, namespace: str) -> None:
    async with watching(client, namespace, fields="metadata.name=b") as events:
        await create(client, namespace, "a")
        await create(client, namespace, "b")
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_watch_of_a_namespace_has_no_events_of_others(
    client: Client, namespace: str, other_namespace: str
) -> None:
    async with watching(client, namespace) as events:
        await create(client, other_namespace, "a")
        await create(client, namespace, "b")
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_write_without_effect_has_no_event(client: Client, namespace: str) -> None:
    await create(client, namespace, "a", labels=WEB)
    async with watching(client, namespace) as events:
        await label(client, namespace, "a", tier="web")
        await create(client, namespace, "b")
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_dry_run_has_no_event(client: Client, namespace: str) -> None:
    async with watching(client, namespace) as events:
        await client.create(CONFIG_MAPS, config_map(namespace, "a"), dry_run=True)
        await create(client, namespace, "b")
        assert await next_events(events, 1) == [("ADDED", "b")]


async def test_deletion_with_finalizers_is_modified_first(client: Client, namespace: str) -> None:
    await create(client, namespace, "a", finalizers=[HOLD])
    async with watching(client, namespace) as events:
        await client.delete(CONFIG_MAPS, "a", namespace)
        await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, namespace)
        marked, removed = [await next_event(events) for _ in range(2)]
    assert marked.type.value == "MODIFIED"
    assert marked.object["metadata"]["finalizers"] == [HOLD]
    assert marked.object["metadata"]["deletionTimestamp"]
    assert removed.type.value == "DELETED"
    # The last object that was stored, not the one without finalizers, which never was.
    assert removed.object["metadata"]["finalizers"] == [HOLD]


async def test_initial_events_end_with_a_bookmark(client: Client, namespace: str) -> None:
    for name in ("a", "b", "c"):
        await create(client, namespace, name, labels={} if name == "b" else WEB)
    async with watching(client, namespace, initial_events=True, labels="tier") as events:
        assert sorted(await next_events(events, 2)) == [("ADDED", "a"), ("ADDED", "c")]
        bookmark = await anext(events)
        assert isinstance(bookmark, Bookmark)
        assert bookmark.initial_events_end
        await label(client, namespace, "b", tier="web")
        assert await next_events(events, 1) == [("ADDED", "b")]
    async with watching(client, namespace, since=bookmark.resource_version) as events:
        assert await next_events(events, 1) == [("MODIFIED", "b")]


async def test_metadata_is_watched_without_the_rest(client: Client, namespace: str) -> None:
    async with watching(client, namespace, into=PartialObject) as events:
        created = await create(client, namespace, "a", data={"k": "v"})
        event = await next_event(events)
    assert event.object.kind == "PartialObjectMetadata"
    assert event.object.metadata.resource_version == created["metadata"]["resourceVersion"]


async def test_watch_ends_after_its_timeout(client: Client, namespace: str) -> None:
    async with watching(client, namespace, timeout_seconds=1) as events:
        assert [event async for event in events if isinstance(event, WatchEvent)] == []


async def test_expired_version_is_gone(client: Client, widgets: Resource) -> None:
    # The cache of a new kind begins later. That of a built-in kind may reach back to the first one.
    with pytest.raises(errors.Gone, match="410 Expired"):
        async with asyncio.timeout(30), aclosing(client.watch(widgets, since="1")) as events:
            await anext(events)


async def test_watch_of_an_unserved_kind_is_not_found(client: Client) -> None:
    nothing = Resource("example.com", "v1", "Nothing", "nothings", namespaced=True)
    with pytest.raises(errors.NotFound) as caught:
        await anext(client.watch(nothing))
    assert not caught.value.proves_absence
