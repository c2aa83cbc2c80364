"""The pages over many nodes: fleet, nodes, topology."""

import pytest
from playwright.async_api import expect

from browser.conftest import Tab
from browser.fleet import LONG_NAME, PARTNERS, ROWS, Row, hold_deletions, write_rows
from operated.environment import Environment

MOST_ELEMENTS = 3_000
MOST_SHAPES = 300


async def test_fleet_shows_every_hub_with_the_counts_of_its_forms(tab: Tab) -> None:
    page = await tab.open("/fleet")
    customers = page.locator("section.panel").filter(has=page.get_by_role("link", name="customers"))
    await expect(customers).to_contain_text("rejected1")
    web = customers.get_by_role("listitem").filter(has=page.get_by_role("link", name="web"))
    await expect(web).to_contain_text("9 of 13 ready")
    previews = page.locator("section.panel").filter(has=page.get_by_role("link", name="previews"))
    await expect(previews).to_contain_text("the file does not exist")
    await expect(previews).to_contain_text("No form uses this hub")


async def test_fleet_draws_how_long_rows_take_to_become_ready(tab: Tab, env: Environment) -> None:
    page = await tab.open("/fleet")
    write_rows(env, (*ROWS, Row("gringotts")))
    await env.force_sync("customers")
    chart = page.locator("figure.chart")
    await expect(chart.get_by_role("img")).to_be_visible(timeout=20_000)
    await expect(chart.locator("table tbody tr").first).to_be_attached()
    write_rows(env, ROWS)
    await env.force_sync("customers")


async def test_held_deletions_appear_and_lead_to_their_hub(tab: Tab, env: Environment) -> None:
    page = await tab.open("/fleet")
    await hold_deletions(env)
    await expect(page.get_by_text("3 deletions are held by the deletion guard.")).to_be_visible()
    await page.get_by_role("link", name="Review", exact=True).click()
    await expect(page).to_have_url(
        f"{tab.site.url}/hubs/{tab.namespace}/partners?namespace={tab.namespace}"
    )
    write_rows(env, PARTNERS, "partners.db")
    await env.force_sync("partners")
    await env.wait_for_condition("DeletionHeld", "False", "partners")


async def test_nodes_are_filtered_by_text_by_term_and_by_state(tab: Tab) -> None:
    page = await tab.open("/nodes")
    rows = page.locator("tbody tr")
    field = page.get_by_role("searchbox")
    await field.fill("form=web wa")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("wayne")
    await page.reload()
    await expect(rows).to_have_count(1)
    await field.fill("form=web")
    failed = page.get_by_role("button", name="Failed")
    all_states = page.get_by_role("button", name="All")
    await expect(all_states).to_contain_text("13")
    await failed.click()
    await expect(failed).to_have_attribute("aria-pressed", "true")
    await expect(all_states).to_contain_text("13")
    await expect(rows.first).to_contain_text("vandelay")
    await field.fill("form=nothing")
    await expect(page.get_by_text("No node matches")).to_be_visible()


async def test_nodes_are_sorted_and_long_names_are_cut(tab: Tab) -> None:
    page = await tab.open("/nodes", "q=form=profile")
    names = page.locator("tbody .cell-tenant")
    await expect(names.first).to_have_text("acme")
    header = page.get_by_role("columnheader", name="Tenant")
    await header.get_by_role("button").click()
    await header.get_by_role("button").click()
    await expect(header).to_have_attribute("aria-sort", "descending")
    await expect(names.first).to_have_text("wonka")
    name = page.get_by_role("link", name=LONG_NAME)
    assert LONG_NAME in (await name.get_attribute("title") or "")
    assert await page.evaluate("document.querySelectorAll('*').length") < MOST_ELEMENTS


async def test_list_does_not_jump_while_the_viewer_points_at_it(tab: Tab, env: Environment) -> None:
    page = await tab.open("/nodes", "q=form=profile")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(13)
    await rows.nth(3).hover()
    write_rows(env, (Row("aaa"), *ROWS))
    await env.force_sync("customers")
    show = page.get_by_role("button", name="Show the changes")
    await expect(show).to_be_visible(timeout=20_000)
    await expect(rows.first).to_contain_text("acme")
    await show.click()
    await expect(rows.first).to_contain_text("aaa")
    await page.mouse.move(0, 0)
    write_rows(env, ROWS)
    await env.force_sync("customers")
    await expect(rows.first).to_contain_text("acme", timeout=20_000)


async def test_topology_draws_hubs_forms_and_nodes_and_finds_them(tab: Tab) -> None:
    page = await tab.open("/topology")
    shapes = page.locator(".shape")
    await expect(page.get_by_role("link", name="Hub customers")).to_be_visible()
    await expect(page.get_by_role("link", name="Form web")).to_be_visible()
    assert 5 < await shapes.count() <= MOST_SHAPES
    await page.get_by_role("button", name="Problems only").click()
    await expect(page.get_by_role("link", name="Form portal")).to_have_count(0)
    await expect(page.get_by_role("link", name="Form web")).to_be_visible()
    await page.get_by_role("button", name="Problems only").click()
    await page.get_by_role("searchbox").fill("umbrella")
    node = page.get_by_role("link", name="Node umbrella-web")
    await node.click()
    await expect(page.locator(".shape-resource").first).to_be_visible()
    await expect(node).to_have_attribute("href", f"/tenants/{tab.namespace}/umbrella")
    await expect(page.get_by_role("link", name="Form portal")).to_have_count(0)


async def test_topology_is_reached_by_keyboard_and_has_a_table(tab: Tab) -> None:
    page = await tab.open("/topology")
    hub = page.get_by_role("link", name="Hub customers")
    await expect(hub).to_be_visible()
    await hub.focus()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(
        f"{tab.site.url}/hubs/{tab.namespace}/customers?namespace={tab.namespace}"
    )
    await page.go_back()
    await page.get_by_role("button", name="Table").click()
    table = page.get_by_role("table")
    await expect(table.get_by_role("row").filter(has_text="customers")).to_contain_text("Hub")


@pytest.mark.parametrize("path", ["/fleet", "/nodes", "/topology"])
async def test_empty_namespace_has_a_sentence_on_every_list(tab: Tab, path: str) -> None:
    await tab.page.goto(f"{tab.site.url}{path}?namespace=default")
    await expect(tab.page.locator(".empty")).to_be_visible()
