"""Deletions that are being sent stop when a user withdraws the approval or pauses the form."""

from dataclasses import replace

import pytest

from lynq.core.hub import plan_cache
from lynq.core.hub.plan import HubPlan, plan_hub
from operated.environment import FORMS, QUICK, Environment
from unit.controllers.hub.test_write_turns import NAMES, ROWS, delay_node_writes
from virtual_time import VirtualTimeLoop
from waiting import eventually, stays

TURN = 40
"""More deletions than are sent in a turn."""


@pytest.fixture(autouse=True)
def slow_deletions(
    env: Environment, virtual_loop: VirtualTimeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send a few dozen deletions per second, and plan as slowly as for thousands of nodes."""

    def plan_slowly(*args: object, **kwargs: object) -> HubPlan:
        virtual_loop.advance(1)
        return plan_hub(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(plan_cache, "plan_hub", plan_slowly)
    env.timing = replace(QUICK, hub_write_turn=0.03)
    delay_node_writes(env, "delete", 1.0)


async def begin_approved_deletion(env: Environment) -> None:
    """Approve the deletion of all nodes, and wait until some deletions are sent."""
    await env.wait_for_nodes(*NAMES)
    env.set_rows()
    await env.force_sync()
    held = await env.wait_for_condition("DeletionHeld", "True")
    await env.annotate("hub", approve_deletion=held["message"].rpartition(", ")[2])
    await eventually(lambda: env.requests.count("delete") > 0)


async def deletions_stop(env: Environment) -> None:
    """Check that at most one more turn is sent."""
    sent = env.requests.count("delete")
    await stays(lambda: env.requests.count("delete") - sent < TURN, seconds=3)
    assert await env.nodes()


async def test_withdrawn_approval_stops_the_rest_of_the_deletions(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await begin_approved_deletion(env)
        await env.annotate("hub", approve_deletion=None)
        await deletions_stop(env)
        await env.wait_for_condition("DeletionHeld", "True")


async def test_paused_form_stops_the_rest_of_its_deletions(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await begin_approved_deletion(env)
        await env.patch(FORMS, "web", {"spec": {"paused": True}})
        await deletions_stop(env)
