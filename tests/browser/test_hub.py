"""The page of a hub: its source, rows, rejected rows, and the approval of held deletions."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from browser.conftest import PHONE, OpenTab, Site, Tab
from browser.fleet import MARKUP, PARTNERS, Row, hold_deletions, write_rows
from browser.test_frame import violations
from operated.environment import FORMS, HUBS, Environment
from waiting import eventually


async def open_hub(tab: Tab, name: str, query: str = "") -> Page:
    """Open the page of a hub, and wait until it shows the source."""
    page = await tab.open(f"/hubs/{tab.namespace}/{name}", query)
    await expect(page.get_by_role("heading", name="Source")).to_be_visible()
    return page


@pytest.fixture
async def held(env: Environment) -> AsyncIterator[None]:
    """The guard of the hub partners holds deletions; afterwards all rows and nodes are back."""
    await hold_deletions(env)
    yield
    write_rows(env, PARTNERS, "partners.db")
    await env.force_sync("partners")
    expected = {f"{row.uid}-portal" for row in PARTNERS}

    async def restored() -> bool:
        assert expected <= set(await env.node_names())
        return (await env.condition("DeletionHeld", "partners")).get("status") != "True"

    await eventually(restored, within=20)


async def test_rows_have_their_nodes_and_are_searched_on_the_server(tab: Tab) -> None:
    page = await open_hub(tab, "customers")
    rows = page.get_by_role("table", name="Rows as the hub read them")
    failed = rows.get_by_role("row").filter(has_text="vandelay")
    await expect(failed).to_contain_text("Failed")
    await expect(failed).to_contain_text(MARKUP)
    await page.get_by_label("Search the rows").fill("glob")
    await expect(rows.get_by_role("row")).to_have_count(2)
    await rows.get_by_role("link", name="globex").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("globex")


async def test_rejected_rows_have_their_reasons_as_text(tab: Tab) -> None:
    page = await open_hub(tab, "customers")
    rejected = page.get_by_role("table", name="Rejected rows and why")
    await expect(rejected).to_contain_text(MARKUP)
    assert await violations(page) == []
    assert await page.evaluate("window.injected") is None


async def test_unreadable_source_says_why(tab: Tab) -> None:
    page = await open_hub(tab, "previews")
    await expect(page.locator(".notice").first).to_contain_text("previews.db")


@pytest.mark.usefixtures("held")
async def test_approval_deletes_exactly_what_the_dialog_lists(tab: Tab, env: Environment) -> None:
    page = await open_hub(tab, "partners")
    held = page.get_by_role("region", name="Held deletions")
    await expect(held).to_contain_text("The deletion of 3 nodes is held")
    await expect(held.get_by_role("link")).to_have_count(3)
    await held.get_by_role("button", name="Approve the deletion").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("listitem")).to_have_count(3)
    delete = dialog.get_by_role("button", name="Delete 3 nodes")
    await expect(delete).to_be_disabled()
    assert await violations(page) == []
    await dialog.get_by_role("textbox").fill("customers")
    await expect(delete).to_be_disabled()
    await dialog.get_by_role("textbox").fill("partners")
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    await expect(held).to_have_count(0, timeout=20_000)

    async def deleted() -> bool:
        names = await env.node_names()
        return [name for name in names if name.endswith("-portal")] == ["partner-1-portal"]

    await eventually(deleted, within=20)


@pytest.mark.usefixtures("held")
async def test_approval_of_a_set_that_has_changed_is_refused(tab: Tab, env: Environment) -> None:
    tab.allowed = ("409",)
    page = await open_hub(tab, "partners")
    await page.get_by_role("button", name="Approve the deletion").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox").fill("partners")
    write_rows(env, PARTNERS[:2], "partners.db")
    await env.force_sync("partners")
    await expect(dialog).to_contain_text("The set has changed")
    await expect(dialog.get_by_role("textbox")).to_have_value("partners")
    await dialog.get_by_role("button", name="Delete 3 nodes").click()
    await expect(dialog).to_contain_text("digest")
    await expect(dialog.get_by_role("alert").last).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("The deletion of 2 nodes is held")).to_be_visible()


@pytest.fixture
async def crowd(env: Environment) -> AsyncIterator[list[Row]]:
    """A hub with 30 nodes, more than its status names."""
    rows = [Row(f"member-{number:02}") for number in range(30)]
    write_rows(env, rows, "crowd.db")
    source = {"sqlite": {"path": "crowd.db", "table": "tenants"}}
    await env.create_hub("crowd", source=source, deletionGuard={"maxCount": 1, "maxPercent": 10})
    await env.create_form("crowd", "crowd")

    async def created() -> bool:
        return len([name for name in await env.node_names() if name.endswith("-crowd")]) == len(
            rows
        )

    await eventually(created, within=30)
    yield rows
    await env.client.delete(FORMS, "crowd", env.namespace)
    await env.client.delete(HUBS, "crowd", env.namespace)


async def test_all_held_deletions_are_listed_or_the_command_that_lists_them(
    tab: Tab, env: Environment, crowd: list[Row]
) -> None:
    write_rows(env, [crowd[-1]], "crowd.db")
    await env.force_sync("crowd")
    await env.wait_for_condition("DeletionHeld", "True", "crowd")
    page = await open_hub(tab, "crowd")
    held = page.get_by_role("region", name="Held deletions")
    await expect(held).to_contain_text("The deletion of 29 nodes is held")
    await expect(held).to_contain_text("And 9 more.")
    command = f"lynq plan --hub crowd -n {tab.namespace} --all"
    await expect(held.locator(".command code").first).to_have_text(command)
    await held.get_by_role("button", name="Approve the deletion").click()
    await expect(page.get_by_role("dialog")).to_contain_text("And 9 more.")
    await page.keyboard.press("Escape")
    # The digest proves the names if no row is left.
    write_rows(env, [], "crowd.db")
    await env.force_sync("crowd")
    await expect(held).to_contain_text("The deletion of 30 nodes is held")
    await expect(held).not_to_contain_text("more.")
    await held.get_by_role("button", name="Next").click()
    await expect(held.get_by_role("link", name="member-29-crowd")).to_be_visible()
    await held.get_by_role("button", name="Approve the deletion").click()
    await expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(30)
    assert await violations(page) == []


@pytest.mark.usefixtures("held")
async def test_server_without_actions_shows_the_command(
    open_tab: OpenTab, quiet_site: Site
) -> None:
    async with open_tab(quiet_site, viewport=PHONE, color_scheme="dark") as tab:
        page = await open_hub(tab, "partners")
        command = page.locator(".held-panel .command code")
        await expect(command).to_contain_text(f"lynq approve partners -n {tab.namespace} --digest")
        await expect(page.get_by_role("button", name="Approve the deletion")).to_have_count(0)
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


async def test_sync_asks_first(tab: Tab) -> None:
    page = await open_hub(tab, "customers")
    await page.get_by_role("button", name="Sync now").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("the deletion guard applies")
    await dialog.get_by_role("button", name="Sync now").click()
    await expect(page.get_by_text("hub/customers sync requested")).to_be_visible()
