"""The page of a form: its nodes, its graph and templates, the preview, and the plan."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from browser.conftest import PHONE, OpenTab, Site, Tab
from browser.test_frame import violations
from lynq.plan.simulation import Progress, Simulation
from waiting import eventually


async def open_form(tab: Tab, name: str = "web", query: str = "") -> Page:
    """Open the page of a form, and wait until it shows the nodes."""
    page = await tab.open(f"/forms/{tab.namespace}/{name}", query)
    await expect(page.locator(".node-counts")).to_be_visible()
    return page


async def test_nodes_by_state_link_to_the_filtered_list(tab: Tab) -> None:
    page = await open_form(tab)
    await page.locator(".node-counts").get_by_role("link", name="Failed").click()
    await expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()
    table = page.get_by_role("table")
    await expect(table.get_by_role("link", name="vandelay").first).to_be_visible()
    await expect(table.get_by_role("link", name="acme")).to_have_count(0)


async def test_resource_of_the_graph_opens_its_template(tab: Tab) -> None:
    page = await open_form(tab)
    graph = page.get_by_role("region", name="Dependency graph of web")
    await expect(graph.locator(".graph-box")).to_have_count(3)
    await expect(graph.locator(".graph-edges path")).to_have_count(1)
    await graph.locator("[data-box=web]").click()
    details = page.get_by_role("complementary", name="web")
    await expect(details.locator(".yaml-template").first).to_contain_text("{{ .uid }}")
    assert await violations(page) == []


async def test_preview_shows_the_template_beside_its_result(tab: Tab) -> None:
    page = await open_form(tab)
    await page.get_by_role("tab", name="Preview").click()
    row = page.get_by_label("Row", exact=True)
    await row.fill("globex")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_text("3 resources, rendered for globex")).to_be_visible()
    template = page.get_by_role("region", name="Template of web")
    await expect(template).to_contain_text("registry.local/{{ .plan }}:1")
    result = page.get_by_role("region", name="Result of web")
    await expect(result).to_contain_text("registry.local/app:1")
    await page.locator("details.preview > summary", has_text="settings").click()
    await expect(page.get_by_role("region", name="Result of settings")).to_be_visible()


async def test_preview_of_an_unknown_row_says_what_to_do(tab: Tab) -> None:
    tab.allowed = ("404",)
    page = await open_form(tab, query="tab=preview&uid=absent")
    await expect(page.get_by_role("alert")).to_contain_text("choose another row")


async def test_plan_shows_totals_and_what_cannot_be_applied(tab: Tab) -> None:
    page = await open_form(tab)
    await page.get_by_role("tab", name="Plan").click()
    await page.get_by_role("button", name="Plan over all rows").click()
    await expect(page.get_by_role("list", name="Totals")).to_contain_text("deleted", timeout=20_000)
    await expect(page.get_by_text("Nothing was changed.")).to_be_visible()
    await expect(page.get_by_role("region", name="Cannot be applied")).to_contain_text("vandelay")
    assert await violations(page) == []


async def test_plan_shows_its_progress_and_ends_when_the_page_is_left(
    tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = asyncio.Event()

    async def endless(
        _self: Simulation, _hub: object, _rows: object, progress: Progress, *, sample: int
    ) -> None:
        progress(30, sample)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    monkeypatch.setattr(Simulation, "plan", endless)
    page = await open_form(tab, query="tab=plan")
    start = page.get_by_role("button", name="Plan over all rows")
    await start.click()
    await expect(page.get_by_text("30 of 200 nodes rendered")).to_be_visible()
    await expect(page.get_by_role("progressbar")).to_have_attribute("value", "30")
    assert await violations(page) == []
    await page.get_by_role("button", name="Cancel").click()
    await eventually(cancelled.is_set)
    cancelled.clear()
    await start.click()
    await expect(page.get_by_text("30 of 200 nodes rendered")).to_be_visible()
    await page.get_by_role("link", name="Fleet").click()
    await eventually(cancelled.is_set)


async def test_form_fits_a_phone(open_tab: OpenTab, site: Site) -> None:
    async with open_tab(site, viewport=PHONE, color_scheme="dark") as tab:
        page = await open_form(tab, query="tab=preview&uid=acme")
        await expect(page.locator("details.preview").first).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
