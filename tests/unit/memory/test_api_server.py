"""What tests do to the API server in memory: faults, rights, compaction, ordered controllers."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lynq.kube import Bookmark, Client, PartialObject, WatchEvent
from lynq.kube.errors import ConnectionFailed, Forbidden, Gone, NotFound, ServiceUnavailable
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from memory.api_server import MemoryApiServer
from virtual_time import VirtualTimeLoop, virtual_time
from waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def create(client: Client, name: str = "a", **metadata: Any) -> dict[str, Any]:
    return await client.create(CONFIG_MAPS, {"metadata": {"name": name, **metadata}}, "default")


async def exists(client: Client, name: str) -> bool:
    try:
        await client.get(CONFIG_MAPS, name, "default")
    except NotFound:
        return False
    return True


@virtual_time
async def test_request_fails_as_often_as_ordered() -> None:
    server = MemoryApiServer()
    client = server.client()
    fault = server.fail("create", "/configmaps", status=503, times=1)
    with pytest.raises(ServiceUnavailable):
        await create(client)
    assert fault.hits == 1
    assert await create(client)


@virtual_time
async def test_lost_answer_leaves_its_effect() -> None:
    server = MemoryApiServer()
    client = server.client()
    server.fail("create", error=ConnectionFailed("lost"), executed=True)
    with pytest.raises(ConnectionFailed):
        await create(client)
    assert await exists(client, "a")


@virtual_time
async def test_authorizer_decides_about_impersonated_users() -> None:
    server = MemoryApiServer()
    server.authorizer = lambda attributes: attributes.verb == "get"
    client = server.client()
    await create(client)
    viewer = client.acting_as("viewer")
    assert await exists(viewer, "a")
    with pytest.raises(Forbidden) as caught:
        await viewer.delete(CONFIG_MAPS, "a", "default")
    assert caught.value.missing_right == "grant the verb delete on configmaps"


@virtual_time
async def test_watch_of_a_compacted_version_is_gone() -> None:
    server = MemoryApiServer()
    client = server.client()
    first = await create(client)
    await create(client, "b")
    server.compact()
    since = first["metadata"]["resourceVersion"]
    with pytest.raises(Gone):
        await anext(client.watch(CONFIG_MAPS, since=since))


@virtual_time
async def test_watch_ends_when_ordered() -> None:
    server = MemoryApiServer()
    client = server.client()
    stream = client.watch(CONFIG_MAPS, into=PartialObject, initial_events=True)
    async with aclosing(stream):
        assert isinstance(await anext(stream), Bookmark)
        await create(client)
        event = await anext(stream)
        assert isinstance(event, WatchEvent)
        server.end_watches("configmaps", lost=True)
        with pytest.raises(ConnectionFailed):
            await anext(stream)


@virtual_time
async def test_silent_watch_gets_a_bookmark_every_minute() -> None:
    client = MemoryApiServer().client()
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with aclosing(client.watch(CONFIG_MAPS, since="100", timeout_seconds=150)) as stream:
        events = [event async for event in stream]
    assert [type(event) for event in events] == [Bookmark, Bookmark, Bookmark]
    assert loop.time() - started == pytest.approx(150)


@virtual_time
async def test_paused_controllers_wait_for_steps() -> None:
    server = MemoryApiServer()
    client = server.client()
    owner = await create(client, "owner")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    await create(client, "dependent", ownerReferences=[reference])
    server.is_paused = True
    await client.delete(CONFIG_MAPS, "owner", "default")
    await asyncio.sleep(60)
    assert await exists(client, "dependent")
    while server.step():
        pass
    assert not await exists(client, "dependent")


@virtual_time
async def test_namespace_ends_after_its_content() -> None:
    server = MemoryApiServer()
    client = server.client()
    server.create_namespace("tenant")
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await client.create(CONFIG_MAPS, held, "tenant")
    await client.delete(NAMESPACES, "tenant")
    with pytest.raises(Forbidden) as caught:
        await client.create(CONFIG_MAPS, {"metadata": {"name": "late"}}, "tenant")
    assert [cause.reason for cause in caught.value.causes] == ["NamespaceTerminating"]
    await client.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, "tenant")

    async def is_gone() -> bool:
        namespaces = await client.list(NAMESPACES)
        return "tenant" not in [each["metadata"]["name"] for each in namespaces]

    await eventually(is_gone)


@virtual_time
async def test_objects_have_the_time_of_the_clock() -> None:
    client = MemoryApiServer(clock=lambda: NOW + timedelta(hours=1)).client()
    created = await create(client)
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T01:00:00Z"


@virtual_time
async def test_time_stands_still_while_a_thread_works() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    started = loop.time()
    async with asyncio.timeout(1):
        assert await asyncio.to_thread(sum, range(100_000))
    assert loop.time() == started
