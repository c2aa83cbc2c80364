"""Profiles over HTTP on loopback."""

import asyncio

import aiohttp
import pytest

from lynq.telemetry import Address
from lynq.telemetry.http_server import HttpServer
from lynq.telemetry.profiling import profile_server

ANY = Address("127.0.0.1", 0)


async def get(server: HttpServer, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{server.address}{path}") as response,
    ):
        return response.status, await response.text()


async def test_index_lists_the_profiles() -> None:
    async with profile_server(ANY) as server:
        status, text = await get(server, "/debug/pprof/")
    assert status == 200
    for name in ("/debug/pprof/", "heap", "goroutine", "profile"):
        assert name in text


async def test_goroutine_lists_tasks_with_stacks() -> None:
    async def waiting_for_godot() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(waiting_for_godot(), name="vladimir")
    async with profile_server(ANY) as server:
        _, text = await get(server, "/debug/pprof/goroutine")
    task.cancel()
    assert "vladimir" in text
    assert "waiting_for_godot" in text


async def test_heap_counts_objects_by_type() -> None:
    async with profile_server(ANY) as server:
        _, text = await get(server, "/debug/pprof/heap")
    assert "builtins.dict" in text
    assert len(text.splitlines()) <= 53


async def test_profile_covers_the_event_loop() -> None:
    def busy_as_a_bee() -> int:
        return sum(range(20_000))

    async def work() -> None:
        while True:
            busy_as_a_bee()
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    async with profile_server(ANY) as server:
        status, text = await get(server, "/debug/pprof/profile?seconds=0.2")
    task.cancel()
    assert status == 200
    assert "busy_as_a_bee" in text


async def test_second_concurrent_profile_is_rejected() -> None:
    async with profile_server(ANY) as server:
        path = "/debug/pprof/profile?seconds=0.3"
        answers = await asyncio.gather(get(server, path), get(server, path))
    assert sorted(status for status, _ in answers) == [200, 409]


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "1e9", "nan"])
async def test_invalid_profile_duration_is_rejected(seconds: str) -> None:
    async with profile_server(ANY) as server:
        status, _ = await get(server, f"/debug/pprof/profile?seconds={seconds}")
    assert status == 400


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "rebound.example:6060"), ("Sec-Fetch-Site", "cross-site")],
)
async def test_page_of_another_site_gets_no_profile(name: str, value: str) -> None:
    async with profile_server(ANY) as server, aiohttp.ClientSession() as session:
        for path in ("", "heap", "goroutine", "profile?seconds=0.1"):
            url = f"http://{server.address}/debug/pprof/{path}"
            async with session.get(url, headers={name: value}) as response:
                assert response.status == 403, path


def test_profiles_are_served_on_loopback_only() -> None:
    with pytest.raises(ValueError, match="loopback only"):
        profile_server(Address("", 6060))
