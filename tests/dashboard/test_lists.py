"""Problems, nodes and the session, with the rights of the viewer."""

from dashboard.conftest import Browser
from operated.environment import Environment
from waiting import eventually


async def test_viewer_sees_problems_of_the_tenants(viewer: Browser, env: Environment) -> None:
    async def grouped() -> bool:
        groups = (await viewer.json(f"/problems?namespace={env.namespace}"))["groups"]
        by_kind = {group["kind"]: group for group in groups}
        assert by_kind["Hub"]["cause"] == "RowRejected"
        assert by_kind["Node"]["resourceId"] == "web"
        assert by_kind["Node"]["count"] == 1
        assert [each["name"] for each in by_kind["Node"]["examples"]] == ["beta-web"]
        return True

    await eventually(grouped)


async def test_nodes_are_filtered_sorted_and_paged_by_the_server(
    viewer: Browser, env: Environment
) -> None:
    scope = f"namespace={env.namespace}"
    first = await viewer.json(f"/nodes?{scope}&limit=1")
    assert [node["name"] for node in first["items"]] == ["acme-web"]
    assert first["total"] == 2
    second = await viewer.json(f"/nodes?{scope}&limit=1&after={first['next']}")
    assert [node["name"] for node in second["items"]] == ["beta-web"]
    assert second["next"] == ""
    backwards = await viewer.json(f"/nodes?{scope}&sort=-name")
    assert [node["name"] for node in backwards["items"]] == ["beta-web", "acme-web"]
    ready = await viewer.json(f"/nodes?{scope}&where=state=Ready")
    assert [node["uid"] for node in ready["items"]] == ["acme"]
    by_state = await viewer.json(f"/nodes?{scope}&state=ready")
    assert [node["uid"] for node in by_state["items"]] == ["acme"]
    assert (by_state["total"], by_state["counts"]["total"]) == (1, 2)
    found = await viewer.json(f"/nodes?{scope}&q=BET")
    assert [node["uid"] for node in found["items"]] == ["beta"]


async def test_group_of_problems_is_a_filter_of_nodes(viewer: Browser, env: Environment) -> None:
    groups = (await viewer.json(f"/problems?namespace={env.namespace}"))["groups"]
    key = next(group["key"] for group in groups if group["kind"] == "Node")
    page = await viewer.json(f"/nodes?group={key}")
    assert [node["name"] for node in page["items"]] == ["beta-web"]
