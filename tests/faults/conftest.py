"""Where faults are injected: a namespace with its rows, and real processes of the operator."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cluster.controllers.stage import Stage
from faults.door import Door, opened
from faults.replica import Replica
from faults.tenants import places_of
from lynq.kube import Client
from lynq.kube.resource import NAMESPACES


@pytest.fixture
def stage(client: Client, namespace: str, crds: None, tmp_path: Path) -> Stage:  # noqa: ARG001
    rows = tmp_path / "rows"
    rows.mkdir()
    return Stage(client, namespace, rows)


@pytest.fixture
async def elsewhere(stage: Stage) -> AsyncIterator[str]:
    """The other namespace, for what forms put there."""
    _, name = places_of(stage)
    await stage.client.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    await stage.client.delete(NAMESPACES, name)


class Replicas:
    """Makes processes of the operator, each behind a door of its own."""

    def __init__(self, stage: Stage, kubeconfig: Path, folder: Path, doors: AsyncExitStack) -> None:
        self._stage = stage
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
        door: Door = await self._doors.enter_async_context(opened(self._kubeconfig))
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
async def replicas(stage: Stage, kubeconfig: Path, tmp_path: Path) -> AsyncIterator[Replicas]:
    """Processes of the operator on the stage's namespace."""
    async with AsyncExitStack() as doors:
        yield Replicas(stage, kubeconfig, tmp_path, doors)
