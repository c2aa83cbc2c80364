"""SIGTERM stops a process within five seconds, even if a server hangs."""

import asyncio
import base64
import signal
from collections.abc import Iterator

import pytest

import databases
from databases import Server
from faults.conftest import Replicas
from lynq.kube.resource import SECRETS
from operated.environment import Environment
from operated.running_operator import wait_for_node_ready
from waiting import eventually


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with databases.mariadb("--skip-name-resolve") as ours:
        yield ours


@pytest.mark.timing
async def test_hanging_database_does_not_delay_shutdown(
    env: Environment, replicas: Replicas, server: Server
) -> None:
    data = {"password": base64.b64encode(server.password.encode()).decode()}
    metadata = {"name": "login", "namespace": env.namespace}
    await env.client.create(SECRETS, {"metadata": metadata, "data": data})
    block = {
        "host": server.host,
        "port": server.port,
        "username": server.user,
        "passwordRef": {"name": "login", "key": "password"},
        "database": server.database,
        "table": "nowhere",
    }
    hub = {"type": "mysql", "sqlite": None, "mysql": block, "syncInterval": "1s"}
    await env.create_hub(source=hub)
    replica = await replicas()
    await env.wait_for_condition("Ready", "False")
    assert server.process
    server.process.send(signal.SIGSTOP)
    try:
        # Long enough for the next read to hang.
        await asyncio.sleep(2.5)
        await replica.stop()
    finally:
        server.process.send(signal.SIGCONT)


@pytest.mark.timing
async def test_hanging_apiserver_does_not_delay_shutdown(
    env: Environment, replicas: Replicas
) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    replica = await replicas()
    await wait_for_node_ready(env, "acme-web", within=30)
    replica.proxy.block()
    env.set_rows(("acme", 1, "pro"), *((f"t{number}", 1, "pro") for number in range(20)))
    await eventually(lambda: replica.proxy.waiting > 0, within=20)
    # Time for more requests to hang.
    await asyncio.sleep(1)
    await replica.stop()


async def test_shutdown_during_writes_is_clean(env: Environment, replicas: Replicas) -> None:
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(60)))
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    replica = await replicas()
    await eventually(lambda: len(replica.proxy.resource_writes()) > 30, within=30)
    await replica.stop()
    assert replica.has_logged("controllers stopped")
    assert not [line for line in replica.log() if line["level"] == "error"]
    replica.start()
    for number in range(60):
        await wait_for_node_ready(env, f"t{number:03}-web", within=60)
    # Each node is created once.
    creates = [
        write for write in replica.proxy.resource_writes() if write.path.endswith("/lynqnodes")
    ]
    assert [write.status for write in creates] == [201] * 60
