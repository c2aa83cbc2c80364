"""Markup in every field that a row, a form, an event or an address can reach is text on every page.

The content security policy would stop most scripts; here no element may come from a value at all.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from browser.conftest import OpenTab, Site, Tab
from browser.fleet import MARKUP, Row, write_rows
from lynq.kube.resource import CONFIG_MAPS, EVENTS
from operated.environment import FORMS, HUBS, NODES, Environment
from waiting import eventually

FILE = f"{MARKUP}.db"
WATCH = """
window.violated = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violated.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
FOREIGN = """() => {
  const selector = "img:not([src='/icon.svg']), iframe, object, embed, script:not([src])";
  const foreign = [...document.querySelectorAll(selector)];
  const all = [...document.querySelectorAll("*")];
  const attributes = all.flatMap((element) => [...element.attributes]);
  const handlers = attributes.filter(
    ({ name, value }) => name.startsWith("on") || /^\\s*javascript:/i.test(value),
  );
  return [...foreign.map((each) => each.outerHTML), ...handlers.map((each) => each.name)];
}"""
"""What no page of the dashboard has by itself: images, inline scripts and handlers."""


@pytest.fixture
async def markup(env: Environment) -> AsyncIterator[None]:
    """A hub and a form of which every free text is markup, and an event about their node."""
    rows = (
        Row("styled", label="good", note=MARKUP),
        Row("refused", label=MARKUP, note=MARKUP),
        Row(MARKUP),
    )
    write_rows(env, rows, FILE)
    source = {"sqlite": {"path": FILE, "table": "tenants"}}
    columns = {"plan": "plan", "label": "label", "note": "note"}
    await env.create_hub("markup", source=source, extraValueMappings=columns)
    absent = {"sqlite": {"path": f"absent {FILE}", "table": "tenants"}}
    await env.create_hub("markup-absent", source=absent)
    labels = {"tier": "{{ .label }}"}
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"labels": labels, "annotations": {"note": "{{ .note }}"}},
        "data": {"note": "{{ .note }}", "text": MARKUP},
    }
    entry = {"id": MARKUP, "nameTemplate": "{{ .uid }}-markup", "spec": manifest}
    broken = {"id": "broken", "nameTemplate": "{{ .uid }}", "spec": manifest | {"kind": MARKUP}}
    await env.create_form("markup", "markup", configMaps=[entry])
    await env.create_form("broken-markup", "markup", manifests=[broken])

    async def settled() -> bool:
        nodes = await env.nodes()
        assert (await env.status("markup")).get("rejectedRows", {}).get("count") == 1
        for name, state in expected.items():
            resources = nodes.get(name, {}).get("status", {}).get("resources", [])
            assert [each["state"] for each in resources] == [state], name
        return True

    expected = {"styled-markup": "Ready", "refused-markup": "Failed"}
    await eventually(settled, within=30)
    await env.client.create(EVENTS, event(env.namespace, "styled-markup"), env.namespace)
    change = {"data": {"note": "edited"}}
    await env.client.patch(CONFIG_MAPS, "styled-markup", change, env.namespace, manager=MARKUP)
    yield
    for name in ("markup", "broken-markup"):
        await env.client.delete(FORMS, name, env.namespace)
    for name in ("markup", "markup-absent"):
        await env.client.delete(HUBS, name, env.namespace)
    for name in expected:
        await env.wait_for_deletion(NODES, name)


def event(namespace: str, node: str) -> dict[str, Any]:
    """Return an event about a node with markup in every text."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    involved = {"kind": "LynqNode", "namespace": namespace, "name": node}
    return {
        "metadata": {"name": "markup"},
        "involvedObject": involved,
        "reason": MARKUP,
        "message": MARKUP,
        "type": "Warning",
        "source": {"component": MARKUP},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


async def check(page: Page) -> None:
    """Fail if a value has become an element, has run, or was stopped by the policy only."""
    assert await page.evaluate("window.injected") is None
    assert await page.evaluate("window.violated") == []
    assert await page.evaluate(FOREIGN) == []


async def show(tab: Tab, path: str, query: str = "", within: str = "main") -> Page:
    """Open a page, wait until it shows the markup as text, and check it."""
    page = await tab.open(path, query)
    await expect(page.locator(within).get_by_text(MARKUP).first).to_be_attached(timeout=20_000)
    await check(page)
    return page


@pytest.mark.usefixtures("markup")
async def test_markup_is_text_in_every_field_of_every_page(open_tab: OpenTab, site: Site) -> None:
    async with open_tab(site) as tab:
        await tab.page.add_init_script(WATCH)
        tab.allowed = ("404",)
        place, value = tab.namespace, quote(MARKUP, safe="")
        page = await show(tab, "/")
        for group in await page.locator(".group button").all():
            await group.click()
        await check(page)
        await show(tab, "/nodes")
        await show(tab, f"/hubs/{place}/markup")
        await show(tab, f"/tenants/{place}/styled")
        await show(tab, f"/tenants/{place}/refused")
        page = await show(tab, f"/tenants/{place}/styled", f"resource=styled-markup:{value}")
        await page.get_by_role("tab", name="Differences").click()
        await expect(page.locator(".diff li").first).to_contain_text(MARKUP)
        await check(page)
        await show(tab, f"/forms/{place}/markup")
        await show(tab, f"/forms/{place}/markup", f"resource={value}")
        await show(tab, f"/forms/{place}/broken-markup")
        await show(tab, f"/forms/{place}/markup", "tab=preview&uid=styled")
        for form in ("forms", "hubs"):
            page = await tab.open(f"/{form}/{place}/markup", "tab=plan")
            await page.get_by_role("button", name="Plan over all rows").click()
            await expect(page.get_by_text("Nothing was changed.")).to_be_visible(timeout=20_000)
            await expect(page.locator("main").get_by_text(MARKUP).first).to_be_attached()
            await check(page)
        await show(tab, "/fleet")
        for query in ("", "view=table", f"focus=node:{place}/styled-markup"):
            # The topology shows names only, and the API server allows no markup in them.
            page = await tab.open("/topology", query)
            await expect(page.get_by_text("markup").first).to_be_attached()
            await check(page)


async def test_markup_in_the_address_and_in_fields_of_the_page_is_text(
    open_tab: OpenTab, site: Site
) -> None:
    async with open_tab(site) as tab:
        await tab.page.add_init_script(WATCH)
        tab.allowed = ("400", "404")
        value = quote(MARKUP, safe="")
        await show(tab, f"/tenants/{tab.namespace}/{value}")
        await show(tab, f"/forms/{tab.namespace}/{value}")
        await show(tab, f"/hubs/{tab.namespace}/{value}")
        paths = ("/", "/fleet", "/nodes", "/topology", "/absent", f"/{value}")
        for path in paths:
            for names in (("q", "tab", "resource", "focus", "view"), ("sort", "state", "group")):
                page = await tab.open(path, "&".join(f"{name}={value}" for name in names))
                await expect(page.get_by_role("heading", level=1)).to_be_visible()
                await expect(page.locator(".loading")).to_have_count(0)
                await check(page)
        await page.goto(f"{site.url}/?namespace={value}")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.keyboard.press("/")
        field = page.get_by_role("combobox", name="Search")
        await field.fill(MARKUP)
        # The hub of an earlier test may still be being deleted.
        rejected = page.get_by_role("option", name="rejected by").first
        await expect(rejected).to_contain_text(MARKUP)
        await check(page)
        await field.fill(f"{MARKUP} absent")
        await expect(page.get_by_text("Nothing matches")).to_contain_text(MARKUP)
        await check(page)
