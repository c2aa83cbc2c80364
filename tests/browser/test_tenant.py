"""The page of a tenant: the root cause first, the graph, details, differences, the row, actions."""

from playwright.async_api import Page, expect

from browser.conftest import DOCS, PHONE, OpenTab, Site, Tab
from browser.fleet import LONG_NAME, MARKUP
from browser.test_frame import violations
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import NODES, Environment


async def open_tenant(tab: Tab, uid: str, query: str = "") -> Page:
    """Open the page of a tenant, and wait until it shows the nodes."""
    page = await tab.open(f"/tenants/{tab.namespace}/{uid}", query)
    await expect(page.get_by_role("heading", level=1)).to_have_text(uid)
    await expect(page.locator(".resources").first).to_be_visible()
    return page


async def test_root_cause_names_its_column_and_the_next_step(tab: Tab) -> None:
    page = await open_tenant(tab, "cyberdyne")
    cause = page.locator(".cause").first
    await expect(cause).to_contain_text(f"Deployment {tab.namespace}/cyberdyne-web")
    await expect(cause).to_contain_text("ImagePull")
    await expect(cause.locator(".origins")).to_contain_text("column plan, value nonexistent")
    await expect(cause).to_contain_text("Waiting")
    await expect(cause).to_contain_text("causes.md#containerfailing")
    await expect(cause.locator(".command code").first).to_contain_text("lynq plan --hub customers")
    await expect(page.locator(".headline")).to_contain_text("Progressing")
    assert await violations(page) == []


async def test_causes_and_help_link_to_the_documentation(
    open_tab: OpenTab, quiet_site: Site
) -> None:
    async with open_tab(quiet_site) as tab:
        page = await open_tenant(tab, "cyberdyne")
        link = page.locator(".cause").first.get_by_role("link", name="What it means")
        cause = f"{DOCS}/troubleshooting/causes/#containerfailing"
        await expect(link).to_have_attribute("href", cause)
        await page.keyboard.press("?")
        guide = page.get_by_role("dialog").get_by_role("link", name="The guide")
        await expect(guide).to_have_attribute("href", f"{DOCS}/how-to/dashboard/")
        assert await violations(page) == []


async def test_command_of_a_next_step_is_copied(tab: Tab) -> None:
    await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await open_tenant(tab, "cyberdyne")
    command = page.locator(".cause .command").first
    await command.get_by_role("button").click()
    await expect(command.get_by_role("button")).to_have_text("Copied")
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await command.locator("code").inner_text()


async def test_tenant_shows_its_row_all_forms_and_a_timeline(tab: Tab) -> None:
    page = await open_tenant(tab, "acme")
    for form in ("web", "profile"):
        await expect(page.get_by_role("link", name=form, exact=True)).to_be_visible()
    await expect(page.locator(".values")).to_contain_text("app")
    await expect(page.locator(".timeline li").first).to_be_visible()
    await expect(page.locator(".cause-cause")).to_have_count(0)


