"""One cluster, one operator with tenants, one dashboard and one browser for all tests.

A message of the browser's console that is an error, such as a violation of the content security
policy, fails the test.
"""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Page,
    ViewportSize,
    async_playwright,
    expect,
)

from browser.fleet import running_fleet
from dashboard.conftest import in_own_task, shared_environment
from lynq.dashboard.options import AuthMode, DashboardOptions, DashboardTiming
from lynq.dashboard.server import running_dashboard
from lynq.kube import Client, load_config
from lynq.telemetry import Address
from operated.environment import Environment

DESKTOP = ViewportSize(width=1440, height=900)
DOCS = "https://docs.example.com/lynq"
PHONE = ViewportSize(width=390, height=844)
PATIENCE = 20_000
"""Milliseconds, as long as `eventually` waits: no claim about speed."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
async def env(
    client: Client,
    crds: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Environment]:
    """A running operator with a settled fleet."""
    rows = tmp_path_factory.mktemp("rows")
    async with shared_environment(client, rows, running_fleet) as env:
        yield env


@dataclass
class Site:
    """A dashboard that can be stopped and started again at the same address."""

    kubeconfig: Path
    options: dict[str, Any]
    port: int = 0
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the server."""
        timing = DashboardTiming(grace=0.0, rights=0.5, heartbeat=2.0)
        address = Address("127.0.0.1", self.port)
        options = DashboardOptions(address=address, timing=timing, **self.options)
        config = load_config(kubeconfig=self.kubeconfig)
        context = in_own_task(lambda: running_dashboard(config, options))
        self.port = (await self._running.enter_async_context(context)).port

    async def stop(self) -> None:
        """Stop the server."""
        await self._running.aclose()


@asynccontextmanager
async def _serving(kubeconfig: Path, **options: Any) -> AsyncIterator[Site]:
    site = Site(kubeconfig, options)
    await site.start()
    try:
        yield site
    finally:
        await site.stop()


@pytest.fixture(scope="package")
async def site(kubeconfig: Path, env: Environment) -> AsyncIterator[Site]:
    """A dashboard with the rights of the kubeconfig."""
    options = {"allow_actions": True, "operator_namespace": env.namespace, "context": "lynq-test"}
    async with _serving(kubeconfig, auth=AuthMode.KUBECONFIG, **options) as site:
        yield site


@pytest.fixture(scope="package")
async def login_site(kubeconfig: Path, env: Environment) -> AsyncIterator[Site]:
    """A dashboard with login by token."""
    operator = {"operator_namespace": env.namespace}
    async with _serving(kubeconfig, auth=AuthMode.TOKEN, **operator) as site:
        yield site


@pytest.fixture(scope="package")
async def quiet_site(kubeconfig: Path, env: Environment) -> AsyncIterator[Site]:
    """A dashboard that allows no actions, and knows the address of the documentation."""
    options = {"operator_namespace": env.namespace, "docs_url": DOCS}
    async with _serving(kubeconfig, auth=AuthMode.KUBECONFIG, **options) as site:
        yield site


def chromium() -> str:
    """Return the path of the browser."""
    path = os.environ.get("LYNQ_TEST_CHROMIUM") or shutil.which("chromium")
    assert path, "Chromium is not installed: run scripts/browser"
    return path


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """Run Chromium without a window."""
    async with async_playwright() as playwright:
        # Chromium refuses to be root with its sandbox.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await playwright.chromium.launch(executable_path=chromium(), args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    """The browser of all tests."""
    async with in_own_task(running_browser) as browser:
        yield browser


@dataclass
class Tab:
    """A page of a browser without cookies, and what its console must not say."""

    page: Page
    site: Site
    namespace: str
    errors: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
    """Parts of messages that the test expects."""

    async def open(self, path: str = "/", query: str = "") -> Page:
        """Open a page of the dashboard, limited to the namespace of the tests."""
        query = f"?namespace={self.namespace}" + (f"&{query}" if query else "")
        await self.page.goto(f"{self.site.url}{path}{query}")
        return self.page

    def unexpected(self) -> list[str]:
        """Return the errors that the test did not expect."""
        return [error for error in self.errors if not any(part in error for part in self.allowed)]

    def on_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)


@asynccontextmanager
async def opened_tab(
    browser: Browser, site: Site, namespace: str, **options: Any
) -> AsyncIterator[Tab]:
    """Open a tab with options of the browser's context."""
    chosen: dict[str, Any] = {"viewport": DESKTOP, "color_scheme": "light"} | options
    context = await browser.new_context(**chosen)
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    tab = Tab(page, site, namespace)
    page.on("console", tab.on_message)
    page.on("pageerror", lambda error: tab.errors.append(str(error)))
    try:
        yield tab
    finally:
        await context.close()
    assert tab.unexpected() == []


OpenTab = Callable[..., AbstractAsyncContextManager[Tab]]


@pytest.fixture(scope="package")
def open_tab(browser: Browser, env: Environment) -> OpenTab:
    """Open a tab with options of the browser's context."""
    return lambda site, **options: opened_tab(browser, site, env.namespace, **options)


@pytest.fixture
async def tab(open_tab: OpenTab, site: Site) -> AsyncIterator[Tab]:
    """A tab of the dashboard with the rights of the kubeconfig."""
    async with open_tab(site) as tab:
        yield tab
