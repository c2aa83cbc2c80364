"""The stream of a browser that has no SharedWorker: one connection of the tab itself."""

import pytest
from playwright.async_api import expect

from browser.conftest import Tab
from operated.environment import NODES, Environment

NODE = "umbrella-profile"


async def pause(env: Environment, value: str | None) -> None:
    """Set the annotation that pauses a node, or remove it."""
    await env.patch(NODES, NODE, {"metadata": {"annotations": {"lynq.sh/paused": value}}})


@pytest.mark.timing
async def test_page_without_shared_worker_is_live_and_reconnects(
    tab: Tab, env: Environment
) -> None:
    tab.allowed = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING")
    await tab.page.add_init_script("delete window.SharedWorker")
    page = await tab.open("/nodes", f"q=name={NODE}")
    assert not await page.evaluate("'SharedWorker' in window")
    live = page.get_by_role("status").filter(has_text="Live")
    await expect(live).to_be_attached()
    row = page.locator("tbody tr")
    await expect(row).to_contain_text("Ready")
    await pause(env, "true")
    await expect(row).to_contain_text("Paused", timeout=15_000)
    await tab.site.stop()
    await expect(page.get_by_role("status").filter(has_text="Reconnecting")).to_be_visible()
    await pause(env, None)
    await tab.site.start()
    await expect(live).to_be_attached(timeout=15_000)
    await expect(row).to_contain_text("Ready", timeout=15_000)
