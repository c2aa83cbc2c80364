"""What all pages share: search, keys, themes, phone width and accessibility."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from browser.conftest import PHONE, OpenTab, Site, Tab

PAGES = {
    "problems": "/",
    "fleet": "/fleet",
    "nodes": "/nodes",
    "topology": "/topology",
    "topology-table": "/topology?view=table",
}


async def opened(tab: Tab, path: str) -> Page:
    """Open a page, and wait for its content."""
    path, _, query = path.partition("?")
    page = await tab.open(path, query)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator(".loading")).to_have_count(0)
    return page


async def violations(page: Page) -> list[str]:
    """Return what axe-core has to say against a page."""
    results = await Axe().run(page)
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in results.response["violations"]
        for node in violation["nodes"]
    ]


async def test_search_finds_a_tenant_and_opens_it_by_keyboard(tab: Tab) -> None:
    page = await opened(tab, "/")
    await page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search")
    await expect(field).to_be_focused()
    await page.keyboard.type("umbre")
    options = page.get_by_role("dialog").get_by_role("option")
    await expect(options.first).to_contain_text("umbrella")
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(
        f"{tab.site.url}/tenants/{tab.namespace}/umbrella?namespace={tab.namespace}"
    )


async def test_search_finds_an_object_and_opens_it_in_its_tenant(tab: Tab) -> None:
    page = await opened(tab, "/fleet")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    await page.keyboard.type("configmap globex-settings")
    option = page.get_by_role("dialog").get_by_role("option")
    await expect(option).to_have_count(1)
    await expect(option).to_contain_text("globex-settings")
    await expect(option).to_contain_text(f"globex · web · {tab.namespace}")
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("globex")
    details = page.get_by_role("complementary", name="settings")
    await expect(details.locator(".yaml pre").first).to_contain_text("name: globex-settings")


async def test_search_that_finds_nothing_says_what_to_do(tab: Tab) -> None:
    page = await opened(tab, "/fleet")
    await page.keyboard.press("/")
    await page.get_by_role("combobox", name="Search").fill("no-such-thing")
    await expect(page.get_by_text("Nothing matches “no-such-thing”")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_pages_are_walked_by_keyboard_only(tab: Tab) -> None:
    page = await opened(tab, "/")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.locator(".group-members").first).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await expect(page.locator(".group button").first).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page).not_to_have_url(f"{tab.site.url}/?namespace={tab.namespace}")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_theme_follows_the_system_until_the_viewer_chooses(
    open_tab: OpenTab, site: Site
) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    async with open_tab(site, color_scheme="dark") as tab:
        page = await opened(tab, "/")
        dark = await page.evaluate(background)
        await page.get_by_role("button", name="Theme: system").click()
        light = await page.evaluate(background)
        assert light != dark
        await page.reload()
        await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
        assert await page.evaluate(background) == light


async def test_page_names_the_viewer_and_the_rights_of_the_kubeconfig(tab: Tab) -> None:
    page = await opened(tab, "/")
    await expect(page.get_by_text("Rights of the kubeconfig")).to_be_visible()
    await expect(page.get_by_text("lynq-test")).to_be_visible()


async def test_chosen_namespace_stays_on_the_next_page(tab: Tab) -> None:
    page = await opened(tab, "/")
    chooser = page.get_by_role("combobox", name="Namespace")
    await expect(chooser).to_have_value(tab.namespace)
    await page.get_by_role("link", name="Nodes", exact=True).click()
    await expect(page).to_have_url(f"{tab.site.url}/nodes?namespace={tab.namespace}")
    await chooser.select_option("")
    await expect(page).to_have_url(f"{tab.site.url}/nodes")


@pytest.mark.parametrize("name", PAGES)
async def test_page_fits_a_phone(open_tab: OpenTab, site: Site, name: str) -> None:
    async with open_tab(site, viewport=PHONE, has_touch=True) as tab:
        page = await opened(tab, PAGES[name])
        excess = "document.documentElement.scrollWidth - window.innerWidth"
        assert await page.evaluate(excess) <= 0
        navigation = await page.get_by_role("navigation", name="Pages").bounding_box()
        assert navigation
        assert navigation["y"] + navigation["height"] == PHONE["height"]
        assert await violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_have_no_violation_of_wcag(open_tab: OpenTab, site: Site, scheme: str) -> None:
    async with open_tab(site, color_scheme=scheme) as tab:
        for path in PAGES.values():
            page = await opened(tab, path)
            if path == "/":
                await page.locator(".group button").first.click()
            assert await violations(page) == [], path
        await page.keyboard.press("?")
        assert await violations(page) == []
