"""Where faults are injected: a namespace with its rows, and real processes of the operator."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cluster.controllers.environment import Environment
from faults.recording_proxy import RecordingProxy, recording_proxy
from faults.replica import Replica
from faults.tenants import places_of
from lynq.kube import Client
from lynq.kube.resource import NAMESPACES


@pytest.fixture
def env(client: Client, namespace: str, crds: None, tmp_path: Path) -> Environment:  # noqa: ARG001
    rows = tmp_path / "rows"
    rows.mkdir()
    return Environment(client, namespace, rows)


@pytest.fixture
async def elsewhere(env: Environment) -> AsyncIterator[str]:
    """The other namespace, for what forms put there."""
    _, name = places_of(env)
    await env.client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await env.client.delete(NAMESPACES, name)


class Replicas:
    """Makes processes of the operator, each behind a door of its own."""

    def __init__(
        self, env: Environment, kubeconfig: Path, folder: Path, doors: AsyncExitStack
    ) -> None:
        self._stage = env
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._doors = doors
        self._numbers = itertools.count(1)

    async def __call__(self, *flags: str) -> Replica:
        """Start one."""
        replica = await self.planned(*flags)
        replica.start()
        return replica

    async def planned(self, *flags: str) -> Replica:
        """Return one that is yet to be started."""
        door: RecordingProxy = await self._doors.enter_async_context(
            recording_proxy(self._kubeconfig)
        )
        place = self._folder / f"replica-{next(self._numbers)}"
        place.mkdir()
        given = (
            f"--sqlite-dir={self._stage.directory}",
            f"--watch-namespaces={','.join(places_of(self._stage))}",
            "--health-probe-bind-address=0",
            "--enable-webhooks=false",
            *flags,
        )
        replica = Replica(door, place, given)
        self._doors.callback(replica.end)
        return replica


@pytest.fixture
async def replicas(env: Environment, kubeconfig: Path, tmp_path: Path) -> AsyncIterator[Replicas]:
    """Processes of the operator in the environment's namespace."""
    async with AsyncExitStack() as doors:
        yield Replicas(env, kubeconfig, tmp_path, doors)
