"""Fixtures of fault tests: an environment, and operator processes behind recording proxies."""

import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from faults.recording_proxy import RecordingProxy, recording_proxy
from faults.replica import Replica
from faults.tenants import watched_namespaces
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import NAMESPACES
from operated.environment import Environment

INJECTED = ("crashes", "kills", "errors", "cuts", "compactions", "restarts", "row changes")
"""Properties of tests with the number of faults of a kind that they injected."""
HARM = ("lost", "left behind")
"""Properties of tests with the number of objects that a fault should not have concerned."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many faults the tests have injected, and what was lost or left behind."""
    reports = [
        report for state in ("passed", "failed") for report in _calls(terminalreporter, state)
    ]
    totals = Counter[str]()
    for report in reports:
        for name, value in report.user_properties:
            totals[name] += int(str(value))
    if not any(totals[name] for name in INJECTED):
        return
    injected = ", ".join(f"{totals[name]} {name}" for name in INJECTED if totals[name])
    harm = ", ".join(f"{name} = {totals[name]}" for name in HARM)
    failed = len(_calls(terminalreporter, "failed"))
    text = f"{len(reports)} tests, {injected}, {harm}, {failed} failures"
    terminalreporter.write_sep("=", f"faults: {text}")


def _calls(reporter: pytest.TerminalReporter, state: str) -> list[pytest.TestReport]:
    return [report for report in reporter.stats.get(state, []) if report.when == "call"]


@pytest.fixture
def env(client: Client, namespace: str, crds: None, tmp_path: Path) -> Environment:  # noqa: ARG001
    rows = tmp_path / "rows"
    rows.mkdir()
    return Environment(client, namespace, rows)


@pytest.fixture
async def own_env(own_cluster: LocalCluster, tmp_path: Path) -> AsyncIterator[Environment]:
    """An environment in a cluster that the test may break."""
    async with Client.connect(load_config(kubeconfig=own_cluster.kubeconfig)) as client:
        for definition in definitions():
            await install_crd(client, definition)
        yield Environment(client, "default", tmp_path)


@pytest.fixture
async def other_namespace(env: Environment) -> AsyncIterator[str]:
    """A second namespace for objects of forms with targetNamespace."""
    _, name = watched_namespaces(env)
    await env.client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await env.client.delete(NAMESPACES, name)


class Replicas:
    """Starts operator processes, each behind its own proxy."""

    def __init__(
        self, env: Environment, kubeconfig: Path, folder: Path, proxies: AsyncExitStack
    ) -> None:
        self._env = env
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._proxies = proxies
        self._numbers = itertools.count(1)

    async def __call__(self, *flags: str) -> Replica:
        """Start an operator process."""
        proxy: RecordingProxy = await self._proxies.enter_async_context(
            recording_proxy(self._kubeconfig)
        )
        folder = self._folder / f"replica-{next(self._numbers)}"
        folder.mkdir()
        arguments = (
            f"--sqlite-dir={self._env.directory}",
            f"--watch-namespaces={','.join(watched_namespaces(self._env))}",
            "--health-probe-bind-address=0",
            "--enable-webhooks=false",
            *flags,
        )
        replica = Replica(proxy, folder, arguments)
        self._proxies.callback(replica.kill_if_running)
        replica.start()
        return replica


@pytest.fixture
async def replicas(env: Environment, kubeconfig: Path, tmp_path: Path) -> AsyncIterator[Replicas]:
    """Starts operator processes that watch the namespaces of the environment."""
    async with AsyncExitStack() as proxies:
        yield Replicas(env, kubeconfig, tmp_path, proxies)
