"""The login with a token of the cluster."""

from pathlib import Path

from playwright.async_api import expect

from browser.conftest import OpenTab, Site
from browser.test_frame import violations
from lynq.cluster.local import kubectl
from operated.environment import Environment


async def test_viewer_signs_in_with_a_token_and_out_again(
    open_tab: OpenTab, login_site: Site, env: Environment, kubeconfig: Path
) -> None:
    token = kubectl(kubeconfig, "create", "token", "viewer", "-n", env.namespace).stdout.strip()
    async with open_tab(login_site) as tab:
        tab.allowed = ("401 (Unauthorized)",)
        page = await tab.open("/nodes")
        field = page.get_by_role("textbox", name="Token")
        await expect(field).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_have_text("Paste a token first.")
        await field.fill("not-a-token")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("token")
        await field.fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="Nodes")).to_be_visible()
        await expect(page.locator("tbody tr").first).to_be_visible()
        await expect(page.get_by_text("Signed in with a token")).to_be_visible()
        assert await page.evaluate("document.cookie") == ""
        await page.get_by_role("button", name="Sign out").click()
        await expect(field).to_be_visible()
        await page.reload()
        await expect(field).to_be_visible()


async def test_page_asks_for_a_login_when_its_session_has_ended(
    open_tab: OpenTab, login_site: Site, env: Environment, kubeconfig: Path
) -> None:
    token = kubectl(kubeconfig, "create", "token", "viewer", "-n", env.namespace).stdout.strip()
    async with open_tab(login_site) as tab:
        tab.allowed = ("401 (Unauthorized)", "ERR_")
        page = await tab.open("/nodes")
        field = page.get_by_role("textbox", name="Token")
        await field.fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.locator("tbody tr").first).to_be_visible()
        # As by another tab: nothing on this page is loaded.
        await page.request.post(
            f"{login_site.url}/api/v2/logout", headers={"Origin": login_site.url}
        )
        await expect(field).to_be_visible()
