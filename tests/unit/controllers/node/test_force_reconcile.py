"""Full reapply: after the interval, and on the force-reconcile annotation."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from lynq.kube import Request, Response, Send
from operated.builders import (
    NODE,
    annotate,
    create_node,
    edit,
    entry,
    has_plan,
    labels,
    wait_for_object,
    write_verbs,
)
from operated.environment import NODES, QUICK, Environment, Object
from operated.running_operator import get_node, running_operator, wait_for_node_ready
from waiting import eventually


class SlowWrites:
    """Holds the writes of one path until they are released."""

    def __init__(self) -> None:
        self.path = ""
        self.held = 0
        self._released = asyncio.Event()

    def release(self) -> None:
        self.path = ""
        self._released.set()

    async def __call__(self, request: Request, send: Send) -> Response:
        if self.path and request.writes and self.path in request.path:
            self.held += 1
            await self._released.wait()
        return await send(request)


def last_full(node: Object) -> datetime:
    return datetime.fromisoformat(node["status"]["lastFullReconcileAt"])


async def test_all_objects_are_reapplied_after_interval(env: Environment) -> None:
    async with running_operator(env, force_reapply_interval=timedelta(seconds=3)):
        await create_node(env, entry("settings"), entry("once", creationPolicy="Once"))
        node = await wait_for_node_ready(env, NODE)
        baseline = last_full(node)
        env.requests.sent.clear()
        await eventually(lambda: write_verbs(env, "settings") == ["apply"])
        assert (env.clock() - baseline).total_seconds() >= 3

        async def stamped() -> bool:
            return last_full(await get_node(env, NODE)) > baseline

        await eventually(stamped)
        assert write_verbs(env, "once") == []


async def test_missing_baseline_forces_nothing_and_is_recorded(env: Environment) -> None:
    """A restart forces nothing either: a thousand nodes would be written at the same time."""
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
    patch = {"status": {"lastFullReconcileAt": None}}
    await env.client.patch(NODES, NODE, patch, env.namespace, subresource="status")
    env.requests.sent.clear()
    async with running_operator(env):

        async def stamped() -> bool:
            node = await get_node(env, NODE)
            return "lastFullReconcileAt" in node["status"]

        await eventually(stamped)
        await env.wait_until_idle()
        assert write_verbs(env, "settings") == []


async def test_baseline_in_the_past_forces_reapply_after_restart(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
    past = {"status": {"lastFullReconcileAt": "2026-01-01T00:00:00Z"}}
    await env.client.patch(NODES, NODE, past, env.namespace, subresource="status")
    await edit(env, "settings", {"data": {"plan": None}})
    async with running_operator(env):
        await wait_for_object(env, "settings", has_plan("pro"))
        await env.wait_until_idle()
        assert last_full(await get_node(env, NODE)).year >= 2026
        assert write_verbs(env, "settings").count("apply") == 2


async def test_force_reconcile_annotation_is_handled_once(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await annotate(env, force_reconcile="1700000000")
        await eventually(
            lambda: write_verbs(env, "settings") == write_verbs(env, "other") == ["apply"]
        )
        await env.wait_until_idle()
        status = (await get_node(env, NODE))["status"]
        assert status["lastHandledForceReconcile"] == "1700000000"
        assert write_verbs(env, "settings") == ["apply"]
    env.requests.sent.clear()
    async with running_operator(env):
        await env.wait_until_idle()
        assert write_verbs(env, "settings") == []
        await annotate(env, force_reconcile="1700000001")
        await eventually(lambda: write_verbs(env, "settings") == ["apply"])


async def test_force_reconcile_restores_the_bucket_of_a_once_object(env: Environment) -> None:
    """An object of an older version has none; the body is left alone."""
    async with running_operator(env):
        await create_node(env, entry("once", creationPolicy="Once"))
        await wait_for_node_ready(env, NODE)
        older = {"metadata": {"labels": {"lynq.sh/bucket": None}}, "data": {"plan": "edited"}}
        await edit(env, "once", older)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await annotate(env, force_reconcile="1")
        restored = await wait_for_object(env, "once", lambda obj: "lynq.sh/bucket" in labels(obj))
        assert restored["data"] == {"plan": "edited"}
        await annotate(env, force_reconcile="2")

        async def is_handled() -> bool:
            status = (await get_node(env, NODE))["status"]
            return bool(status["lastHandledForceReconcile"] == "2")

        await eventually(is_handled)
        assert write_verbs(env, "once") == ["patch"]


async def test_future_baseline_does_not_postpone_full_reconcile(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
    ahead = {"status": {"lastFullReconcileAt": "2099-01-01T00:00:00Z"}}
    await env.client.patch(NODES, "acme-web", ahead, env.namespace, subresource="status")
    async with running_operator(env, force_reapply_interval=timedelta(seconds=1)):

        async def done() -> bool:
            status = (await env.get(NODES, "acme-web"))["status"]
            return bool(status["lastFullReconcileAt"] < "2099")

        await eventually(done)


async def test_forced_apply_waits_for_a_kind_that_is_slow(env: Environment) -> None:
    """Then it applies all objects, each of them once."""
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    web = {"id": "service", "nameTemplate": "{{ .uid }}-service", "spec": service}
    await env.create_hub()
    await env.create_form(services=[web])
    slow = SlowWrites()
    env.client = env.client.intercepted(slow)
    async with running_operator(
        env, node_workers=1, timing=replace(QUICK, slow_write=0.1, slow_kind=0.1)
    ):
        for name in ("acme-web", "beta-web"):
            await wait_for_node_ready(env, name)
        await env.wait_until_idle()
        slow.path = "/services/"
        await annotate(env, "acme-web", force_reconcile="1")
        await eventually(lambda: slow.held)
        await env.wait_until_idle()
        env.requests.sent.clear()
        await annotate(env, "beta-web", force_reconcile="1")
        await env.wait_until_idle()
        assert write_verbs(env, "beta-settings") == write_verbs(env, "beta-service") == []
        status = (await get_node(env, "beta-web"))["status"]
        assert "lastHandledForceReconcile" not in status
        slow.release()

        async def handled() -> bool:
            status = (await get_node(env, "beta-web"))["status"]
            return "lastHandledForceReconcile" in status

        await eventually(handled)
        assert write_verbs(env, "beta-settings") == write_verbs(env, "beta-service") == ["apply"]
