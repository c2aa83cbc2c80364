import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from custom_kind import served_custom_kind
from lynq.kube import (
    Bookmark,
    Client,
    EventType,
    PartialObject,
    Request,
    Resource,
    Response,
    Send,
    WatchEvent,
    errors,
)
from lynq.kube.resource import CONFIG_MAPS

Events = AsyncIterator[WatchEvent[Any] | Bookmark]


@asynccontextmanager
async def watching(client: Client, namespace: str, **options: Any) -> AsyncIterator[Events]:
    """A watch of the test's ConfigMaps, for at most 30 s."""
    options = {"into": PartialObject, "labels": "test", **options}
    stream = client.watch(CONFIG_MAPS, namespace, **options)
    async with asyncio.timeout(30), aclosing(stream) as events:
        yield events


async def make(client: Client, namespace: str, name: str, size: int = 1) -> str:
    """Create a ConfigMap and return its resourceVersion."""
    obj = {"metadata": {"name": name, "labels": {"test": "1"}}, "data": {"k": "ä" * size}}
    created = await client.create(CONFIG_MAPS, obj, namespace, into=PartialObject)
    return created.metadata.resource_version


async def here(client: Client, namespace: str) -> str:
    """Return the current resourceVersion."""
    return (await client.list(CONFIG_MAPS, namespace, into=PartialObject)).resource_version


async def following(events: Events) -> tuple[EventType, str]:
    """Return type and name of the next event."""
    async for event in events:
        if isinstance(event, WatchEvent):
            return event.type, event.object.metadata.name
    raise AssertionError("the watch ended")


async def test_events_are_in_order(client: Client, namespace: str) -> None:
    async with watching(client, namespace, since=await here(client, namespace)) as events:
        await make(client, namespace, "a")
        await client.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, namespace)
        await client.delete(CONFIG_MAPS, "a", namespace)
        assert [await following(events) for _ in range(3)] == [
            (EventType.ADDED, "a"),
            (EventType.MODIFIED, "a"),
            (EventType.DELETED, "a"),
        ]


async def test_watch_resumes_from_a_version(client: Client, namespace: str) -> None:
    since = await make(client, namespace, "a")
    await make(client, namespace, "b")
    async with watching(client, namespace, since=since) as events:
        assert await following(events) == (EventType.ADDED, "b")


async def test_object_that_no_longer_matches_is_deleted(client: Client, namespace: str) -> None:
    since = await make(client, namespace, "a")
    async with watching(client, namespace, since=since) as events:
        unlabelled = {"metadata": {"labels": {"test": None}}}
        await client.patch(CONFIG_MAPS, "a", unlabelled, namespace)
        assert await following(events) == (EventType.DELETED, "a")


async def test_streamed_list_ends_with_a_bookmark_and_continues(
    client: Client, namespace: str
) -> None:
    names = {f"item-{number}" for number in range(5)}
    for name in names:
        await make(client, namespace, name)
    async with watching(client, namespace, initial_events=True) as events:
        received = set()
        async for event in events:
            if isinstance(event, Bookmark):
                break
            assert event.type is EventType.ADDED
            received.add(event.object.metadata.name)
        assert received == names
        assert isinstance(event, Bookmark)
        assert event.initial_events_end
        assert int(event.resource_version) > 0
        await make(client, namespace, "later")
        assert await following(events) == (EventType.ADDED, "later")


async def test_partial_watch_transfers_metadata_only(client: Client, namespace: str) -> None:
    received = bytearray()

    async def tap(request: Request, send: Send) -> Response:
        response = await send(request)
        return Response(
            response.status, response.headers, chunks=copied(response), close=response.close
        )

    async def copied(response: Response) -> AsyncIterator[bytes]:
        assert response.chunks is not None
        async for chunk in response.chunks:
            received.extend(chunk)
            yield chunk

    since = await here(client, namespace)
    await make(client, namespace, "large", size=100_000)
    async with watching(client.intercepted(tap), namespace, since=since) as events:
        assert await following(events) == (EventType.ADDED, "large")
    assert b"PartialObjectMetadata" in received
    assert len(received) < 2000


async def test_large_events_are_complete(client: Client, namespace: str) -> None:
    since = await here(client, namespace)
    for name in ("a", "b"):
        await make(client, namespace, name, size=400_000)
    async with watching(client, namespace, since=since, into=dict) as events:
        for _ in range(2):
            event = await anext(events)
            assert isinstance(event, WatchEvent)
            assert event.object["data"]["k"] == "ä" * 400_000


async def test_watch_ends_after_its_timeout(client: Client, namespace: str) -> None:
    since = await here(client, namespace)
    async with watching(client, namespace, since=since, timeout_seconds=1) as events:
        assert [event async for event in events if isinstance(event, WatchEvent)] == []


async def test_expired_version_is_gone(client: Client, namespace: str) -> None:
    before = await here(client, namespace)
    # The watch cache of a kind starts when the API server begins to serve it.
    async with served_custom_kind(client, f"{namespace}.example.com") as resource:
        stream = client.watch(resource, since=before, into=PartialObject)
        async with asyncio.timeout(30), aclosing(stream) as events:
            with pytest.raises(errors.Gone, match="410 Expired"):
                await anext(events)


async def test_watch_of_an_unserved_kind_is_not_found(client: Client) -> None:
    nothing = Resource("example.com", "v1", "Nothing", "nothings", namespaced=True)
    with pytest.raises(errors.NotFound):
        await anext(client.watch(nothing))


async def test_interrupted_stream_is_a_failed_connection(client: Client, namespace: str) -> None:
    async def cut(request: Request, send: Send) -> Response:
        response = await send(request)
        return Response(
            response.status, response.headers, chunks=broken(response), close=response.close
        )

    async def broken(response: Response) -> AsyncIterator[bytes]:
        assert response.chunks is not None
        yield (await anext(response.chunks))[:-10]
        raise errors.ConnectionFailed("injected")

    since = await here(client, namespace)
    await make(client, namespace, "a")
    async with watching(client.intercepted(cut), namespace, since=since) as events:
        with pytest.raises(errors.ConnectionFailed, match="injected"):
            await anext(events)
