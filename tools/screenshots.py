#!/usr/bin/env python3
"""Takes the pictures of the dashboard in docs/images/dashboard; `make screenshots` runs it.

A local cluster, the operator and the dashboard run in this process; Chromium opens every page in
light and dark, at the width of a desk and of a phone.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from playwright.async_api import Browser, Page, ViewportSize

from browser.conftest import DESKTOP, PHONE, running_browser
from browser.fleet import BROKEN_IMAGE, LONG_NAME, PARTNERS, Row, hold_deletions, running_fleet
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.dashboard.options import AuthMode, DashboardOptions, DashboardTiming
from lynq.dashboard.server import running_dashboard
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import NAMESPACES
from lynq.telemetry import Address
from operated.environment import Environment

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images" / "dashboard"
LARGEST_IMAGE: Final = 150 * 1024
NAMESPACE: Final = "shop"
COMPANIES: Final = (
    "acme",
    "aperture",
    "bluth",
    "cyberdyne",
    "dunder",
    "globex",
    "gringotts",
    "hooli",
    "initech",
    "massive",
    "nakatomi",
    "oceanic",
    "oscorp",
    "piedpiper",
    "soylent",
    "stark",
    "sterling",
    "tyrell",
    "umbrella",
    "vandelay",
    "vehement",
    "virtucon",
    "wayne",
    "weyland",
    "wonka",
    "yoyodyne",
)
BROKEN: Final = {"cyberdyne", "hooli", "oscorp", "tyrell", "weyland"}
PAGES: Final = {
    "problems": "/",
    "fleet": "/fleet",
    "nodes": "/nodes",
    "topology": "/topology",
    "search": "/",
    "tenant": f"/tenants/{NAMESPACE}/tyrell",
    "form": f"/forms/{NAMESPACE}/web",
    "hub": f"/hubs/{NAMESPACE}/partners",
    "plan": f"/forms/{NAMESPACE}/web?tab=plan",
    "long-name": f"/tenants/{NAMESPACE}/{LONG_NAME}",
    "empty": "/?namespace=empty",
}


def rows() -> list[Row]:
    """Return the rows of the fleet: companies, a long name, a refused label, a rejected row."""
    companies = [
        Row(name, plan=BROKEN_IMAGE if name in BROKEN else "app", note=f"{name}.example")
        for name in COMPANIES
    ]
    return [*companies, Row(LONG_NAME), Row("zorg", label="not a label"), Row("Umbrella Corp!")]


@asynccontextmanager
async def dashboard(folder: Path) -> AsyncIterator[str]:
    """Run a cluster, the operator with its fleet, and the dashboard; yield its URL."""
    cluster = LocalCluster("screenshots", folder)
    cluster.up(owned=True)
    config = load_config(kubeconfig=cluster.kubeconfig)
    options = DashboardOptions(
        address=Address("127.0.0.1", 0),
        auth=AuthMode.KUBECONFIG,
        allow_actions=True,
        context="lynq-demo",
        operator_namespace=NAMESPACE,
        timing=DashboardTiming(grace=0.0),
    )
    try:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client.connect(config))
            for definition in definitions():
                await install_crd(client, definition)
            for name in (NAMESPACE, "empty"):
                await client.create(NAMESPACES, {"metadata": {"name": name}})
            env = Environment(client, NAMESPACE, folder)
            address = await stack.enter_async_context(running_dashboard(config, options))
            await stack.enter_async_context(running_fleet(env, rows(), PARTNERS))
            await hold_deletions(env)
            yield f"http://127.0.0.1:{address.port}"
    finally:
        cluster.down()


async def prepare(page: Page, name: str) -> None:
    """Wait for the content of a page, and open what the picture shows."""
    await page.wait_for_selector("h1")
    await page.wait_for_selector(".loading", state="detached")
    if name == "problems":
        await page.get_by_role("button", name="ImagePullBackOff").first.click()
    if name == "plan":
        await page.get_by_role("button", name="Plan over all rows").click()
        await page.get_by_text("Nothing was changed.").wait_for()
    if name == "search":
        await page.keyboard.press("/")
        await page.get_by_role("combobox", name="Search").fill("umb")
        await page.wait_for_selector(".results [role=option]")
    await page.wait_for_timeout(400)


async def save(page: Page, image: Path) -> None:
    """Write the picture of a page; a full page is shortened until the file is small enough."""
    viewport = page.viewport_size
    while viewport and len(await page.screenshot(path=image)) > LARGEST_IMAGE:
        viewport = ViewportSize(width=viewport["width"], height=viewport["height"] - 60)
        await page.set_viewport_size(viewport)


async def take(browser: Browser, url: str, target: Path) -> None:
    """Write the picture of every page."""
    for scheme in ("light", "dark"):
        for device, viewport in (("", DESKTOP), ("-phone", PHONE)):
            context = await browser.new_context(viewport=viewport, color_scheme=scheme)
            for name, path in PAGES.items():
                page = await context.new_page()
                await page.goto(url + path)
                await prepare(page, name)
                await save(page, target / f"{name}{device}-{scheme}.png")
                await page.close()
            await context.close()


async def main(target: Path) -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        async with dashboard(Path(folder)) as url, running_browser() as browser:
            await take(browser, url, target)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    IMAGES.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(IMAGES))
