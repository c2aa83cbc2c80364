"""Hubs whose host is denied: no connection is opened, and the status says why."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from lynq.api.denied_hosts import DeniedHosts
from operated.environment import Environment, Object
from operated.running_operator import running_operator
from waiting import eventually


@dataclass(slots=True)
class Listener:
    """A server that counts its connections and closes them."""

    port: int = 0
    connections: int = 0

    async def accept(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    listener = Listener()
    server = await asyncio.start_server(listener.accept, "127.0.0.1", 0)
    listener.port = server.sockets[0].getsockname()[1]
    yield listener
    server.close()


def source(engine: str, host: str, port: int, changes: str = "Poll") -> Object:
    server = {"host": host, "port": port, "username": "u", "database": "d", "table": "t"}
    return {"type": engine, "sqlite": None, engine: server, "changes": changes}


@pytest.mark.parametrize(("engine", "changes"), [("mysql", "Push"), ("postgresql", "Poll")])
@pytest.mark.parametrize(
    "case",
    [
        ("127.0.0.1", "127.0.0.0/8", "the address 127.0.0.1"),
        ("LOCALHOST", "localhost", "the host LOCALHOST"),
        # The address that the name resolves to.
        ("localhost", "127.0.0.1", "the address 127.0.0.1"),
    ],
    ids=["address", "name", "resolved"],
)
async def test_denied_host_is_reported_and_not_connected_to(
    env: Environment, listener: Listener, case: tuple[str, str, str], engine: str, changes: str
) -> None:
    host, denied, subject = case
    await env.create_hub(source=source(engine, host, listener.port, changes))
    async with running_operator(env, denied_hosts=DeniedHosts.parse(denied)):
        condition = await env.wait_for_condition("Ready", "False")
        assert condition["reason"] == "DatabaseConnectionFailed"
        assert f"{subject} is denied by the operator's --deny-source-hosts" in condition["message"]
        await env.wait_until_idle()
        assert listener.connections == 0
    async with running_operator(env):
        await eventually(lambda: listener.connections)
