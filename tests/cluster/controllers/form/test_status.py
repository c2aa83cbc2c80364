"""The walk of a form: its nodes are counted until all are ready."""

from typing import Any

from operated.environment import FORMS, Environment
from waiting import eventually

ROWS = tuple((f"t{number}", 1, "pro") for number in range(3))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


async def wait_for_form_condition(
    env: Environment, condition_type: str, status: str, reason: str, name: str = "web"
) -> Any:
    """Wait until a condition of the form has this status and reason; return the condition."""

    async def matches() -> Any:
        condition = await env.condition(condition_type, name, FORMS)
        assert (condition.get("status"), condition.get("reason")) == (status, reason), condition
        return condition

    return await eventually(matches, every=0.05)


async def test_ready_nodes_are_counted(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await wait_for_form_condition(env, "Applied", "False", "NotAllNodesReady")
        await env.set_nodes_ready(NAMES)
        ready = await wait_for_form_condition(env, "Applied", "True", "AllNodesReady")
        assert ready["message"] == "3/3 nodes ready"
        status = await env.form_status()
        assert (status["totalNodes"], status["readyNodes"]) == (3, 3)
        assert "rollout" not in status
