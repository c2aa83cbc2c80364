"""Killed operators, and hubs that change during a reconcile."""

import asyncio
import time

import pytest

from lynq.controllers.form_validation import FormValidator
from lynq.controllers.options import Shard
from lynq.kube import Request, Response, Send
from lynq.kube.errors import Fenced
from memory.api_server import MemoryApiServer
from operated.environment import HUBS, NODES, Environment
from waiting import eventually

ROWS = tuple((f"t{number:03}", 1, "pro") for number in range(120))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


async def test_killed_operator_resumes_node_creation(
    env: Environment, api_server: MemoryApiServer
) -> None:
    # Otherwise all nodes are created at one moment.
    api_server.latency = 0.02
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await eventually(lambda: env.requests.count("create") > 40)
    assert 0 < len(await env.node_names()) < 120

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES, within=20)
        await env.wait_for_status(desired=120)
    # Each node is created once; up to 32 creates in flight may be repeated after the kill.
    assert env.requests.count("create") <= 120 + 32


async def test_pausing_hub_stops_node_creation(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async def delay_creates(request: Request, send: Send) -> Response:
        if request.verb == "create" and "lynqnodes" in request.path:
            await asyncio.sleep(0.3)
        return await send(request)

    env.client = env.client.intercepted(delay_creates)
    async with env.run_controllers():
        await eventually(lambda: env.requests.count("create") >= 32)
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        await env.wait_until_idle()
        assert len(await env.node_names()) < 120
        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        await env.wait_for_nodes(*NAMES, within=20)


async def test_many_nodes_do_not_block_event_loop(
    env: Environment,
) -> None:
    many = tuple((f"m{number:04}", 1, "pro") for number in range(500))
    env.set_rows(*many)
    await env.create_hub()
    await env.create_form()
    worst = 0.0

    async def measure_lag() -> None:
        nonlocal worst
        while True:
            # The CPU time of this thread: a shared machine pauses the process at times.
            start = time.thread_time()
            await asyncio.sleep(0.01)
            worst = max(worst, time.thread_time() - start)

    measurement = asyncio.create_task(measure_lag())
    try:
        async with env.run_controllers() as context:
            await eventually(lambda: len(context.nodes.values()) == 500, within=60)
            await env.wait_for_status(desired=500)
            patches = env.requests.count("patch")
            assert env.requests.count("create") == 500
            env.set_rows(*many[:450])
            await env.force_sync()
            await eventually(lambda: len(context.nodes.values()) == 450, within=60)
            await env.wait_for_status(desired=450)
    finally:
        measurement.cancel()
    assert patches < 60
    assert worst < 1.0


async def test_first_shard_reconciles_all_hubs_and_the_others_none(env: Environment) -> None:
    env.set_rows(*ROWS[:1])
    names = [f"hub-{number}" for number in range(4)]
    for name in names:
        await env.create_hub(name)
        await env.create_form(f"of-{name}", name)

    async with env.run_controllers(Shard(1, 2)):
        await env.nodes_stay(seconds=1)
        assert not any(request.writes for request in env.requests.sent)
    async with env.run_controllers(Shard(0, 2)):
        await env.wait_for_nodes(*(f"t000-of-{name}" for name in names))


async def test_concurrent_node_change_is_not_overwritten(
    env: Environment,
) -> None:
    env.set_rows(*ROWS[:1])
    await env.create_hub()
    await env.create_form()
    client, intercepted = env.client, list[str]()

    async def annotate_first(request: Request, send: Send) -> Response:
        if request.verb == "replace" and not intercepted:
            intercepted.append(request.path)
            note = {"metadata": {"annotations": {"note": "mine"}}}
            await client.patch(NODES, NAMES[0], note, env.namespace)
        return await send(request)

    env.client = client.intercepted(annotate_first)
    async with env.run_controllers():
        await env.wait_for_nodes(NAMES[0])
        await env.wait_until_idle()
        env.set_rows(("t000", 1, "enterprise"))
        await env.force_sync()

        async def written() -> bool:
            annotations = (await env.get(NODES, NAMES[0]))["metadata"]["annotations"]
            return "enterprise" in annotations["lynq.sh/extra"] and annotations["note"] == "mine"

        await eventually(written)
    assert intercepted


async def test_missing_hub_label_is_restored(env: Environment) -> None:
    env.set_rows(*ROWS[:1])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(NAMES[0])
        await env.wait_until_idle()
        await env.patch(NODES, NAMES[0], {"metadata": {"labels": {"lynq.sh/hub": None}}})

        async def labeled() -> bool:
            labels = (await env.get(NODES, NAMES[0]))["metadata"]["labels"]
            return bool(labels.get("lynq.sh/hub") == "hub")

        await eventually(labeled)


async def test_write_is_planned_again_if_the_lease_was_in_doubt(env: Environment) -> None:
    """The renewal may succeed a moment later; then the process goes on."""
    env.set_rows(*ROWS[:1])
    await env.create_hub(sync_interval="1h")
    await env.create_form()
    fenced = iter([True])

    async def fence_once(request: Request, send: Send) -> Response:
        if request.verb == "create" and request.path.endswith(NODES.plural) and next(fenced, False):
            raise Fenced("write not sent")
        return await send(request)

    env.client = env.client.intercepted(fence_once)
    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES[:1])
    assert not next(fenced, False)


async def test_plan_that_fails_is_repeated_with_back_off(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes change meanwhile, and each change reconciles the hub."""
    env.set_rows(*ROWS[:10])
    await env.create_hub(sync_interval="1h")
    await env.create_form()
    plans = 0

    async def fail(*_: object) -> None:
        nonlocal plans
        plans += 1
        raise TypeError("a defect")

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES[:10])
        await env.wait_until_idle()
        monkeypatch.setattr(FormValidator, "candidate", fail)
        await env.force_sync()
        await eventually(lambda: plans)
        for number in range(10):
            await env.set_nodes_ready(NAMES[:10], ready=number % 2 == 1)
        # The counters of the hub follow its nodes.
        await env.wait_for_status(ready=10)
    # 100 changes; the back-off is 62 ms at first, and doubles.
    assert plans < 20
