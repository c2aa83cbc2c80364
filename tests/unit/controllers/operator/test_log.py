"""The log of the operator: a line per change, none while idle, and never a value of a row."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from structlog.testing import capture_logs

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import NODES, Environment
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually, stays

FIRST, SECOND = "s3cr3t-plan-4711", "s3cr3t-plan-4712"


def events(logs: Sequence[Any]) -> list[str]:
    return [log["event"] for log in logs]


def quiet_for_a_second(logs: Sequence[Any]) -> Callable[[], Awaitable[bool]]:
    """Return a condition: no line was logged within a second."""

    async def quiet() -> bool:
        count = len(logs)
        await asyncio.sleep(1)
        return len(logs) == count

    return quiet


async def test_log_follows_a_row_without_its_values(env: Environment) -> None:
    with capture_logs() as logs:
        async with running_operator(env):
            env.set_rows(("acme", 1, FIRST))
            await env.create_hub()
            await env.create_form()
            await eventually(lambda: "acme-web" in [log.get("node") for log in logs], every=0.05)
            await wait_for_node_ready(env, "acme-web")

            env.set_rows(("acme", 1, SECOND))
            await env.force_sync()
            await eventually(lambda: "node updated" in events(logs), every=0.05)

            env.set_rows(("acme", 0, SECOND))
            await env.force_sync()
            await wait_for_deletion(env, CONFIG_MAPS, "acme-settings")
            await wait_for_deletion(env, NODES, "acme-web")
            await eventually(lambda: events(logs).count("rows synced") == 3, every=0.05)
            await eventually(quiet_for_a_second(logs), within=30)

            count = len(logs)
            await env.force_sync()

            def nothing_logged() -> bool:
                assert logs[count:] == []
                return True

            await stays(nothing_logged, seconds=1.5)
    for event in ("node created", "node updated", "node deleted", "node reconciled"):
        assert event in events(logs), events(logs)
    synced = [log for log in logs if log["event"] == "rows synced"]
    assert [(log["creates"], log["updates"], log["deletes"]) for log in synced] == [
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    changed = next(log for log in logs if log["event"] == "variables changed")
    assert (changed["log_level"], changed["variables"]) == ("debug", ["plan"])
    rendered = next(log for log in logs if log["event"] == "variables rendered")
    assert "plan" in rendered["variables"]
    assert "s3cr3t" not in repr(logs)
