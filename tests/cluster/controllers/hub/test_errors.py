"""Databases that hang do not block other hubs, or changes of their own."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from operated.environment import HUBS, Environment

ROWS = tuple((f"t{number:03}", 1, "pro") for number in range(120))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


@pytest.fixture
async def silent_port() -> AsyncIterator[int]:
    """The port of a server that accepts connections and never responds."""

    async def never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_respond, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def hanging_source(port: int) -> dict[str, object]:
    server = {
        "host": "127.0.0.1",
        "port": port,
        "username": "u",
        "database": "d",
        "table": "t",
        "connectTimeout": "30s",
    }
    return {"type": "mysql", "sqlite": None, "mysql": server}


async def test_hanging_databases_do_not_block_other_hubs(
    env: Environment, silent_port: int
) -> None:
    env.set_rows(*ROWS[:1])
    for number in range(5):
        await env.create_hub(f"hanging-{number}", source=hanging_source(silent_port))

    async with env.run_controllers():
        # Time for the reads to connect and hang.
        await asyncio.sleep(0.5)
        await env.create_hub()
        await env.create_form()
        # Sooner than the connections time out.
        await env.wait_for_nodes(*NAMES[:1])


async def test_corrected_hub_does_not_wait_for_hanging_read(
    env: Environment, silent_port: int
) -> None:
    env.set_rows(*ROWS[:1])
    await env.create_hub(source=hanging_source(silent_port))
    await env.create_form()

    async with env.run_controllers():
        # Time for the reads to connect and hang.
        await asyncio.sleep(0.5)
        sqlite = {"path": "rows.db", "table": "tenants"}
        corrected = {"type": "sqlite", "mysql": None, "sqlite": sqlite}
        await env.patch(HUBS, "hub", {"spec": {"source": corrected}})
        # Sooner than the connections time out.
        await env.wait_for_nodes(*NAMES[:1])


async def test_hub_with_hanging_read_can_be_deleted(env: Environment, silent_port: int) -> None:
    await env.create_hub(source=hanging_source(silent_port))

    async with env.run_controllers():
        # Time for the reads to connect and hang.
        await asyncio.sleep(0.5)
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
