"""Templates at their limits: other hubs keep their latency, and the leader keeps its lease."""

import pytest

from faults.conftest import Replicas
from faults.second_hub import assert_lease_was_kept, assert_rows_are_ready, start_leader
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import Environment, Object, config_map
from operated.running_operator import (
    get_node,
    resource_status,
    wait_for_resource_state,
)
from waiting import eventually

DERIVED = '{{ range until 20 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}'
"""A text that takes 3.4 s to render."""
SLOW_NAME = '{{ range until 95000 }}{{ $x := sha256sum "abc" }}{{ end }}{{ .uid }}'
"""A text that stays within every limit and takes 0.1 s to render."""
BOMB = '{{ range until 100000 }}{{ $x := sha256sum (printf "%d-%s" . $.plan) }}{{ end }}'
"""A text that reaches the time limit."""
STORM = 150
"""Number of nodes at the template limit."""


async def has_reported_nodes(env: Environment, count: int) -> bool:
    """Return whether this many nodes exist and have a status."""
    nodes = (await env.nodes()).values()
    return sum("status" in node for node in nodes) >= count


@pytest.mark.timing
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

    await assert_rows_are_ready(env, rows=4, within=2)
    entry = await wait_for_resource_state(env, "acme-web", "slow", "Failed")
    assert "annotationsTemplate.note-0" in entry["message"]
    assert "derivePassword" in entry["message"]
    assert resource_status(await get_node(env, "acme-web"), "settings")["state"] == "Ready"
    await env.get(CONFIG_MAPS, "acme-settings")
    await assert_lease_was_kept(env, replica)


@pytest.mark.timing
async def test_slow_name_templates_of_100_rows_delay_no_other_hub(
    env: Environment, replicas: Replicas
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(*((f"t{number:03}", 1, "pro") for number in range(100)))
    await env.create_hub(sync_interval="1s")
    await env.create_form(configMaps=[config_map(nameTemplate=SLOW_NAME)])

    await assert_rows_are_ready(env, rows=6, within=2)
    message = await env.wait_for_event("TemplateRenderFailed", containing="took longer")
    assert 'form "web"' in message
    await assert_lease_was_kept(env, replica)
    await replica.stop()


@pytest.mark.timing
async def test_storm_of_nodes_at_the_template_limit_delays_no_other_hub(
    env: Environment, replicas: Replicas
) -> None:
    replica = await start_leader(env, replicas)
    env.set_rows(*((f"t{number:04}", 1, "pro") for number in range(STORM)))
    await env.create_hub(sync_interval="1s")
    await env.create_form(configMaps=[config_map(BOMB)])
    # The requests of that many nodes take seconds by themselves; their renders take a minute.
    await eventually(lambda: has_reported_nodes(env, STORM + 1), within=60, every=0.5)

    await assert_rows_are_ready(env, rows=10, within=2)
    await assert_lease_was_kept(env, replica)
    await replica.stop()


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
