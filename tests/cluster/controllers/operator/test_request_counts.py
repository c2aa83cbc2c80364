"""What the operator asks of the API server, counted at the client."""

import asyncio
from collections import Counter

from cluster.controllers.environment import FORMS, Environment, Object, config_map
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
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


async def three(env: Environment, *uids: str) -> list[str]:
    """Have a form of three resources, and these rows."""
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub()
    await env.create_form(deployments=[app()], services=[SERVICE])
    return [f"{uid}-web" for uid in uids]


def about(env: Environment, *uids: str) -> Counter[str]:
    """Count the requests about nodes of these uids and their resources."""
    return Counter(
        request.verb
        for request in env.requests.sent
        if any(f"/{uid}-" in request.path for uid in uids)
        or (request.verb == "create" and request.path.endswith("/lynqnodes"))
    )


async def test_node_needs_one_request_per_resource_plus_three(
    env: Environment,
) -> None:
    async with running_operator(env):
        (name,) = await three(env, "acme")
        await wait_for_node_ready(env, name)
        await env.wait_until_idle()
        costs = about(env, "acme")
    assert costs["create"] == 1
    assert costs["apply"] == 3
    assert costs["get"] == 0
    assert costs.total() <= 3 + 3, costs


async def test_idle_nodes_send_no_requests(env: Environment) -> None:
    async with running_operator(env):
        names = await three(env, *(f"t{number}" for number in range(20)))
        for name in names:
            await wait_for_node_ready(env, name, within=60)
        await env.wait_until_idle()
        before = len(env.requests.sent)
        await asyncio.sleep(15)
        assert env.requests.sent[before:] == []


async def test_form_change_applies_only_the_changed_resource(env: Environment) -> None:
    async with running_operator(env):
        names = await three(env, "acme", "beta")
        for name in names:
            await wait_for_node_ready(env, name)
        await env.wait_until_idle()
        env.requests.sent.clear()
        changed = config_map("{{ .plan }} plan")
        await env.patch(FORMS, "web", {"spec": {"configMaps": [changed]}})

        for name in names:
            await wait_for_node_ready(env, name)
        await env.wait_until_idle()
    applied = [request.path for request in env.requests.sent if request.verb == "apply"]
    assert sorted(path.rpartition("/")[2] for path in applied) == [
        "acme-settings",
        "beta-settings",
    ]
    assert about(env, "acme", "beta")["get"] == 0
