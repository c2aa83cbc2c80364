"""`lynq wait`: prints each change and returns when the goal is reached, or after the timeout."""

import asyncio
import re

from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from operated.environment import FORMS, NODES, Environment, config_map


def without_times(text: str) -> list[str]:
    assert all(re.match(r"\d\d:\d\d:\d\d  ", line) for line in text.splitlines())
    return [line[10:] for line in text.splitlines()]


async def test_wait_for_a_row_that_does_not_exist_yet(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows()
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True")
        waiting = asyncio.create_task(run_lynq("wait", "node/acme", "--timeout", "20s"))
        env.set_rows(("acme", 1, "gold"))
        await env.force_sync()
        await env.wait_for_nodes("acme-web")
        await env.set_nodes_ready(["acme-web"], ready=False)
        await env.set_nodes_ready(["acme-web"])
        result = await waiting
    lines = without_times(result.stdout)
    assert result.exit_code == ExitCode.OK
    assert lines[-1] == "node/acme: ready"
    assert all(line.startswith("node/acme: ") for line in lines)


async def test_wait_ends_at_the_timeout_with_its_exit_code(
    env: Environment, run_lynq: Lynq
) -> None:
    env.set_rows(("acme", 1, "gold"))
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.set_nodes_ready(["acme-web"], ready=False)
        result = await run_lynq("wait", "form/web", "--timeout", "2s")
    assert result.exit_code == ExitCode.TIMEOUT
    assert without_times(result.stdout)[-1] == "form/web: 0 of 1 nodes ready; not yet: acme-web"
    assert result.stderr == "Error: form/web is not ready after 2 s.\n"


async def test_wait_for_a_rollout_ends_with_the_last_node(env: Environment, run_lynq: Lynq) -> None:
    env.set_rows(("a", 1, "gold"), ("b", 1, "gold"))
    await env.create_hub()
    await env.create_form(rollout={"maxSkew": 1})
    async with env.run_controllers():
        await env.wait_for_nodes("a-web")
        await env.set_nodes_ready(["a-web"])
        await env.wait_for_nodes("a-web", "b-web")
        await env.set_nodes_ready(["b-web"])
        changed = {"spec": {"configMaps": [config_map("{{ .plan }}!")]}}
        generation = (await env.patch(FORMS, "web", changed))["metadata"]["generation"]
        waiting = asyncio.create_task(
            run_lynq("wait", "web", "--for", "rolled-out", "--timeout", "30s")
        )
        while not waiting.done():
            for node in (await env.nodes()).values():
                name, annotations = node["metadata"]["name"], node["metadata"]["annotations"]
                if annotations["lynq.sh/template-generation"] == str(generation):
                    await env.set_nodes_ready([name])
            await asyncio.sleep(0.3)
        result = waiting.result()
        nodes = (await env.client.list(NODES, env.namespace)).items
    assert result.exit_code == ExitCode.OK, result.output
    assert without_times(result.stdout)[-1] == "form/web: 2 of 2 nodes rolled out"
    generations = {node["metadata"]["annotations"]["lynq.sh/template-generation"] for node in nodes}
    assert generations == {str(generation)}


async def test_invalid_duration_is_explained(run_lynq: Lynq) -> None:
    result = await run_lynq("wait", "form/web", "--timeout", "soon")
    assert result.exit_code == ExitCode.ERROR
    assert '"soon" is not a duration like 90s, 5m or 1h.' in result.stderr
