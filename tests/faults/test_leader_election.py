"""Leader election with two processes, and sharding with three."""

import asyncio
import signal
import time

import pytest

from faults.conftest import Replicas
from faults.recording_proxy import RecordedWrite
from faults.replica import Replica
from lynq.api.metadata import ObjectKey
from lynq.api.names import LEASE
from lynq.controllers.options import Shard
from lynq.kube.errors import NotFound
from lynq.kube.resource import LEASES
from operated.environment import Environment
from operated.running_operator import wait_for_node_ready
from waiting import DeadlineError, eventually


async def start_candidates(env: Environment, replicas: Replicas) -> tuple[Replica, Replica]:
    """Start a leader and a standby; return them in this order."""
    flags = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    first = await replicas(*flags)
    await eventually(lambda: first.has_logged("controllers started"), within=30)
    second = await replicas(*flags)
    # The standby is running once it has read the lease.
    await eventually(lambda: second.proxy.has_read(f"/leases/{LEASE}"), within=30)
    return first, second


async def create_tenant(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(sync_interval="1s")
    await env.create_form()


async def lease_holder(env: Environment) -> str:
    try:
        lease = await env.get(LEASES, LEASE)
    except NotFound:
        return ""
    return str(lease["spec"].get("holderIdentity", ""))


async def takes_over(standby: Replica, *, since: float, within: float) -> None:
    """Wait for the first write of a standby, and check when it was sent."""
    await eventually(standby.proxy.resource_writes, within=25)
    seconds = standby.proxy.resource_writes()[0].at - since
    if seconds >= within:
        raise DeadlineError(f"the standby took over after {seconds:.1f} s, not within {within} s")


@pytest.mark.timing
async def test_standby_takes_over_within_17_seconds_of_sigkill(
    env: Environment, replicas: Replicas
) -> None:
    await create_tenant(env)
    first, second = await start_candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    assert second.proxy.resource_writes() == []
    first.kill()
    killed = time.monotonic()
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))

    await takes_over(second, since=killed, within=17)
    await wait_for_node_ready(env, "beta-web")
    # The standby does not repeat the writes of the leader.
    assert not [write for write in second.proxy.resource_writes() if "acme" in write.path]


@pytest.mark.timing
async def test_standby_takes_over_within_3_seconds_of_sigterm(
    env: Environment, replicas: Replicas
) -> None:
    await create_tenant(env)
    first, second = await start_candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    stopped = time.monotonic()
    await first.stop()

    await takes_over(second, since=stopped, within=3)
    await wait_for_node_ready(env, "beta-web")
    await second.stop()
    assert await lease_holder(env) == ""


@pytest.mark.timing
async def test_standby_takes_over_within_3_seconds_of_sigterm_under_load(
    env: Environment, replicas: Replicas
) -> None:
    await create_tenant(env)
    first, second = await start_candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(500)))
    await eventually(lambda: len(created_nodes(first)) >= 50, within=30)
    stopped = time.monotonic()
    await first.stop()
    assert len(created_nodes(first)) < 500, "the leader had finished before SIGTERM"

    await takes_over(second, since=stopped, within=3)
    # The old leader writes nothing after it released the lease.
    released = max(write.at for write in first.proxy.writes if write.is_lease)
    assert [write for write in first.proxy.writes if write.at > released] == []


def created_nodes(replica: Replica) -> list[RecordedWrite]:
    """Return the node creations of a process."""
    return [
        write
        for write in replica.proxy.resource_writes()
        if write.method == "POST" and write.path.endswith("/lynqnodes")
    ]


async def test_frozen_leader_exits_without_further_writes(
    env: Environment, replicas: Replicas
) -> None:
    await create_tenant(env)
    first, second = await start_candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    # Frozen with pending work: a row that it has not read yet.
    env.set_rows(("acme", 1, "gold"), ("beta", 1, "pro"))
    first.signal(signal.SIGSTOP)
    frozen = time.monotonic()
    # Longer than the lease duration of 15 s, so that the frozen process wakes up without a lease.
    await asyncio.sleep(20)
    await eventually(second.proxy.resource_writes, within=15)
    thawed = time.monotonic()
    first.signal(signal.SIGCONT)

    assert await first.wait_for_exit() == 1
    # No write of the old leader succeeds after it resumes, not even an event.
    assert [write for write in first.proxy.writes if write.at > thawed and write.status < 400] == []
    assert [write for write in first.proxy.resource_writes() if write.at > frozen + 1] == []
    await wait_for_node_ready(env, "beta-web")
    assert (
        len(
            [write for write in second.proxy.resource_writes() if write.path.endswith("/lynqnodes")]
        )
        == 1
    )


async def test_shards_split_work_and_replacement_takes_over_killed_shard(
    env: Environment, replicas: Replicas
) -> None:
    uids = [f"t{number:02}" for number in range(12)]
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub(sync_interval="1s")
    await env.create_form()
    leading = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    shards = [await replicas(f"--shard={number}/3", *leading) for number in range(3)]
    for uid in uids:
        await wait_for_node_ready(env, f"{uid}-web", within=60)
    await env.wait_for_status(desired=12, ready=12)

    owned = [
        {uid for uid in uids if Shard(number, 3).owns(ObjectKey(env.namespace, f"{uid}-web"))}
        for number in range(3)
    ]
    assert [written_uids(replica) for replica in shards] == owned

    # Not shard 0, which reads the rows.
    dead = next(number for number in (1, 2) if owned[number])
    shards[dead].kill()
    for replica in shards:
        replica.proxy.writes.clear()
    env.set_rows(*((uid, 1, "gold") for uid in uids))
    living = [number for number in range(3) if number != dead]

    def done() -> bool:
        return all(written_uids(shards[number]) == owned[number] for number in living)

    await eventually(done, within=60)
    replacement = await replicas(f"--shard={dead}/3", *leading)
    await eventually(lambda: written_uids(replacement) == owned[dead], within=60)
    assert [written_uids(shards[number]) for number in living] == [
        owned[number] for number in living
    ]
    for replica in (*(shards[number] for number in living), replacement):
        await replica.stop()


def written_uids(replica: Replica) -> set[str]:
    """Return the uids of the tenants whose objects a process has written."""
    writes = [write for write in replica.proxy.resource_writes() if "/configmaps/" in write.path]
    return {write.path.rpartition("/")[2].removesuffix("-settings") for write in writes}
