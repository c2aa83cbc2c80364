"""The operator killed at any request: the next one brings about the same, and nothing is left."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from cluster.controllers.node.making import (
    NODE,
    becomes,
    entry,
    exists,
    labels,
    make_node,
    of_kind,
    plan_is,
    want,
)
from cluster.controllers.operating import is_gone, node_is_ready, operating
from cluster.controllers.stage import NODES, Object, Stage
from lynq.controllers.manager import Process, ProcessSettings
from lynq.controllers.options import Options
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS, SECRETS, SERVICES

SECRET = of_kind("secret", {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}})
SERVICE = of_kind(
    "service", {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
)
FIRST: dict[str, Any] = {
    "secrets": [SECRET | {"creationPolicy": "Once"}],
    "services": [SERVICE | {"patchStrategy": "merge", "dependIds": ["settings"]}],
}
NOTHING: dict[str, Any] = {"secrets": [], "services": []}


@dataclass
class Death:
    """Strikes at the nth write: before it is sent, or before its answer is read."""

    at: int
    is_sent: bool
    writes: list[str] = field(default_factory=list)
    struck: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: Request, send: Send) -> Response:
        if request.stream or request.verb in ("get", "list") or "/events" in request.path:
            return await send(request)
        if self.struck.is_set():
            await asyncio.Event().wait()
        self.writes.append(f"{request.verb} {request.path.rpartition('/')[2]}")
        if len(self.writes) < self.at:
            return await send(request)
        self.struck.set()
        if self.is_sent:
            await send(request)
        await asyncio.Event().wait()
        raise AssertionError("the dead do not go on")


async def run_until(stage: Stage, death: Death, *, idle: float = 2.0) -> bool:
    """Run the operator until it is struck, and kill it; return False if it was not."""
    options = Options(sqlite_directory=stage.directory, namespaces=(stage.namespace,))
    process = Process(ProcessSettings(options=options), stage.client.intercepted(death))
    task = asyncio.create_task(process.run(asyncio.Event()))
    try:
        async with asyncio.timeout(30 if idle > 2 else 15):
            seen = -1
            while not death.struck.is_set():
                await asyncio.sleep(0.05)
                if len(death.writes) != seen:
                    seen, quiet = len(death.writes), 0.0
                quiet += 0.05
                if quiet > idle and seen:
                    return False
    finally:
        # Not the orderly stop: whatever runs is cut where it is.
        task.cancel()
        await asyncio.wait((task,))
    return True


@pytest.mark.parametrize("is_sent", [False, True], ids=["unsent", "unanswered"])
@pytest.mark.parametrize("at", range(1, 8))
async def test_a_node_that_was_being_made_comes_out_right_and_nothing_leaks(
    stage: Stage, at: int, *, is_sent: bool
) -> None:
    """What was half made leaves the form meanwhile, and is of kinds that nobody else uses."""
    await make_node(stage, entry("settings"), entry("kept", deletionPolicy="Retain"), **FIRST)
    await run_until(stage, Death(at, is_sent))
    was_kept = await exists(stage, "kept")
    await want(stage, entry("settings", "{{ .plan }} again"), **NOTHING)

    async with operating(stage):
        await node_is_ready(stage, NODE)
        await becomes(stage, "settings", plan_is("pro again"))
        await is_gone(stage, SECRETS, "secret")
        await is_gone(stage, SERVICES, "service")
        if was_kept:
            await becomes(stage, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        node = await node_is_ready(stage, NODE)
        assert [each["id"] for each in node["status"]["resources"]] == ["settings"]


@pytest.mark.parametrize("at", range(1, 7))
async def test_a_node_that_was_being_removed_is_removed(stage: Stage, at: int) -> None:
    async with operating(stage):
        await make_node(stage, entry("settings"), entry("kept", deletionPolicy="Retain"), **FIRST)
        await node_is_ready(stage, NODE)
    await stage.client.delete(NODES, NODE, stage.namespace)
    await run_until(stage, Death(at, is_sent=True))
    async with operating(stage):
        await is_gone(stage, NODES, NODE)
        await is_gone(stage, SECRETS, "secret")
        await is_gone(stage, SERVICES, "service")
        await is_gone(stage, CONFIG_MAPS, "settings")
        await becomes(stage, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))


async def test_an_orphan_that_was_being_adopted_is_adopted(stage: Stage) -> None:
    kept: Object = entry("kept", deletionPolicy="Retain")
    async with operating(stage):
        await make_node(stage, kept)
        await node_is_ready(stage, NODE)
        await want(stage)
        await becomes(stage, "kept", lambda obj: "lynq.sh/orphaned" in labels(obj))
        await node_is_ready(stage, NODE)
    await want(stage, kept)
    await run_until(stage, Death(1, is_sent=True))
    async with operating(stage):
        await node_is_ready(stage, NODE)
        found = await stage.get(CONFIG_MAPS, "kept")
        assert "lynq.sh/orphaned" not in labels(found)
        assert labels(found)["lynq.sh/node"] == NODE
