"""Crashes of the operator at any write: the next process converges and leaks nothing."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from built_in_resources import SERVICES
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.builders import (
    NODE,
    create_node,
    entry,
    exists,
    has_plan,
    labels,
    manifest_entry,
    update_node,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)

SECRET = manifest_entry("secret", {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}})
SERVICE = manifest_entry(
    "service", {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
)
FIRST: dict[str, Any] = {
    "secrets": [SECRET | {"creationPolicy": "Once"}],
    "services": [SERVICE | {"patchStrategy": "merge", "dependIds": ["settings"]}],
}
NOTHING: dict[str, Any] = {"secrets": [], "services": []}


@dataclass
class Crash:
    """Stops the operator at the nth write: before it is sent, or before its response is read."""

    at: int
    is_sent: bool
    writes: list[str] = field(default_factory=list)
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream or request.verb in ("get", "list") or "/events" in request.path:
            return await send(request)
        if self.happened.is_set():
            await asyncio.Event().wait()
        self.writes.append(f"{request.verb} {request.path.rpartition('/')[2]}")
        if len(self.writes) < self.at:
            return await send(request)
        self.happened.set()
        if self.is_sent:
            await send(request)
        await asyncio.Event().wait()
        raise AssertionError("a crashed operator sends no more requests")


async def run_until_crash(env: Environment, crash: Crash, *, idle: float = 2.0) -> bool:
    """Run the operator until it crashes or is idle; return whether it crashed."""
    options = Options(sqlite_directory=env.directory, namespaces=(env.namespace,))
    process = Process(ProcessSettings(options=options), env.client.intercepted(crash))
    task = asyncio.create_task(process.run(asyncio.Event()))
    try:
        async with asyncio.timeout(30 if idle > 2 else 15):
            count = -1
            while not crash.happened.is_set():
                await asyncio.sleep(0.05)
                if len(crash.writes) != count:
                    count, quiet = len(crash.writes), 0.0
                quiet += 0.05
                if quiet > idle and count:
                    return False
    finally:
        # Cancelled instead of stopped: a crash does not shut down cleanly.
        task.cancel()
        await asyncio.wait((task,))
    return True


@pytest.mark.parametrize("is_sent", [False, True], ids=["before send", "after send"])
@pytest.mark.parametrize("at", range(1, 8))
async def test_node_converges_after_crash_during_create(
    env: Environment, at: int, *, is_sent: bool
) -> None:
    """Entries of kinds that no other entry uses are removed from the spec after the crash."""
    await create_node(env, entry("settings"), entry("kept", deletionPolicy="Retain"), **FIRST)
    await run_until_crash(env, Crash(at, is_sent))
    exists_before = await exists(env, "kept")
    await update_node(env, entry("settings", "{{ .plan }} updated"), **NOTHING)

    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        await wait_for_object(env, "settings", has_plan("pro updated"))
        await wait_for_deletion(env, SECRETS, "secret")
        await wait_for_deletion(env, SERVICES, "service")
        if exists_before:
            await wait_for_object(env, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        node = await wait_for_node_ready(env, NODE)
        assert [resource["id"] for resource in node["status"]["resources"]] == ["settings"]


@pytest.mark.parametrize("at", range(1, 7))
async def test_node_is_finalized_after_crash_during_deletion(env: Environment, at: int) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("kept", deletionPolicy="Retain"), **FIRST)
        await wait_for_node_ready(env, NODE)
    await env.client.delete(NODES, NODE, env.namespace)
    await run_until_crash(env, Crash(at, is_sent=True))
    async with running_operator(env):
        await wait_for_deletion(env, NODES, NODE)
        await wait_for_deletion(env, SECRETS, "secret")
        await wait_for_deletion(env, SERVICES, "service")
        await wait_for_deletion(env, CONFIG_MAPS, "settings")
        await wait_for_object(env, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))


async def test_orphan_is_adopted_after_crash_during_adoption(env: Environment) -> None:
    kept: Object = entry("kept", deletionPolicy="Retain")
    async with running_operator(env):
        await create_node(env, kept)
        await wait_for_node_ready(env, NODE)
        await update_node(env)
        await wait_for_object(env, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await wait_for_node_ready(env, NODE)
    await update_node(env, kept)
    await run_until_crash(env, Crash(1, is_sent=True))
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        live = await env.get(CONFIG_MAPS, "kept")
        assert "lynq.sh/orphaned" not in labels(live)
        assert labels(live)["lynq.sh/node"] == NODE
