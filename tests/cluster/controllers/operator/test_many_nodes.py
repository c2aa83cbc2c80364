"""Two hundred nodes: number of API requests, and fairness towards another hub."""

import resource
import time

import pytest

from lynq.controllers.timing import Timing
from operated.environment import Environment, Object
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually, stays

NODES = 200
SLOW = 60.0
"""Seconds that no write takes."""
RESOURCES = 3


def settings(number: int) -> Object:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}}
    name = f"{{{{ .uid }}}}-settings-{number}"
    return {"id": f"settings-{number}", "nameTemplate": name, "spec": manifest}


async def create_many_nodes(env: Environment) -> None:
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(NODES)))
    await env.create_hub()
    await env.create_form(configMaps=[settings(number) for number in range(RESOURCES)])


async def wait_until_all_ready(env: Environment) -> None:
    async def all_counted() -> bool:
        status = await env.status()
        assert status.get("ready") == NODES, status
        return True

    await eventually(all_counted, within=120, every=0.25)


@pytest.mark.timing
async def test_two_hundred_nodes_need_minimal_requests_and_none_when_idle(
    env: Environment,
) -> None:
    began = time.monotonic()
    # On a loaded machine writes are slow, and a slow one costs a status write.
    env.timing = Timing(slow_write=SLOW, slow_kind=SLOW, inventory_report_delay=SLOW)
    async with running_operator(env):
        await create_many_nodes(env)
        await wait_until_all_ready(env)
        seconds = time.monotonic() - began
        await env.wait_until_idle()
        sent = [request for request in env.requests.sent if "/lynqnodes" in request.path]
        sent += [request for request in env.requests.sent if "/configmaps" in request.path]
        verbs = {request.verb for request in sent}
        applied = [request.path for request in sent if request.verb == "apply"]
        count = len(env.requests.sent)
        await stays(lambda: env.requests.sent[count:] == [], seconds=20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{NODES} nodes in {seconds:.1f} s, {len(sent)} requests, {peak:.0f} MiB at most")  # noqa: T201
    assert "get" not in verbs
    assert "list" not in verbs
    # Each object is applied once.
    assert len(applied) == len(set(applied)) == NODES * RESOURCES
    assert len(sent) == NODES * (RESOURCES + 2)


async def test_row_of_another_hub_does_not_wait_for_two_hundred_nodes(env: Environment) -> None:
    env.set_rows(("single", 1, "pro"), file="other.db")
    async with running_operator(env):
        await create_many_nodes(env)

        async def applying() -> bool:
            return sum(request.verb == "apply" for request in env.requests.sent) >= 20

        await eventually(applying, within=60)
        other = {"sqlite": {"path": "other.db", "table": "tenants"}}
        await env.create_hub("other", source=other)
        lone = settings(0) | {"nameTemplate": "{{ .uid }}-lone"}
        await env.create_form("lone", "other", configMaps=[lone])
        began = time.monotonic()
        await wait_for_node_ready(env, "single-lone", within=60)
        single = time.monotonic() - began
        done = (await env.status()).get("ready", 0)
        await wait_until_all_ready(env)
        total = time.monotonic() - began
    print(f"one row was ready after {single:.1f} s, all others after {total:.1f} s")  # noqa: T201
    assert done < NODES
    assert single < total
