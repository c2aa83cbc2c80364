"""The number of API requests of the operator."""

import asyncio
import json
from collections import Counter
from datetime import timedelta

import pytest

from lynq.controllers.timing import Timing
from lynq.kube import Request, Response, Send
from operated.environment import FORMS, Environment, Object, config_map
from operated.manifests import deployment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import stays

SERVICE: Object = {
    "id": "service",
    "nameTemplate": "{{ .uid }}-service",
    "dependIds": ["app"],
    "spec": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
}


@pytest.fixture
def env(env: Environment) -> Environment:
    """The operator's own intervals: shorter ones would need more requests."""
    # A slow write or deletion would cost a status write more.
    env.timing = Timing(
        slow_kind=60, inventory_report_delay=60, deletion_report_delay=timedelta(minutes=1)
    )
    return env


def app(**parts: object) -> Object:
    return {
        "id": "app",
        "nameTemplate": "{{ .uid }}-app",
        "dependIds": ["settings"],
        "spec": deployment("app"),
    } | parts


async def create_tenants(env: Environment, *uids: str) -> list[str]:
    """Create a form with three resources and a row per uid; return the node names."""
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub()
    await env.create_form(deployments=[app()], services=[SERVICE])
    return [f"{uid}-web" for uid in uids]


def count_requests(env: Environment, *uids: str) -> Counter[str]:
    """Count the requests for nodes of these uids and their resources, by verb."""
    return Counter(
        request.verb
        for request in env.requests.sent
        if any(f"/{uid}-" in request.path for uid in uids)
        or (request.verb == "create" and request.path.endswith("/lynqnodes"))
    )


def decode(request: Request) -> Object:
    assert request.body
    decoded: Object = json.loads(request.body)
    return decoded


async def test_node_needs_one_request_per_resource_plus_three(
    env: Environment,
) -> None:
    async with running_operator(env):
        (name,) = await create_tenants(env, "acme")
        await wait_for_node_ready(env, name)
        await env.wait_until_idle()
        counts = count_requests(env, "acme")
    assert counts["create"] == 1
    assert counts["apply"] == 3
    assert counts["get"] == 0
    assert counts.total() <= 3 + 3, counts


async def test_node_that_is_ready_with_its_writes_needs_one_status_write_and_one_event(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        await env.wait_until_idle()
    assert count_requests(env, "acme") == {"create": 1, "apply": 1, "patch": 1}
    events = [decode(request) for request in env.requests.events]
    about_node = [event for event in events if event["involvedObject"]["kind"] == "LynqNode"]
    assert [event["reason"] for event in about_node] == ["TemplateAppliedSuccess"]


async def test_node_deletion_needs_one_request_per_resource_plus_two(env: Environment) -> None:
    uids = [f"t{number}" for number in range(8)]
    async with running_operator(env):
        # One row is left: an emptied table deletes nothing.
        for name in await create_tenants(env, *uids, "last"):
            await wait_for_node_ready(env, name, within=60)
        await env.wait_until_idle()
        env.requests.sent.clear()
        env.set_rows(*((uid, 0, "pro") for uid in uids), ("last", 1, "pro"))
        await env.force_sync()
        await env.wait_for_nodes("last-web")
        await env.wait_until_idle()
    # The Deployment is read after its pods are gone: a lost label looks the same to the watch.
    expected = {"delete": 1 + 3, "patch": 1, "get": 1}
    counts = count_requests(env, *uids)
    assert counts == {verb: number * len(uids) for verb, number in expected.items()}


async def test_idle_nodes_send_no_requests(env: Environment) -> None:
    async with running_operator(env):
        names = await create_tenants(env, *(f"t{number}" for number in range(20)))
        for name in names:
            await wait_for_node_ready(env, name, within=60)
        await env.wait_until_idle()
        before = len(env.requests.sent)
        await stays(lambda: env.requests.sent[before:] == [], seconds=6)


async def test_form_change_applies_only_the_changed_resource(env: Environment) -> None:
    async with running_operator(env):
        names = await create_tenants(env, "acme", "beta")
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
    assert count_requests(env, "acme", "beta")["get"] == 0


async def test_watch_events_before_their_responses_cause_no_reconcile(env: Environment) -> None:
    async def delay_response(request: Request, send: Send) -> Response:
        response = await send(request)
        if request.verb == "apply":
            # The watch event arrives meanwhile.
            await asyncio.sleep(0.3)
        return response

    env.client = env.client.intercepted(delay_response)
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env) as process:
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        await env.wait_until_idle()
    passes = "lynqnode_reconcile_duration_seconds_count"
    assert process.registry.get_sample_value(passes, {"result": "success"}) == 1
