"""Shards: each receives its share of the objects, and M changes without two writers of a node."""

from collections import Counter

from faults.conftest import Replicas
from faults.replica import Replica
from lynq.api.naming import bucket_of
from lynq.controllers.options import Shard
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, Environment, config_map
from operated.running_operator import wait_for_node_ready
from waiting import eventually

NODES = 80


async def create_tenants(env: Environment, uids: list[str]) -> None:
    env.set_rows(*((uid, 1, "pro") for uid in uids))
    await env.create_hub(sync_interval="1s")
    await env.create_form()


async def test_shard_receives_only_its_share_of_the_objects(env: Environment) -> None:
    uids = [f"t{number:03}" for number in range(NODES)]
    for uid in uids:
        bucket = bucket_of(env.namespace, f"{uid}-web")
        labels = {"lynq.sh/managed": "true", "lynq.sh/bucket": str(bucket)}
        metadata = {"name": f"{uid}-settings", "namespace": env.namespace, "labels": labels}
        await env.client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"plan": "pro"}})
    unlabelled = {"name": "old", "namespace": env.namespace, "labels": {"lynq.sh/managed": "true"}}
    await env.client.create(CONFIG_MAPS, {"metadata": unlabelled})

    received: Counter[str] = Counter()
    for number in range(4):
        listed = await env.client.list(
            CONFIG_MAPS, env.namespace, labels=Shard(number, 4).selector()
        )
        names = [item["metadata"]["name"] for item in listed.items]
        received.update(names)
        assert ("old" in names) == (number == 0)
        owned = [uid for uid in uids if bucket_of(env.namespace, f"{uid}-web") % 4 == number]
        assert sorted(set(names) - {"old"}) == [f"{uid}-settings" for uid in owned]
    assert received == Counter({f"{uid}-settings": 1 for uid in uids} | {"old": 1})


async def test_m_changes_while_rows_change_and_no_node_has_two_writers(
    env: Environment, replicas: Replicas
) -> None:
    uids = [f"t{number:02}" for number in range(8)]
    await create_tenants(env, uids)
    leading = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    old = await replicas(*leading)
    for uid in uids:
        await wait_for_node_ready(env, f"{uid}-web", within=60)
    new = [await replicas(f"--shard={number}/2", *leading) for number in range(2)]
    waiting = "waiting for the lease of another shard"
    await eventually(lambda: all(each.has_logged(waiting) for each in new), within=120, every=0.2)
    old.proxy.writes.clear()
    env.set_rows(*((uid, 1, "gold") for uid in uids))
    await eventually(lambda: written([old]) == set(uids), within=60)
    assert not any(replica.proxy.resource_writes() for replica in new)

    await old.stop()
    changed = config_map("{{ .plan }} changed")
    await env.patch(FORMS, "web", {"spec": {"configMaps": [changed]}})
    await eventually(lambda: written(new) == set(uids), within=60)
    last = max(write.at for write in old.proxy.resource_writes())
    first = min(write.at for replica in new for write in replica.proxy.resource_writes())
    assert last < first
    assert not written(new[:1]) & written(new[1:])


def written(replicas: list[Replica]) -> set[str]:
    """Return the uids whose ConfigMaps these processes have written."""
    paths = [
        write.path
        for replica in replicas
        for write in replica.proxy.resource_writes()
        if "/configmaps/" in write.path
    ]
    return {path.rpartition("/")[2].removesuffix("-settings") for path in paths}
