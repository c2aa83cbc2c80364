"""The pages of one tenant, form and hub, and of the fleet."""

import asyncio
import json
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from dashboard.conftest import Browser
from lynq.kube.errors import ConnectionFailed
from lynq.plan.simulation import Simulation
from operated.environment import Environment
from waiting import eventually


async def test_problem_names_what_the_pods_say(admin: Browser, env: Environment) -> None:
    async def named() -> bool:
        groups = (await admin.json(f"/problems?namespace={env.namespace}"))["groups"]
        titles = [group["title"] for group in groups if group["kind"] == "Node"]
        assert titles in (["ImagePullBackOff in web"], ["ErrImagePull in web"]), titles
        return True

    await eventually(named)


async def test_fleet_counts_nodes_by_hub_and_form(viewer: Browser, env: Environment) -> None:
    fleet = await viewer.json(f"/fleet?namespace={env.namespace}")
    (hub,) = fleet["hubs"]
    assert (hub["hub"]["name"], hub["rejected"], hub["held"]) == ("hub", 1, 0)
    (cell,) = hub["forms"]
    assert cell["form"]["name"] == "web"
    assert cell["nodes"]["total"] == 2
    assert fleet["nodes"]["ready"] == 1


async def test_tenant_has_causes_resources_row_and_timeline(
    admin: Browser, env: Environment
) -> None:
    tenant = await admin.json(f"/tenants/{env.namespace}/beta")
    (node,) = tenant["nodes"]
    assert node["summary"]["name"] == "beta-web"
    assert node["causes"][0]["resourceId"] == "web"
    assert node["causes"][0]["documentation"].startswith("docs/troubleshooting/")
    levels = {each["id"]: each["level"] for each in node["resources"]}
    assert (levels["web"], levels["svc"]) == (0, 1)
    values = {each["variable"]: each["value"] for each in tenant["row"]}
    assert values["plan"] == "nonexistent"
    assert any(entry["subject"] == "LynqNode/beta-web" for entry in tenant["timeline"])


async def test_rejected_row_explains_that_it_has_no_node(viewer: Browser, env: Environment) -> None:
    response = await viewer.get(f"/api/v2/tenants/{env.namespace}/Gamma")
    assert response.status == 404
    assert "rejected the row" in (await response.json())["error"]


async def test_form_shows_templates_and_the_preview_of_a_row(
    viewer: Browser, env: Environment
) -> None:
    form = await viewer.json(f"/forms/{env.namespace}/web")
    assert "{{ .plan }}" in form["templates"]["web"]
    assert form["uids"] == ["acme", "beta"]
    assert {each["variable"] for each in form["variables"]} >= {"uid", "plan"}
    preview = await viewer.json(f"/forms/{env.namespace}/web/preview?uid=beta")
    results = {each["id"]: each for each in preview["resources"]}
    assert "registry.local/nonexistent:1" in results["web"]["result"]
    assert not any(each["error"] for each in results.values())


async def test_hub_shows_source_rows_and_rejected_rows(viewer: Browser, env: Environment) -> None:
    hub = await viewer.json(f"/hubs/{env.namespace}/hub")
    assert hub["source"]["table"] == "tenants"
    assert [row["uid"] for row in hub["rejected"]] == ["Gamma"]
    rows = await viewer.json(f"/hubs/{env.namespace}/hub/rows")
    assert [row["uid"] for row in rows["items"]] == ["acme", "beta"]
    assert rows["items"][0]["values"]["plan"] == "app"
    assert rows["items"][0]["nodes"][0]["name"] == "acme-web"


async def test_object_has_yaml_folded_managed_fields_and_differences(
    admin: Browser, env: Environment
) -> None:
    where = f"apiVersion=apps/v1&kind=Deployment&namespace={env.namespace}&name=acme-web"
    shown = await admin.json(f"/objects?{where}&node=acme-web")
    assert "kind: Deployment" in shown["yaml"]
    assert "managedFields" not in shown["yaml"]
    assert "lynq-operator" in shown["managedFields"]
    assert shown["differences"] == []


async def test_plan_has_only_what_waits_for_the_broken_tenant(
    admin: Browser, env: Environment
) -> None:
    plan = (await admin.json(f"/hubs/{env.namespace}/hub/plan"))["plan"]
    assert plan["schema"] == "lynq.sh/plan/v1"
    created = [(change["action"], change["kind"], change["name"]) for change in plan["changes"]]
    assert created == [("Create", "Service", "beta-web")]
    of_form = (await admin.json(f"/forms/{env.namespace}/web/plan"))["plan"]
    assert [change["name"] for change in of_form["changes"]] == ["beta-web"]


async def plan_lines(browser: Browser, path: str) -> list[Any]:
    """Return the lines of a plan that shows its progress."""
    response = await browser.get(f"/api/v2{path}?progress=true")
    assert response.status == 200, await response.text()
    assert response.headers["Content-Security-Policy"]
    return [json.loads(line) for line in (await response.text()).splitlines()]


