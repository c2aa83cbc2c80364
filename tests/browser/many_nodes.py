"""A walk over the pages of a dashboard with many nodes: elements, memory, and a live change."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, expect

from bench.measuring import memory_mib
from browser.conftest import Tab
from dashboard.many_nodes import FORMS, HUB, name_of, pause, uid_of
from lynq.kube import Client

MOST_ELEMENTS = 3_000
MOST_SHAPES = 300


async def elements(page: Page) -> int:
    """Return the number of elements of the shown page."""
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator(".loading")).to_have_count(0)
    return int(await page.evaluate("document.querySelectorAll('*').length"))


async def walk(tab: Tab) -> dict[str, int]:
    """Open every page that grows with the number of nodes; return the elements of each."""
    counts = {}
    group = f"nodes:{tab.namespace}/{FORMS[0]}:Any"
    page = await tab.open("/")
    groups = page.locator(".group button[aria-expanded]")
    await expect(groups.first).to_be_visible()
    counts["Problems"] = await elements(page)
    await groups.evaluate_all("buttons => buttons.forEach(button => button.click())")
    await expect(page.locator(".group-members")).to_have_count(await groups.count())
    counts["Problems, all opened"] = await elements(page)
    page = await tab.open("/fleet")
    await expect(page.get_by_role("link", name=HUB)).to_be_visible()
    counts["Fleet"] = await elements(page)
    page = await tab.open("/nodes")
    await expect(page.locator("tbody tr").first).to_be_visible()
    counts["Nodes"] = await elements(page)
    first = await page.locator("tbody tr").first.inner_text()
    await page.mouse.wheel(0, 10_000)
    await page.get_by_role("button", name="Next page").click()
    await expect(page.locator("tbody tr").first).not_to_have_text(first)
    counts["Nodes, next page"] = await elements(page)
    for title, query in {
        "Topology": "",
        "Topology, one group": f"focus={group}",
        "Topology, one group as a table": f"focus={group}&view=table",
        "Topology, problems": "problems=true",
    }.items():
        page = await tab.open("/topology", query)
        await expect(page.locator(".topology .shape, .table tbody tr").first).to_be_visible()
        assert await page.locator(".shape").count() <= MOST_SHAPES
        counts[title] = await elements(page)
    page = await tab.open(f"/hubs/{tab.namespace}/{HUB}")
    await expect(page.locator(".rows tbody tr").first).to_be_visible()
    counts["Hub"] = await elements(page)
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_text("26–50 of")).to_be_visible()
    counts["Hub, next rows"] = await elements(page)
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search").fill("tenant")
    await expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    counts["Search"] = await elements(page)
    await page.keyboard.press("Escape")
    return counts


async def seconds_until_visible(tab: Tab, client: Client, number: int) -> float:
    """Change a node whose row is shown; return the time until the page shows it."""
    page = await tab.open("/nodes", f"q=name={name_of(number)}")
    row = page.locator("tbody tr").filter(has_text=uid_of(number))
    await expect(row).not_to_contain_text("Paused")
    await expect(page.get_by_role("status").filter(has_text="Live")).to_be_attached()
    clock = asyncio.get_running_loop().time
    await pause(client, number, tab.namespace)
    changed = clock()
    await expect(row).to_contain_text("Paused")
    return clock() - changed


@dataclass(frozen=True, slots=True)
class TabMemory:
    """The memory of a tab in MiB."""

    private: float
    """The renderer process without files and what it shares, as Chromium's task manager counts."""
    proportional: float
    """The same with its share of the files and pages that other processes use, too."""
    javascript: float
    """Objects of the page after a garbage collection."""


async def tab_memory(browser: Browser, page: Page) -> TabMemory:
    """Return the memory of the largest renderer."""
    system = await browser.new_browser_cdp_session()
    processes: Any = await system.send("SystemInfo.getProcessInfo")
    pids = [each["id"] for each in processes["processInfo"] if each["type"] == "renderer"]
    private = max(memory_mib(pid, "RssAnon") for pid in pids)
    proportional = max(map(_proportional, pids))
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    await session.send("Performance.enable")
    metrics: Any = await session.send("Performance.getMetrics")
    heap = next(each["value"] for each in metrics["metrics"] if each["name"] == "JSHeapUsedSize")
    return TabMemory(private, proportional, heap / 2**20)


def _proportional(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
