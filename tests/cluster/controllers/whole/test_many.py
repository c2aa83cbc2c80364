"""Two hundred tenants at once: what they cost, and that one tenant of another hub does not wait."""

import asyncio
import resource
import time

from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import Object, Stage
from waiting import eventually

NODES = 200
RESOURCES = 3


def settings(number: int) -> Object:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}}
    name = f"{{{{ .uid }}}}-settings-{number}"
    return {"id": f"settings-{number}", "nameTemplate": name, "spec": manifest}


async def many(stage: Stage) -> None:
    stage.rows(*((f"t{number:03}", 1, "pro") for number in range(NODES)))
    await stage.hub()
    await stage.form(configMaps=[settings(number) for number in range(RESOURCES)])


async def all_ready(stage: Stage) -> None:
    async def counted() -> bool:
        status = await stage.status()
        assert status.get("ready") == NODES, status
        return True

    await eventually(counted, within=120, every=0.25)


async def test_two_hundred_nodes_cost_what_they_have_to_and_nothing_when_idle(
    stage: Stage,
) -> None:
    began = time.monotonic()
    async with operating(stage):
        await many(stage)
        await all_ready(stage)
        seconds = time.monotonic() - began
        await stage.settles()
        sent = [request for request in stage.traffic.sent if "/lynqnodes" in request.path]
        sent += [request for request in stage.traffic.sent if "/configmaps" in request.path]
        verbs = {request.verb for request in sent}
        applied = [request.path for request in sent if request.verb == "apply"]
        mark = len(stage.traffic.sent)
        await asyncio.sleep(20)
        assert stage.traffic.sent[mark:] == []
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{NODES} nodes in {seconds:.1f} s, {len(sent)} requests, {peak:.0f} MiB at most")  # noqa: T201
    assert "get" not in verbs
    assert "list" not in verbs
    # Each object once.
    assert len(applied) == len(set(applied)) == NODES * RESOURCES
    assert len(sent) <= NODES * (RESOURCES + 3)


async def test_one_row_of_another_hub_does_not_wait_for_two_hundred(stage: Stage) -> None:
    stage.rows(("single", 1, "pro"), file="other.db")
    async with operating(stage):
        await many(stage)

        async def under_way() -> bool:
            return sum(request.verb == "apply" for request in stage.traffic.sent) >= 20

        await eventually(under_way, within=60)
        other = {"sqlite": {"path": "other.db", "table": "tenants"}}
        await stage.hub("other", source=other)
        lone = settings(0) | {"nameTemplate": "{{ .uid }}-lone"}
        await stage.form("lone", "other", configMaps=[lone])
        began = time.monotonic()
        await node_is_ready(stage, "single-lone", within=60)
        single = time.monotonic() - began
        done = (await stage.status()).get("ready", 0)
        await all_ready(stage)
        everybody = time.monotonic() - began
    print(f"one row was ready after {single:.1f} s, all others after {everybody:.1f} s")  # noqa: T201
    assert done < NODES
    assert single < everybody
