"""A second hub beside the faulty one: how long its rows take, and whether the lease is kept."""

import asyncio
import itertools
import time

from faults.conftest import Replicas
from faults.replica import Replica
from lynq.api.names import LEASE
from lynq.kube.errors import NotFound
from lynq.kube.resource import LEASES
from operated.environment import NODES, Environment
from operated.running_operator import wait_for_node_ready
from waiting import DeadlineError, eventually


async def start_leader(env: Environment, replicas: Replicas, *more_flags: str) -> Replica:
    """Start an operator with leader election, and a second hub that has one ready tenant."""
    env.set_rows(("first", 1, "pro"), file="other.db")
    table = {"path": "other.db", "table": "tenants"}
    other = {"sqlite": table, "changes": "Push", "syncInterval": "1s"}
    await env.create_hub("other", source=other)
    await env.create_form("plain", hub="other")
    flags = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    replica = await replicas(*flags, *more_flags)
    await wait_for_node_ready(env, "first-plain", within=30)
    return replica


async def seconds_to_ready(env: Environment, uids: list[str]) -> float:
    """Add the last of these rows to the second hub; return the seconds until its node is ready."""
    env.set_rows(*((uid, 1, "pro") for uid in uids), file="other.db")
    started = time.monotonic()

    async def ready() -> bool:
        try:
            node = await env.get(NODES, f"{uids[-1]}-plain")
        except NotFound:
            return False
        conditions = node.get("status", {}).get("conditions", [])
        return any((item["type"], item["status"]) == ("Ready", "True") for item in conditions)

    await eventually(ready, within=30, every=0.02)
    return time.monotonic() - started


async def assert_rows_are_ready(env: Environment, *, rows: int, within: float) -> None:
    """Insert rows into the second hub, one after the other, and check the seconds of each."""
    assert_durations(await durations_to_ready(env, rows=rows), within=within)


async def durations_to_ready(env: Environment, *, rows: int) -> list[float]:
    """Insert rows into the second hub, one per second; return the seconds of each."""
    uids = ["first"]
    durations = []
    for number in range(rows):
        uids.append(f"row{number}")
        durations.append(await seconds_to_ready(env, uids))
        await asyncio.sleep(max(0.0, 1.0 - durations[-1]))
    print("seconds from row to Ready:", [f"{duration:.2f}" for duration in durations])  # noqa: T201
    return durations


def assert_durations(durations: list[float], *, within: float, share: float = 1.0) -> None:
    """Check the seconds of rows; with a share, the others may meet a pause of the machine."""
    if sum(duration < within for duration in durations) < share * len(durations):
        raise DeadlineError(f"rows of the second hub were not ready within {within} s")


async def assert_lease_was_kept(env: Environment, replica: Replica) -> None:
    lease = await env.get(LEASES, LEASE)
    assert lease["spec"]["leaseTransitions"] == 0
    renewals = [write.at for write in replica.proxy.writes if write.is_lease and write.status < 400]
    gaps = [after - before for before, after in itertools.pairwise(renewals)]
    print(f"longest gap between renewals: {max(gaps):.2f} s")  # noqa: T201
    if max(gaps) >= 4:
        raise DeadlineError(f"the lease was not renewed for {max(gaps):.1f} s")
    assert not [line for line in replica.log() if line["level"] == "error"]
