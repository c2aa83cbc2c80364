"""A render during which the process is killed: twice it is repeated, then it is skipped."""

from functools import partial
from pathlib import Path

import pytest

from faults.conftest import Replicas
from lynq.api import LynqNode, Metadata, NodeSpec
from lynq.core.node.render import JournalEntries
from lynq.core.render_journal import JournalRecord, decode
from operated.environment import Environment, config_map
from operated.running_operator import (
    get_node,
    node_condition,
    resource_status,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

pytestmark = pytest.mark.timing

SLOW = (
    '{{ if eq .plan "slow" }}{{ range until 20 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}'
    "{{ end }}{{ .plan }}"
)
"""A text that takes 3.4 s to render for some rows: long enough for a kill."""
OTHERS = ("beta", "corp")


def record_of(scratch: Path) -> JournalRecord:
    return decode((scratch / "renders").read_bytes())


async def test_render_of_two_killed_processes_is_skipped_until_the_row_changes(
    env: Environment, replicas: Replicas, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scratch = tmp_path / "scratch"
    metadata = Metadata(name="evil-web", namespace=env.namespace)
    node = LynqNode(metadata=metadata, spec=NodeSpec(uid="evil", template_ref="web"))
    subject = JournalEntries.of(node).entry("settings", with_body=True).subject
    others = [(uid, 1, "pro") for uid in OTHERS]
    env.set_rows(("evil", 1, "slow"), *others)
    await env.create_hub(sync_interval="1s")
    await env.create_form(configMaps=[config_map(SLOW)])
    replica = await replicas(f"--scratch-dir={scratch}")

    def renders_alone(*, after_kill: bool) -> bool:
        record = record_of(scratch)
        # Else it is the record of the process before, which the new one has not read yet.
        is_new = bool(record.last_under_way) == after_kill
        return is_new and [entry.subject for entry in record.under_way] == [subject]

    async def others_are_ready() -> bool:
        nodes = await env.nodes()
        return all(
            node_condition(nodes.get(f"{uid}-web", {}), "Ready")[0] == "True" for uid in OTHERS
        )

    await eventually((scratch / "renders").exists, within=30)
    for after_kill in (False, True):
        await eventually(partial(renders_alone, after_kill=after_kill), within=60)
        replica.kill()
        assert renders_alone(after_kill=after_kill)
        replica.start()
    request.node.user_properties.append(("kills", 2))

    # The third process serves all others.
    env.set_rows(("evil", 1, "slow"), *others, ("dora", 1, "pro"))
    entry = await wait_for_resource_state(env, "evil-web", "settings", "Failed", within=60)
    assert entry["reason"] == "TemplateRenderError"
    assert "killed twice in a row" in entry["message"]
    await wait_for_node_ready(env, "dora-web")
    assert await others_are_ready()
    assert subject not in {entry.subject for entry in record_of(scratch).under_way}
    assert resource_status(await get_node(env, "evil-web"), "settings")["state"] == "Failed"

    # A graceful restart changes nothing; a change of the row does.
    await replica.stop()
    replica.start()
    await eventually(lambda: not record_of(scratch).has_ended, within=30)
    env.set_rows(("evil", 1, "quick"), *others, ("dora", 1, "pro"))
    await wait_for_node_ready(env, "evil-web")
    assert record_of(scratch).suspects == ()
    await replica.stop()
