"""Renders during which two processes were killed: skipped, and retried last and alone."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.controllers.render_journal import RenderJournal
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues
from lynq.core.node.render import JournalEntries
from lynq.core.render_journal import JournalRecord, RenderEntry, decode, digest, encode
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, NODES, Environment, config_map
from operated.running_operator import (
    get_node,
    resource_status,
    running_operator,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

T = TypeVar("T")

LYNQ = digest(version("lynq"))
OTHERS = ("beta", "corp", "dora")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "lynq"


def suspect(scratch: Path, *entries: RenderEntry) -> None:
    """Leave behind what two killed processes leave."""
    scratch.mkdir(mode=0o700, exist_ok=True)
    record = JournalRecord(LYNQ, under_way=entries, last_under_way=entries)
    (scratch / "renders").write_bytes(encode(record))


def suspects(scratch: Path) -> int:
    return len(decode((scratch / "renders").read_bytes()).suspects)


async def decoded(env: Environment, resource: Resource, name: str, into: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(await env.get(resource, name)), type=into)


async def node_entry(env: Environment, name: str, resource: str) -> RenderEntry:
    node = await decoded(env, NODES, name, LynqNode)
    return JournalEntries.of(node).entry(resource, with_body=True)


async def create_tenants(env: Environment, *resources: Any) -> None:
    """Create nodes, and stop the operator when all are ready."""
    set_rows(env, "pro")
    async with running_operator(env):
        await env.create_hub(sync_interval="1s")
        await env.create_form(configMaps=[config_map(), *resources])
        for uid in ("acme", *OTHERS):
            await wait_for_node_ready(env, f"{uid}-web")


def set_rows(env: Environment, plan: str) -> None:
    env.set_rows(("acme", 1, plan), *((uid, 1, "pro") for uid in OTHERS))


async def change_row(env: Environment) -> None:
    set_rows(env, "gold")


async def change_form(env: Environment) -> None:
    await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map("new {{ .plan }}")]}})


async def force_reconcile(env: Environment) -> None:
    await env.patch(
        NODES, "acme-web", {"metadata": {"annotations": {"lynq.sh/force-reconcile": "1"}}}
    )


async def test_suspect_fails_alone_and_all_others_are_served(
    env: Environment, scratch: Path
) -> None:
    bystander = config_map(id="bystander", nameTemplate="{{ .uid }}-bystander")
    await create_tenants(env, bystander)
    suspect(scratch, await node_entry(env, "acme-web", "settings"))
    env.set_rows(("acme", 1, "pro"), *((uid, 1, "gold") for uid in OTHERS))
    async with running_operator(env, scratch_directory=scratch):
        failed = await wait_for_resource_state(env, "acme-web", "settings", "Failed")
        assert failed["reason"] == "TemplateRenderError"
        assert "killed twice in a row" in failed["message"]
        assert "lynq reconcile acme-web" in failed["message"]
        assert resource_status(await get_node(env, "acme-web"), "bystander")["state"] == "Ready"
        for uid in OTHERS:
            await wait_for_node_ready(env, f"{uid}-web")

            async def changed(name: str = f"{uid}-settings") -> bool:
                return bool((await env.get(CONFIG_MAPS, name))["data"]["plan"] == "gold")

            await eventually(changed)
        # Its object is left as it is.
        assert (await env.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == "pro"
    assert suspects(scratch) == 1


@pytest.mark.parametrize("change", [change_row, change_form, force_reconcile])
async def test_changed_suspect_is_retried(
    env: Environment, scratch: Path, change: Callable[[Environment], Any]
) -> None:
    await create_tenants(env)
    suspect(scratch, await node_entry(env, "acme-web", "settings"))
    async with running_operator(env, scratch_directory=scratch):
        await wait_for_resource_state(env, "acme-web", "settings", "Failed")
        await change(env)
        await wait_for_node_ready(env, "acme-web")
        assert suspects(scratch) == 0


async def test_suspect_changed_while_down_is_retried_last_and_alone(
    env: Environment, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_tenants(env)
    suspect(scratch, await node_entry(env, "acme-web", "settings"))
    await force_reconcile(env)
    rendered: list[tuple[bytes, int]] = []
    run = RenderJournal._run

    def recorded(journal: RenderJournal, file: Any, slot: int, entry: Any, render: Any) -> Any:
        def render_counted() -> Any:
            rendered.append((entry.subject, len(decode(file[:]).under_way)))
            return render()

        return run(journal, file, slot, entry, render_counted)

    monkeypatch.setattr(RenderJournal, "_run", recorded)
    async with running_operator(env, scratch_directory=scratch):
        await wait_for_node_ready(env, "acme-web")
        await eventually(lambda: suspects(scratch) == 0)
    subject = (await node_entry(env, "acme-web", "settings")).subject
    others = {(await node_entry(env, f"{uid}-web", "settings")).subject for uid in OTHERS}
    position = next(number for number, item in enumerate(rendered) if item[0] == subject)
    assert others <= {item[0] for item in rendered[:position]}
    assert rendered[position] == (subject, 1)


async def test_deletion_of_a_suspect_renders_nothing_of_it(env: Environment, scratch: Path) -> None:
    await create_tenants(env)
    outline = JournalEntries.of(await decoded(env, NODES, "acme-web", LynqNode))
    suspect(scratch, outline.entry("settings", with_body=False))
    env.set_rows(*((uid, 1, "pro") for uid in OTHERS))
    async with running_operator(env, scratch_directory=scratch):
        await env.wait_for_deletion(NODES, "acme-web")
        await env.wait_for_deletion(CONFIG_MAPS, "acme-settings")
    assert suspects(scratch) == 1


async def row_entry(env: Environment, uid: str, plan: str) -> RenderEntry:
    hub = await decoded(env, HUBS, "hub", LynqHub)
    form = await decoded(env, FORMS, "web", LynqForm)
    values = RowValues(uid, "1", "", f'{{"plan":"{plan}"}}')
    return DesiredNode(hub, form, values)._journal_entry


@pytest.mark.parametrize("plan", ["gold", "other"])
async def test_suspect_of_the_plan_is_no_node_until_it_changes(
    env: Environment, scratch: Path, plan: str
) -> None:
    await create_tenants(env)
    suspect(scratch, await row_entry(env, "evil", "gold"))
    env.set_rows(*((uid, 1, "pro") for uid in ("acme", *OTHERS, "fine")), ("evil", 1, plan))
    async with running_operator(env, scratch_directory=scratch):
        await wait_for_node_ready(env, "fine-web")
        if plan == "gold":
            message = await env.wait_for_event("TemplateRenderFailed", containing="killed twice")
            assert "lynq sync hub" in message
            await env.wait_for_status(desired=6, ready=5, failed=1)
            await env.force_sync()
        await wait_for_node_ready(env, "evil-web")
        assert suspects(scratch) == 0
