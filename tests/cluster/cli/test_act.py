"""`lynq sync`, `reconcile`, `pause` and `resume`."""

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from operated.environment import FORMS, HUBS, NODES, Environment
from operated.running_operator import get_node, running_operator, wait_for_node_ready
from waiting import eventually


async def test_sync_reads_new_rows(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows()
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True")
        env.set_rows(("acme", 1, "gold"))
        result = await run_lynq("sync", "hub", "--yes")
        assert result.stdout == "hub/hub sync requested\n"
        assert result.stderr == "Read the rows of hub/hub now (0 nodes are desired).\n"
        await env.wait_for_nodes("acme-web")


async def test_reconcile_applies_once(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(("acme", 1, "gold"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        result = await run_lynq("reconcile", "acme", "--yes")
        assert (result.stdout, result.stderr) == (
            "node/acme-web reconcile requested\n",
            "Apply all 1 resources of node/acme-web now.\n",
        )

        async def handled() -> bool:
            node = await get_node(env, "acme-web")
            requested = node["metadata"]["annotations"]["lynq.sh/force-reconcile"]
            return bool(node["status"].get("lastHandledForceReconcile") == requested)

        await eventually(handled)


async def test_pause_and_resume_by_kind(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(("acme", 1, "gold"))
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
    for target in ("hub/hub", "form/web", "acme-web"):
        assert (await run_lynq("pause", target, "--yes")).stdout.endswith(" paused\n")
    again = await run_lynq("pause", "hub", "--yes")
    assert (again.stdout, again.exit_code) == ("hub/hub is paused already\n", 0)
    assert (await env.get(HUBS, "hub"))["spec"]["paused"] is True
    assert (await env.get(FORMS, "web"))["spec"]["paused"] is True
    annotations = (await env.get(NODES, "acme-web"))["metadata"]["annotations"]
    assert annotations["lynq.sh/paused"] == "true"
    refused = await run_lynq("sync", "hub", "--yes")
    assert refused.exit_code == ExitCode.ERROR
    assert refused.stderr == (
        "Error: hub/hub is paused, so its rows are not read. Resume it first: lynq resume hub/hub\n"
    )
    for target in ("hub/hub", "form/web", "node/acme-web"):
        assert (await run_lynq("resume", target, "--yes")).stdout == f"{target} resumed\n"
    assert not (await env.get(HUBS, "hub"))["spec"].get("paused")
    assert "lynq.sh/paused" not in (await env.get(NODES, "acme-web"))["metadata"]["annotations"]


async def test_nothing_changes_without_a_confirmation(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows()
    hub = await env.create_hub()
    result = await run_lynq("pause", "hub")
    assert result.exit_code == ExitCode.ERROR
    assert "not confirmed" in result.stderr
    current = await env.get(HUBS, "hub")
    assert current["metadata"]["resourceVersion"] == hub["metadata"]["resourceVersion"]


async def test_ambiguous_and_unknown_names_are_explained(env: Environment, run_lynq: Lynq) -> None:
    await env.create_hub("web")
    await env.create_form("web", hub="web")
    ambiguous = await run_lynq("pause", "web", "--yes")
    assert ambiguous.stderr == 'Error: "web" is ambiguous. Write hub/web or form/web.\n'
    unknown = await run_lynq("resume", "other", "--yes")
    assert unknown.exit_code == ExitCode.ERROR
    assert unknown.stderr.startswith('Error: No hub, form or node "other" in the namespace')
    wrong_kind = await run_lynq("pause", "pod/web", "--yes")
    assert wrong_kind.stderr == 'Error: "pod/web" is not hub/NAME, form/NAME or node/NAME.\n'
