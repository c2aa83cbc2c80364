"""`lynq approve`: shows the held nodes and releases exactly them."""

import json
from pathlib import Path

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from operated.environment import HUBS, Environment

ROWS = [(f"t{number:02}", 1, "gold") for number in range(12)]


async def test_approve_releases_exactly_what_is_held(
    env: Environment, run_lynq: Lynq, tmp_path: Path
) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*(f"{uid}-web" for uid, _, _ in ROWS))
        nothing = await run_lynq("approve", "hub", "--yes")
        assert nothing.exit_code == ExitCode.ERROR
        assert nothing.stderr == (
            "Error: hub/hub: no deletion is held, so there is nothing to approve.\n"
        )
        env.set_rows()
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "True")
        digest = (await env.status())["heldDeletions"]["digest"]

        other = await run_lynq("approve", "hub", "--digest", "0" * 16, "--yes")
        assert other.exit_code == ExitCode.ERROR
        assert f"the digest of the 12 held nodes is {digest}" in other.stderr
        plan = tmp_path / "plan.json"
        guard = {"verdict": "Held", "count": 12, "digest": "1" * 16}
        plan.write_text(json.dumps({"schema": "lynq.sh/plan/v1", "changes": [], "guard": guard}))
        stale = await run_lynq("approve", "hub", "--plan", str(plan), "--yes")
        assert stale.exit_code == ExitCode.ERROR
        assert "the plan has the digest 1111111111111111" in stale.stderr
        unconfirmed = await run_lynq("approve", "hub")
        assert "not confirmed" in unconfirmed.stderr
        assert "approve-deletion" not in str((await env.get(HUBS, "hub"))["metadata"])

        approved = await run_lynq("approve", "hub", "--digest", digest, "--yes")
        assert approved.stdout == "hub/hub deletion of 12 nodes approved\n"
        shown = ", ".join(f"t{number:02}-web" for number in range(10))
        assert approved.stderr == (
            f"hub/hub holds the deletion of 12 nodes, digest {digest}:\n"
            f"  {shown} and 2 more\n"
            "Objects with deletionPolicy Retain and adopted objects are kept.\n"
            "Approve the deletion of 12 nodes and of their objects.\n"
        )
        await env.wait_for_nodes()
        await env.wait_for_condition("DeletionHeld", "False")
        assert "heldDeletions" not in await env.status()


async def test_plan_is_approved_as_it_was_shown(
    env: Environment, run_lynq: Lynq, tmp_path: Path
) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    names = [f"{uid}-web" for uid, _, _ in ROWS]
    async with env.run_controllers():
        await env.wait_for_nodes(*names)
        await env.set_nodes_ready(names)
        await env.wait_for_status(ready=12)
        env.set_rows()
        directory = ("--sqlite-dir", str(env.directory))
        planned = await run_lynq("plan", "--hub", "hub", "-o", "json", *directory)
        assert planned.exit_code == ExitCode.HELD, planned.output
        plan = tmp_path / "plan.json"
        plan.write_text(planned.stdout)
        early = await run_lynq("approve", "hub", "--plan", str(plan), "--yes")
        assert "no deletion is held" in early.stderr
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "True")
        approved = await run_lynq("approve", "hub", "--plan", str(plan), "--yes")
        assert approved.stdout == "hub/hub deletion of 12 nodes approved\n", approved.stderr
        await env.wait_for_nodes()
