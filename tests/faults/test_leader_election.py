"""Several processes: of two candidates one works, and of three shards each does its own share."""

import asyncio
import signal
import time

from cluster.controllers.environment import Environment
from cluster.controllers.running_operator import wait_for_node_ready
from faults.conftest import Replicas
from faults.recording_proxy import RecordedWrite
from faults.replica import Replica
from lynq.api.metadata import ObjectKey
from lynq.api.names import LEASE
from lynq.controllers.options import Shard
from lynq.kube.errors import NotFound
from lynq.kube.resource import LEASES
from waiting import eventually


async def candidates(env: Environment, replicas: Replicas) -> tuple[Replica, Replica]:
    """Start two of which one may work; return the one that does first."""
    flags = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    first = await replicas(*flags)
    await eventually(lambda: first.says("controllers started"), within=30)
    second = await replicas(*flags)
    # It stands by as soon as it has asked who leads.
    await eventually(lambda: second.door.asked(f"/leases/{LEASE}"), within=30)
    return first, second


async def begin(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form()


async def holder(env: Environment) -> str:
    try:
        lease = await env.get(LEASES, LEASE)
    except NotFound:
        return ""
    return str(lease["spec"].get("holderIdentity", ""))


async def test_standby_takes_over_within_17_seconds_of_sigkill(
    env: Environment, replicas: Replicas
) -> None:
    await begin(env)
    first, second = await candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    assert second.door.work() == []
    first.kill()
    killed = time.monotonic()
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))

    await eventually(second.door.work, within=25)
    assert second.door.work()[0].at - killed < 17
    await wait_for_node_ready(env, "beta-web")
    # What the first had done is not done again.
    assert not [write for write in second.door.work() if "acme" in write.path]


async def test_standby_takes_over_within_3_seconds_of_sigterm(
    env: Environment, replicas: Replicas
) -> None:
    await begin(env)
    first, second = await candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    env.set_rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    asked = time.monotonic()
    assert await first.stop() < 5

    await eventually(second.door.work, within=20)
    assert second.door.work()[0].at - asked < 3
    await wait_for_node_ready(env, "beta-web")
    assert await second.stop() < 5
    assert await holder(env) == ""


async def test_standby_takes_over_within_3_seconds_of_sigterm_under_load(
    env: Environment, replicas: Replicas
) -> None:
    await begin(env)
    first, second = await candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(500)))
    await eventually(lambda: len(made(first)) >= 50, within=30)
    asked = time.monotonic()
    assert await first.stop() < 5
    assert len(made(first)) < 500, "it had nothing left to do"

    await eventually(second.door.work, within=20)
    assert second.door.work()[0].at - asked < 3
    # Whoever may lead by then, the first has written nothing since it gave the lease back.
    given_back = max(write.at for write in first.door.writes if write.is_about_leases)
    assert [write for write in first.door.writes if write.at > given_back] == []


def made(replica: Replica) -> list[RecordedWrite]:
    """Return the nodes that a process has created."""
    return [
        write
        for write in replica.door.work()
        if write.method == "POST" and write.path.endswith("/lynqnodes")
    ]


async def test_frozen_leader_exits_without_further_writes(
    env: Environment, replicas: Replicas
) -> None:
    await begin(env)
    first, second = await candidates(env, replicas)
    await wait_for_node_ready(env, "acme-web")
    # Frozen with work at hand: a row that it has yet to see.
    env.set_rows(("acme", 1, "gold"), ("beta", 1, "pro"))
    first.signal(signal.SIGSTOP)
    frozen = time.monotonic()
    await asyncio.sleep(20)
    assert second.door.work(), "nobody took over"
    thawed = time.monotonic()
    first.signal(signal.SIGCONT)

    assert await first.ended() == 1
    # Nothing of its own reached the API server once it was awake, events neither.
    assert [write for write in first.door.writes if write.at > thawed and write.status < 400] == []
    assert [write for write in first.door.work() if write.at > frozen + 1] == []
    await wait_for_node_ready(env, "beta-web")
    assert len([write for write in second.door.work() if write.path.endswith("/lynqnodes")]) == 1


async def test_shards_split_work_and_replacement_takes_over_killed_shard(
    env: Environment, replicas: Replicas
) -> None:
    uids = [f"t{number:02}" for number in range(12)]
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form()
    leading = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    shares = [await replicas(f"--shard={number}/3", *leading) for number in range(3)]
    for uid in uids:
        await wait_for_node_ready(env, f"{uid}-web", within=60)
    await env.wait_for_status(desired=12, ready=12)

    owned = [
        {uid for uid in uids if Shard(number, 3).owns(ObjectKey(env.namespace, f"{uid}-web"))}
        for number in range(3)
    ]
    assert [touched(replica) for replica in shares] == owned

    # Not the one that has the hub: then nobody would read the rows.
    hub = ObjectKey(env.namespace, "hub")
    dead = next(number for number in range(3) if owned[number] and not Shard(number, 3).owns(hub))
    shares[dead].kill()
    for replica in shares:
        replica.door.writes.clear()
    env.set_rows(*((uid, 1, "gold") for uid in uids))
    living = [number for number in range(3) if number != dead]

    def done() -> bool:
        return all(touched(shares[number]) == owned[number] for number in living)

    await eventually(done, within=60)
    heir = await replicas(f"--shard={dead}/3", *leading)
    await eventually(lambda: touched(heir) == owned[dead], within=60)
    assert [touched(shares[number]) for number in living] == [owned[number] for number in living]
    for replica in (*(shares[number] for number in living), heir):
        assert await replica.stop() < 5


def touched(replica: Replica) -> set[str]:
    """Return the uids of the tenants that a process has written objects of."""
    writes = [write for write in replica.door.work() if "/configmaps/" in write.path]
    return {write.path.rpartition("/")[2].removesuffix("-settings") for write in writes}
