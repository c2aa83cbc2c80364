"""Actions: off by default, only from our own page, and with the rights of the viewer."""

from collections.abc import Callable
from typing import Any

from cluster.controllers.node.test_impersonation import create_account
from dashboard.conftest import READ, Browser, Serve, browsing
from operated.environment import HUBS, NODES, Environment
from waiting import eventually

HEADER = {"X_Lynq_Action": "true"}
WRITE = READ | {"verbs": ["get", "list", "patch"]}


def target(env: Environment, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "namespace": env.namespace, "name": name} | more


async def test_actions_are_off_by_default(
    serve: Serve, env: Environment, token_of: Callable[[str], str]
) -> None:
    async with serve() as url, browsing(url) as browser:
        await browser.login(token_of("viewer"))
        body = target(env, "Hub", "hub")
        response = await browser.post("/actions/sync", body, **HEADER)
        assert response.status == 403
        assert "--allow-actions" in (await response.json())["error"]


async def test_action_needs_login_header_and_own_origin(
    anonymous: Browser, viewer: Browser, env: Environment
) -> None:
    body = target(env, "Hub", "hub")
    assert (await anonymous.post("/actions/sync", body, **HEADER)).status == 401
    assert (await viewer.post("/actions/sync", body)).status == 403
    foreign = HEADER | {"Origin": "https://evil.example"}
    assert (await viewer.post("/actions/sync", body, **foreign)).status == 403


async def test_action_has_the_rights_of_the_viewer(viewer: Browser, env: Environment) -> None:
    response = await viewer.post("/actions/sync", target(env, "Hub", "hub"), **HEADER)
    assert response.status == 403
    assert "grant the verb patch on lynqhubs" in (await response.json())["error"]


async def test_viewer_with_rights_acts(
    dashboard: str, env: Environment, token_of: Callable[[str], str]
) -> None:
    await create_account(env, "actor", WRITE)
    async with browsing(dashboard) as browser:
        await browser.login(token_of("actor"))

        async def act(action: str, body: dict[str, Any]) -> tuple[int, str]:
            response = await browser.post(f"/actions/{action}", body, **HEADER)
            answer = await response.json()
            return response.status, answer.get("message") or answer["error"]

        hub, node = target(env, "Hub", "hub"), target(env, "Node", "acme-web")
        assert await act("sync", hub) == (200, "hub/hub sync requested")
        annotations = (await env.get(HUBS, "hub"))["metadata"]["annotations"]
        assert "lynq.sh/force-sync" in annotations
        assert await act("reconcile", node) == (200, "node/acme-web reconcile requested")
        assert await act("pause", node) == (200, "node/acme-web paused")
        assert (await act("reconcile", node))[0] == 409

        async def is_paused() -> bool:
            page = await browser.json(f"/nodes?namespace={env.namespace}&where=state=Paused")
            return [each["name"] for each in page["items"]] == ["acme-web"]

        await eventually(is_paused)
        assert await act("resume", node) == (200, "node/acme-web resumed")
        assert (await env.get(NODES, "acme-web"))["metadata"]["annotations"].get(
            "lynq.sh/paused"
        ) is None
        status, error = await act("approve", hub | {"digest": "0" * 16})
        assert (status, "nothing to approve" in error) == (409, True)
        assert (await act("sync", node))[0] == 422
        assert (await act("explode", hub))[0] == 404
        assert (await act("sync", target(env, "Hub", "absent")))[0] == 404
        assert (await act("sync", {"kind": "Pod", "namespace": "a", "name": "b"}))[0] == 400
