"""The pages stay small with many nodes; `make bench-parts` measures them with 5,000."""

from pathlib import Path

import pytest
from playwright.async_api import Browser

from browser.conftest import Site, opened_tab
from browser.many_nodes import MOST_ELEMENTS, seconds_until_visible, tab_memory, walk
from dashboard.many_nodes import create_many, running_process
from lynq.kube import Client
from operated.environment import Environment

COUNT = 1_000


@pytest.fixture
async def many(
    client: Client,
    namespace: str,
    crds: None,  # noqa: ARG001
    tmp_path: Path,
) -> Environment:
    """A namespace with many nodes, and no operator."""
    env = Environment(client, namespace, tmp_path)
    await create_many(env, COUNT)
    return env


async def test_pages_of_many_nodes_are_small_and_live(
    many: Environment, kubeconfig: Path, browser: Browser
) -> None:
    async with running_process(kubeconfig) as server:
        site = Site(kubeconfig, {}, server.port)
        async with opened_tab(browser, site, many.namespace) as tab:
            change = await seconds_until_visible(tab, many.client, 5)
            elements = await walk(tab)
            memory = await tab_memory(browser, tab.page)
        print(  # noqa: T201 - a measurement
            f"\na change is visible in {change:.2f} s; {memory}; server {server.memory:.0f} MiB;"
            f"\n{elements}"
        )
    assert {page: count for page, count in elements.items() if count >= MOST_ELEMENTS} == {}
