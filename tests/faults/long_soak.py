"""The long tier: hours of an operator in half an hour, and a storm of broken templates.

LYNQ_SOAK_NODES and LYNQ_SOAK_MINUTES set the size of the soak, LYNQ_STORM_NODES and
LYNQ_STORM_ROWS that of the storm.
"""

import asyncio
import os
import random
import signal
import time

import pytest

from bench.measuring import memory_mib
from faults.conftest import Replicas
from faults.replica import Replica
from faults.second_hub import assert_lease_was_kept, assert_rows_are_ready, start_leader
from faults.test_slow_templates import BOMB, has_reported_nodes
from operated.environment import Environment, config_map
from waiting import eventually

NODES = int(os.environ.get("LYNQ_SOAK_NODES", "1000"))
MINUTES = float(os.environ.get("LYNQ_SOAK_MINUTES", "30"))
STORM = int(os.environ.get("LYNQ_STORM_NODES", "1000"))
STORM_ROWS = int(os.environ.get("LYNQ_STORM_ROWS", "60"))
CHURN = max(NODES // 100, 1)
"""Rows that change, appear and disappear in a minute."""
TOLERANCE = 1.05
"""Growth of memory that is no leak."""


class Churn:
    """Rows of which one per cent changes every minute."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._rng = random.Random(20261116)
        self._numbers = iter(range(NODES, 10**9))
        self.plans = {f"t{number:05}": "pro" for number in range(NODES)}

    def write(self) -> None:
        self._env.set_rows(*((uid, 1, plan) for uid, plan in self.plans.items()))

    def step(self) -> None:
        """Change some rows, and replace some by new ones."""
        uids = self._rng.sample(sorted(self.plans), CHURN)
        for uid in uids[::2]:
            self.plans[uid] = f"plan-{self._rng.randrange(1000)}"
        for uid in uids[1::2]:
            del self.plans[uid]
            self.plans[f"t{next(self._numbers):05}"] = "pro"
        self.write()


async def are_ready(env: Environment, churn: Churn) -> bool:
    nodes = await env.nodes()
    assert sorted(nodes) == sorted(f"{uid}-web" for uid in churn.plans)
    for name, node in nodes.items():
        conditions = node.get("status", {}).get("conditions", [])
        assert any((c["type"], c["status"]) == ("Ready", "True") for c in conditions), name
    return True


async def start_churn(env: Environment, replicas: Replicas) -> tuple[Churn, Replica]:
    """Start an operator, and wait until all rows have ready nodes."""
    churn = Churn(env)
    churn.write()
    await env.create_hub(sync_interval="5s", deletionGuard={"disabled": True})
    await env.create_form()
    replica = await replicas("--zap-log-level=error")
    await eventually(lambda: are_ready(env, churn), within=600, every=2)
    return churn, replica


async def test_memory_stays_flat_while_rows_change_for_half_an_hour(
    env: Environment, replicas: Replicas, request: pytest.FixtureRequest
) -> None:
    churn, replica = await start_churn(env, replicas)

    samples = []
    end = time.monotonic() + MINUTES * 60
    while time.monotonic() < end:
        churn.step()
        await asyncio.sleep(min(60, MINUTES * 6))
        samples.append(memory_mib(replica.pid))
    await eventually(lambda: are_ready(env, churn), within=120, every=2)
    print("MiB:", [f"{sample:.0f}" for sample in samples])  # noqa: T201 - a measurement
    request.node.user_properties.append(("row changes", len(samples) * CHURN))
    # The first third fills caches and the allocator's pools.
    warm = samples[len(samples) // 3]
    assert samples[-1] < warm * TOLERANCE, samples
    assert not [line for line in replica.log() if line["level"] == "error"]


async def test_sigkill_every_minute_of_churn_loses_no_tenant(
    env: Environment, replicas: Replicas, request: pytest.FixtureRequest
) -> None:
    churn, replica = await start_churn(env, replicas)
    kills = max(int(MINUTES / 2), 2)
    for number in range(kills):
        churn.step()
        await asyncio.sleep(0.5 + number % 4)
        replica.signal(signal.SIGKILL)
        await replica.wait_for_exit()
        replica.start()
        await eventually(lambda: are_ready(env, churn), within=300, every=1)
    request.node.user_properties.append(("kills", kills))


async def test_storm_of_1000_nodes_delays_no_other_hub(
    env: Environment, replicas: Replicas, request: pytest.FixtureRequest
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(*((f"t{number:04}", 1, "pro") for number in range(STORM)))
    await env.create_hub(sync_interval="1s")
    await env.create_form(configMaps=[config_map(BOMB)])
    await eventually(lambda: has_reported_nodes(env, STORM + 1), within=600, every=0.5)

    await assert_rows_are_ready(env, rows=STORM_ROWS, within=2)
    await assert_lease_was_kept(env, replica)
    request.node.user_properties.append(("errors", STORM))
    await replica.stop()