async def test_graph_is_walked_by_keyboard_and_opens_details(tab: Tab) -> None:
    page = await open_tenant(tab, "acme")
    graph = page.get_by_role("region", name="Dependency graph of acme-web")
    box = graph.locator("[data-box=web]")
    await box.focus()
    await page.keyboard.press("ArrowRight")
    await expect(graph.locator("[data-box=svc]")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Enter")
    details = page.get_by_role("complementary", name="web")
    await expect(details.get_by_role("heading", name="web")).to_be_focused()
    await expect(details.locator(".yaml pre").first).to_contain_text("registry.local/app:1")
    await expect(details.locator(".yaml-key").first).to_be_visible()
    await expect(details.locator("details", has_text="Managed fields")).not_to_have_attribute(
        "open", ""
    )
    await page.keyboard.press("Escape")
    await expect(details).to_have_count(0)
    await expect(box).to_be_focused()


async def test_manual_edit_appears_with_its_manager_and_keeps_selection_and_scroll(
    tab: Tab, env: Environment
) -> None:
    page = await open_tenant(tab, "stark", "resource=stark-web:settings")
    details = page.get_by_role("complementary", name="settings")
    await expect(details.locator(".yaml pre").first).to_contain_text("plan: app")
    await page.evaluate("window.scrollTo(0, 120)")
    try:
        await edit(env, "stark-settings", "edited")
        await expect(details.locator(".drawer-state")).to_contain_text("Conflicted")
        await details.get_by_role("tab", name="Differences").click()
        difference = details.locator(".diff li", has_text="data.plan")
        await expect(difference).to_contain_text("kubectl-edit")
        await expect(difference.locator(".diff-removed")).to_contain_text("edited")
        await expect(difference.locator(".diff-added")).to_contain_text("app")
        assert await page.evaluate("window.scrollY") == 120
        assert await violations(page) == []
    finally:
        await edit(env, "stark-settings", "app")


async def test_markup_in_a_row_is_text(tab: Tab) -> None:
    page = await open_tenant(tab, "vandelay")
    await expect(page.locator(".values")).to_contain_text(MARKUP)
    await expect(page.locator(".cause").first).to_be_visible()
    await page.goto(f"{page.url}&resource=vandelay-profile:profile")
    await expect(page.locator(".yaml pre").first).to_contain_text(MARKUP)
    assert await page.evaluate("window.injected") is None


async def test_node_is_paused_and_resumed_after_a_question(tab: Tab) -> None:
    page = await open_tenant(tab, "hooli")
    buttons = page.get_by_role("group", name="Actions on Node hooli-profile")
    await buttons.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("node/hooli-profile paused")).to_be_visible()
    await buttons.get_by_role("button", name="Resume").click()
    question = page.get_by_role("dialog")
    await expect(question).to_contain_text("those that are no longer desired are deleted")
    await question.get_by_role("button", name="Resume").click()
    await expect(question).to_have_count(0)
    await expect(buttons.get_by_role("button", name="Pause")).to_be_visible()
    await buttons.get_by_role("button", name="Reconcile").click()
    await expect(page.get_by_text("reconcile requested")).to_be_visible()


async def test_refusal_of_the_server_is_shown(tab: Tab, env: Environment) -> None:
    page = await open_tenant(tab, "wayne")
    tab.allowed = ("409",)
    buttons = page.get_by_role("group", name="Actions on Node wayne-profile")
    await buttons.get_by_role("button", name="Pause").click()
    await expect(buttons.get_by_role("button", name="Resume")).to_be_visible()
    await buttons.get_by_role("button", name="Reconcile").click()
    await expect(page.get_by_text("The node is paused: resume it first.")).to_be_visible()
    await env.client.patch(
        NODES,
        "wayne-profile",
        {"metadata": {"annotations": {"lynq.sh/paused": None}}},
        env.namespace,
    )
    await expect(buttons.get_by_role("button", name="Pause")).to_be_visible()


async def test_server_without_actions_shows_none(open_tab: OpenTab, quiet_site: Site) -> None:
    async with open_tab(quiet_site) as tab:
        page = await open_tenant(tab, "acme")
        await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        headers = {"X-Lynq-Action": "true", "Origin": quiet_site.url}
        body = {"kind": "Node", "namespace": tab.namespace, "name": "acme-web"}
        address = f"{quiet_site.url}/api/v2/actions/pause"
        answer = await page.request.post(address, data=body, headers=headers)
        assert answer.status == 403


async def test_phone_shows_the_list_and_nothing_wider_than_itself(
    open_tab: OpenTab, site: Site
) -> None:
    async with open_tab(site, viewport=PHONE, color_scheme="dark") as tab:
        page = await open_tenant(tab, LONG_NAME)
        await expect(page.locator(".graph").first).to_be_hidden()
        await page.locator(".resource-item", has_text="settings").click()
        await expect(page.locator(".drawer .yaml pre").first).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


async def edit(env: Environment, name: str, plan: str) -> None:
    """Change a field as a person does with kubectl."""
    change = {"data": {"plan": plan}}
    await env.client.patch(CONFIG_MAPS, name, change, env.namespace, manager="kubectl-edit")
