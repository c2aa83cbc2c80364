"""The long tier: every flow is crashed at each of its writes, before and after it is sent.

Each crash hits a run of its own in two new namespaces. The next operator must reach the state of a
run without a crash: the same objects with the same content, inventory and conditions, and the same
objects that were not replaced by new ones. LYNQ_FAULTS_TENANTS sets how many tenants a flow
concerns. LYNQ_FAULTS_STRIDE=10 crashes at every tenth write only.
"""

import asyncio
import itertools
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from faults.crash import Crash, crashing_operator
from faults.flows import FLOWS, Flow, Site
from faults.snapshot import Snapshot, differences, snapshot
from faults.tenants import watched_namespaces
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.kube import Backoff, Client, load_config
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import NAMESPACES
from operated.environment import QUICK, Environment
from waiting import eventually

STRIDE = int(os.environ.get("LYNQ_FAULTS_STRIDE", "1"))
AT_ONCE = int(os.environ.get("LYNQ_FAULTS_AT_ONCE", "4"))
"""Runs at the same time: each waits for the API server most of its time."""
DEADLINE = 60.0
"""Seconds for a run to reach a state."""
REST = 3.0
"""Seconds without a request after which a run without a crash has ended."""
TIMING = replace(
    QUICK,
    move_grace=timedelta(seconds=0.2),
    deletion_report_delay=timedelta(seconds=0.2),
    node_finalizer_backoff=Backoff(base=0.1, cap=1.0),
    drain_timeout=0.05,
    event_flush_timeout=0.0,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A run without a crash: the states before and after the change."""

    before: Snapshot
    after: Snapshot

    @property
    def surviving(self) -> set[tuple[str, str, str]]:
        return self.after.surviving(self.before)


@dataclass(slots=True)
class Result:
    """What the crashes of one flow have led to."""

    crashes: int = 0
    lost: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
async def crash_client(clusters: Path) -> AsyncIterator[Client]:
    """A client of a cluster that all flows share; it is removed with all their namespaces."""
    cluster = LocalCluster("crashes", clusters)
    cluster.up(owned=True)
    try:
        async with Client.connect(load_config(kubeconfig=cluster.kubeconfig)) as client:
            for definition in definitions():
                await install_crd(client, definition)
            yield client
    finally:
        cluster.down()


@dataclass(slots=True)
class Sites:
    """Creates the namespaces of runs."""

    client: Client
    directory: Path

    async def create(self) -> Site:
        name = f"crash-{uuid.uuid4().hex[:8]}"
        directory = self.directory / name
        directory.mkdir()
        env = Environment(self.client, name, directory, timing=TIMING)
        for namespace in watched_namespaces(env):
            await env.client.create(NAMESPACES, {"metadata": {"name": namespace}})
        return Site(env, watched_namespaces(env)[1])


async def refer(site: Site, flow: Flow) -> Reference:
    """Run a flow without a crash."""
    crash = Crash()
    await flow.prepare(site)
    async with crashing_operator(site.env, crash, TIMING):
        before = await at_rest(site, crash)
        crash.writes.clear()
        await flow.change(site)
        return Reference(before, await at_rest(site, crash))


async def at_rest(site: Site, crash: Crash) -> Snapshot:
    """Return the state when the operator has written something, and then sent nothing."""
    await eventually(lambda: bool(crash.writes), within=DEADLINE)
    await eventually(lambda: crash.is_quiet(REST), within=DEADLINE)
    return await snapshot(site.env)


class UnreachedError(AssertionError):
    """A run did not reach its state in time."""

    def __init__(self, state: Snapshot, expected: Snapshot) -> None:
        super().__init__("\n".join(differences(state.objects, expected.objects)))
        self.state = state


async def reach(site: Site, crash: Crash, expected: Snapshot, *, quiet: float = 0.15) -> Snapshot:
    """Return the state when it is the expected one, or when the operator has crashed.

    An operator that has sent nothing for some seconds has done what it found to do.
    """
    deadline = time.monotonic() + DEADLINE
    while True:
        if crash.is_quiet(quiet) or crash.happened.is_set():
            state = await snapshot(site.env)
            if crash.happened.is_set() or state.objects == expected.objects:
                return state
            await asyncio.sleep(0.1)
        if time.monotonic() > deadline:
            raise UnreachedError(await snapshot(site.env), expected)
        await asyncio.sleep(0.03)


async def crash_at(
    site: Site, flow: Flow, reference: Reference, crash: Crash, result: Result
) -> bool:
    """Run a flow, crash it at a write, and check what the next operator makes of it.

    Returns False if the flow had fewer writes.
    """
    number, crash.at = crash.at, 0
    await flow.prepare(site)
    async with crashing_operator(site.env, crash, TIMING):
        before = await reach(site, crash, reference.before)
        crash.writes.clear()
        crash.at = number
        await flow.change(site)
        await reach(site, crash, reference.after)
        if not crash.happened.is_set():
            return False
    result.crashes += 1
    point = f"{number} {'after' if crash.is_sent else 'before'} {crash.writes[number - 1]}"
    last = Crash()
    try:
        async with crashing_operator(site.env, last, TIMING) as process:
            # The state may be the expected one already: the operator must not change it again.
            await process.context.synced()
            state = await reach(site, last, reference.after, quiet=0.7)
    except UnreachedError as error:
        state = error.state
    check(point, before, state, reference, result)
    return True


def check(
    point: str, before: Snapshot, state: Snapshot, reference: Reference, result: Result
) -> None:
    """Record how the state differs from that of the run without a crash."""
    expected = reference.after.objects
    missing = expected.keys() - state.objects.keys()
    replaced = reference.surviving - state.surviving(before) - missing
    result.lost += [f"{point}: {key} does not exist" for key in sorted(missing)]
    result.lost += [f"{point}: {key} was replaced" for key in sorted(replaced)]
    extra = state.objects.keys() - expected.keys()
    result.left_behind += [f"{point}: {key} still exists" for key in sorted(extra)]
    for key in sorted(expected.keys() & state.objects.keys()):
        lines = differences(state.objects[key], expected[key])
        result.other += [f"{point}: {key} {line}" for line in lines]


async def crash_everywhere(sites: Sites, flow: Flow) -> Result:
    """Crash a flow at each of its writes, some runs at the same time."""
    reference = await refer(await sites.create(), flow)
    result = Result()
    points = ((at, is_sent) for at in itertools.count(1, STRIDE) for is_sent in (False, True))
    ended = False

    async def work(points: Iterator[tuple[int, bool]]) -> None:
        nonlocal ended
        for number, is_sent in points:
            if ended:
                return
            crash = Crash(at=number, is_sent=is_sent)
            if not await crash_at(await sites.create(), flow, reference, crash, result):
                ended = True

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work(points))
    return result


@pytest.mark.parametrize("name", FLOWS)
async def test_flow_reaches_the_same_state_after_a_crash_at_each_of_its_writes(
    crash_client: Client, tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    started = time.monotonic()
    result = await crash_everywhere(Sites(crash_client, tmp_path), FLOWS[name])
    seconds = time.monotonic() - started
    print(f"{name}: {result.crashes} crashes in {seconds:.0f} s")  # noqa: T201 - a measurement
    request.node.user_properties += [
        ("crashes", result.crashes),
        ("lost", len(result.lost)),
        ("left behind", len(result.left_behind)),
    ]
    assert result.crashes > 0
    problems = result.lost + result.left_behind + result.other
    assert not problems, "\n".join(problems)
