"""Templates at their limits: other hubs keep their latency, and the leader keeps its lease."""

import asyncio
import itertools
import time

import pytest

from cluster.controllers.environment import NODES, Environment, Object, config_map
from cluster.controllers.running_operator import (
    get_node,
    resource_status,
    wait_for_node_ready,
    wait_for_resource_state,
)
from faults.conftest import Replicas
from faults.replica import Replica
from lynq.api.names import LEASE
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, LEASES
from waiting import eventually

DERIVED = '{{ range until 20 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}'
"""A text that takes 3.4 s to render."""
SLOW_NAME = '{{ range until 95000 }}{{ $x := sha256sum "abc" }}{{ end }}{{ .uid }}'
"""A text that stays within every limit and takes 0.1 s to render."""
BOMB = '{{ range until 100000 }}{{ $x := sha256sum (printf "%d-%s" . $.plan) }}{{ end }}'
"""A text that reaches the time limit."""
STORM = 150
"""Number of nodes at the template limit."""


async def start_leader(env: Environment, replicas: Replicas) -> Replica:
    """Start an operator with leader election, and a second hub that has one ready tenant."""
    env.set_rows(("first", 1, "pro"), file="other.db")
    table = {"path": "other.db", "table": "tenants"}
    other = {"sqlite": table, "changes": "Push", "syncInterval": "1s"}
    await env.create_hub("other", source=other)
    await env.create_form("plain", hub="other")
    flags = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    replica = await replicas(*flags)
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


async def slowest_row(env: Environment, *, rows: int) -> float:
    """Insert rows into the second hub, one after the other; return the slowest row's seconds."""
    uids = ["first"]
    durations = []
    for number in range(rows):
        uids.append(f"row{number}")
        durations.append(await seconds_to_ready(env, uids))
        await asyncio.sleep(max(0.0, 1.0 - durations[-1]))
    print("seconds from row to Ready:", [f"{duration:.2f}" for duration in durations])  # noqa: T201
    return max(durations)


async def has_reported_nodes(env: Environment, count: int) -> bool:
    """Return whether this many nodes exist and have a status."""
    nodes = (await env.nodes()).values()
    return sum("status" in node for node in nodes) >= count


async def assert_lease_was_kept(env: Environment, replica: Replica) -> None:
    lease = await env.get(LEASES, LEASE)
    assert lease["spec"]["leaseTransitions"] == 0
    renewals = [write.at for write in replica.proxy.writes if write.is_lease and write.status < 400]
    gaps = [after - before for before, after in itertools.pairwise(renewals)]
    print(f"longest gap between renewals: {max(gaps):.2f} s")  # noqa: T201
    assert max(gaps) < 4
    assert not [line for line in replica.log() if line["level"] == "error"]


async def test_slow_functions_in_annotations_fail_only_their_resource(
    env: Environment, replicas: Replicas
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(("acme", 1, "pro"))
    slow = config_map(
        id="slow",
        nameTemplate="{{ .uid }}-slow",
        annotationsTemplate={f"note-{number}": DERIVED for number in range(3)},
    )
    await env.create_hub()
    # Admission denies such a form; this one was stored before.
    await env.create_form(configMaps=[config_map(), slow])

    assert await slowest_row(env, rows=4) < 2
    entry = await wait_for_resource_state(env, "acme-web", "slow", "Failed")
    assert "annotationsTemplate.note-0" in entry["message"]
    assert "derivePassword" in entry["message"]
    assert resource_status(await get_node(env, "acme-web"), "settings")["state"] == "Ready"
    await env.get(CONFIG_MAPS, "acme-settings")
    await assert_lease_was_kept(env, replica)


async def test_slow_name_templates_of_100_rows_delay_no_other_hub(
    env: Environment, replicas: Replicas
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(100)))
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form(configMaps=[config_map(nameTemplate=SLOW_NAME)])

    assert await slowest_row(env, rows=6) < 2
    message = await env.wait_for_event("TemplateRenderFailed", containing="took longer")
    assert 'form "web"' in message
    await assert_lease_was_kept(env, replica)
    assert await replica.stop() < 5


async def test_storm_of_nodes_at_the_template_limit_delays_no_other_hub(
    env: Environment, replicas: Replicas
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(STORM)))
    await env.create_hub(source={"syncInterval": "1s"})
    await env.create_form(configMaps=[config_map(BOMB)])
    # The requests of that many nodes take seconds by themselves; their renders take a minute.
    await eventually(lambda: has_reported_nodes(env, STORM + 1), within=60, every=0.5)

    assert await slowest_row(env, rows=10) < 2
    await assert_lease_was_kept(env, replica)
    assert await replica.stop() < 5


@pytest.mark.parametrize("field", ["targetNamespace", "spec"])
async def test_template_bomb_fails_only_its_resource(
    env: Environment, replicas: Replicas, field: str
) -> None:
    env.set_rows(("acme", 1, "pro"))
    bomb: Object = config_map(BOMB) if field == "spec" else config_map(targetNamespace=BOMB)
    bomb |= {"id": "bomb", "nameTemplate": "{{ .uid }}-bomb"}
    await env.create_hub()
    await env.create_form(configMaps=[config_map(), bomb])
    await replicas()

    entry = await wait_for_resource_state(env, "acme-web", "bomb", "Failed", within=30)
    assert "took longer than" in entry["message"]
    assert resource_status(await get_node(env, "acme-web"), "settings")["state"] == "Ready"