async def test_plan_reports_how_many_nodes_are_done(admin: Browser, env: Environment) -> None:
    *before, last = await plan_lines(admin, f"/forms/{env.namespace}/web/plan")
    assert [change["name"] for change in last["view"]["plan"]["changes"]] == ["beta-web"]
    assert all(line["progress"]["done"] <= line["progress"]["total"] for line in before)


async def test_error_of_a_long_plan_is_its_last_line(
    admin: Browser, env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_args: object, **_options: object) -> None:
        await asyncio.sleep(0.5)
        raise ConnectionFailed("the API server does not answer")

    monkeypatch.setattr(Simulation, "plan", fail)
    *before, last = await plan_lines(admin, f"/hubs/{env.namespace}/hub/plan")
    assert before[-1]["progress"]["phase"] == "Reading"
    assert last["error"] == "the API server does not answer"


async def test_server_logs_while_a_plan_is_computed(admin: Browser, env: Environment) -> None:
    log = structlog.get_logger("test")
    written = 0
    with capture_logs() as lines:
        plan = asyncio.ensure_future(admin.json(f"/hubs/{env.namespace}/hub/plan"))
        while not plan.done():
            log.info("served")
            written += 1
            await asyncio.sleep(0.01)
    assert (await plan)["plan"]["changes"]
    assert [line["event"] for line in lines].count("served") == written > 1


async def test_search_finds_the_tenant_first(viewer: Browser) -> None:
    hits = (await viewer.json("/search?q=beta"))["items"]
    assert (hits[0]["kind"], hits[0]["summary"]["uid"]) == ("Node", "beta")
    assert (await viewer.json("/search?q="))["items"] == []


async def test_search_finds_objects_by_kind_namespace_and_name(
    viewer: Browser, env: Environment
) -> None:
    for text in (f"deployment {env.namespace}/acme-web", "Deployment/acme-web"):
        hit, *_ = (await viewer.json(f"/search?q={text}"))["items"]
        assert (hit["kind"], hit["namespace"], hit["name"]) == (
            "Deployment",
            env.namespace,
            "acme-web",
        )
        assert (hit["resourceId"], hit["summary"]["name"]) == ("web", "acme-web")
    # The node itself comes before its objects.
    kinds = [hit["kind"] for hit in (await viewer.json("/search?q=acme-web"))["items"]]
    assert kinds[0] == "Node"
    assert set(kinds[1:]) == {"Deployment", "Service"}


async def test_search_finds_a_rejected_row(viewer: Browser) -> None:
    (hit,) = (await viewer.json("/search?q=gamma"))["items"]
    assert (hit["kind"], hit["name"], hit["summary"]["kind"]) == ("Row", "Gamma", "Hub")


async def test_search_has_at_most_twenty_hits(viewer: Browser) -> None:
    assert 0 < len((await viewer.json("/search?q=a"))["items"]) <= 20


async def test_topology_draws_hub_form_nodes_and_focused_resources(
    viewer: Browser, env: Environment
) -> None:
    drawn = await viewer.json(f"/topology?namespace={env.namespace}")
    types = sorted(shape["type"] for shape in drawn["shapes"])
    assert types == ["Form", "Hub", "Node", "Node"]
    assert len(drawn["edges"]) == 3
    problems = await viewer.json(f"/topology?namespace={env.namespace}&problems=true")
    assert [shape["name"] for shape in problems["shapes"] if shape["type"] == "Node"] == [
        "beta-web"
    ]
    focus = f"node:{env.namespace}/beta-web"
    focused = await viewer.json(f"/topology?namespace={env.namespace}&focus={focus}")
    assert sum(shape["type"] == "Resource" for shape in focused["shapes"]) == 3


async def test_legacy_endpoints_answer_as_the_go_dashboard_did(
    viewer: Browser, env: Environment
) -> None:
    async def legacy(path: str) -> Any:
        response = await viewer.get(f"/api/v1{path}")
        assert response.status == 200, (path, await response.text())
        return await response.json()

    for kind, names in {
        "hubs": ["hub"],
        "forms": ["web"],
        "nodes": ["acme-web", "beta-web"],
    }.items():
        listed = await legacy(f"/{kind}?namespace={env.namespace}")
        assert [each["metadata"]["name"] for each in listed["items"]] == names
    await legacy("/hubs/hub/nodes")
    await legacy("/forms/web/details")
    await legacy("/nodes/acme-web")
    resources = await legacy("/nodes/acme-web/resources")
    assert all("error" in each for each in resources["resources"])
    drawn = await legacy("/topology")
    assert {shape["type"] for shape in drawn["nodes"]} == {"hub", "form", "node", "resource"}
