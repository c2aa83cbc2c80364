"""What the operator asks of the API server, counted at the client."""

import asyncio
from collections import Counter

from cluster.controllers.operating import node_is_ready, operating
from cluster.controllers.stage import FORMS, Object, Stage, config_map
from cluster.local.manifests import deployment

SERVICE: Object = {
    "id": "service",
    "nameTemplate": "{{ .uid }}-service",
    "dependIds": ["app"],
    "spec": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
}


def app(**parts: object) -> Object:
    return {
        "id": "app",
        "nameTemplate": "{{ .uid }}-app",
        "dependIds": ["settings"],
        "spec": deployment("app"),
    } | parts


async def three(stage: Stage, *uids: str) -> list[str]:
    """Have a form of three resources, and these rows."""
    stage.rows(*((uid, 1, "pro") for uid in uids))
    await stage.hub()
    await stage.form(deployments=[app()], services=[SERVICE])
    return [f"{uid}-web" for uid in uids]


def about(stage: Stage, *uids: str) -> Counter[str]:
    """Count the requests about nodes of these uids and their resources."""
    return Counter(
        request.verb
        for request in stage.traffic.sent
        if any(f"/{uid}-" in request.path for uid in uids)
        or (request.verb == "create" and request.path.endswith("/lynqnodes"))
    )


async def test_a_node_costs_its_resources_and_three_requests_from_row_to_ready(
    stage: Stage,
) -> None:
    async with operating(stage):
        (name,) = await three(stage, "acme")
        await node_is_ready(stage, name)
        await stage.settles()
        costs = about(stage, "acme")
    assert costs["create"] == 1
    assert costs["apply"] == 3
    assert costs["get"] == 0
    assert costs.total() <= 3 + 3, costs


async def test_idle_nodes_cost_nothing(stage: Stage) -> None:
    async with operating(stage):
        names = await three(stage, *(f"t{number}" for number in range(20)))
        for name in names:
            await node_is_ready(stage, name, within=60)
        await stage.settles()
        before = len(stage.traffic.sent)
        await asyncio.sleep(15)
        assert stage.traffic.sent[before:] == []


async def test_a_form_change_that_touches_one_resource_applies_that_one(stage: Stage) -> None:
    async with operating(stage):
        names = await three(stage, "acme", "beta")
        for name in names:
            await node_is_ready(stage, name)
        await stage.settles()
        stage.traffic.sent.clear()
        changed = config_map("{{ .plan }} plan")
        await stage.change(FORMS, "web", {"spec": {"configMaps": [changed]}})

        for name in names:
            await node_is_ready(stage, name)
        await stage.settles()
    applied = [request.path for request in stage.traffic.sent if request.verb == "apply"]
    assert sorted(path.rpartition("/")[2] for path in applied) == [
        "acme-settings",
        "beta-settings",
    ]
    assert about(stage, "acme", "beta")["get"] == 0
