"""maxSkew: slots are freed by events, and a restart keeps the limit."""

from operated.environment import FORMS, Environment, config_map
from waiting import eventually

ROWS = tuple((f"t{number}", 1, "pro") for number in range(4))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]
ONE = {"maxSkew": 1}


async def generations(env: Environment) -> dict[str, str]:
    nodes = await env.nodes()
    return {
        name: node["metadata"]["annotations"]["lynq.sh/template-generation"]
        for name, node in nodes.items()
    }


async def updated(env: Environment, generation: str) -> list[str]:
    return sorted(
        name for name, current in (await generations(env)).items() if current == generation
    )


async def test_nodes_are_created_one_by_one_on_readiness_events(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form(rollout=ONE)

    async with env.run_controllers():
        for number, name in enumerate(NAMES, start=1):
            # Far sooner than the sync interval of an hour.
            await env.wait_for_nodes(*NAMES[:number])
            await env.nodes_stay(*NAMES[:number], seconds=0.3)
            await env.set_nodes_ready([name])
        await env.wait_for_status(ready=4)
        await env.wait_for_event("RolloutThrottled", containing="maxSkew is 1")

        async def complete() -> bool:
            rollout = (await env.form_status())["rollout"]
            return bool(rollout["phase"] == "Complete" and rollout["readyUpdatedNodes"] == 4)

        await eventually(complete)


async def test_restart_resumes_rollout(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        await env.set_nodes_ready(NAMES)
        await env.wait_until_idle()
        changed = {"configMaps": [config_map("{{ .plan }}!")], "rollout": {"maxSkew": 2}}
        await env.patch(FORMS, "web", {"spec": changed})

        async def two() -> list[str]:
            return names if len(names := await updated(env, "2")) == 2 else []

        first = await eventually(two)
        await env.wait_until_idle()
        assert len(await updated(env, "2")) == 2

    async with env.run_controllers():
        await env.wait_until_idle()
        assert await updated(env, "2") == first
        await env.set_nodes_ready(first[:1])

        async def three() -> bool:
            return len(await updated(env, "2")) == 3

        await eventually(three)
        await env.wait_until_idle()
        assert len(await updated(env, "2")) == 3
        assert (await env.form_status())["rollout"]["updatingNodes"] == 2


async def test_unready_workloads_keep_rollout_slot(env: Environment) -> None:
    env.set_rows(*ROWS[:2])
    env.workloads["t0-web"] = False
    await env.create_hub()
    await env.create_form(rollout=ONE)

    async with env.run_controllers():
        await env.wait_for_nodes("t0-web")
        await env.set_nodes_ready(["t0-web"])
        await env.nodes_stay("t0-web", seconds=1.5)
        # No watch event announces the change of the workload; the hub polls it.
        env.workloads["t0-web"] = True
        await env.wait_for_nodes("t0-web", "t1-web")


async def test_deleted_node_frees_rollout_slot(env: Environment) -> None:
    env.set_rows(*ROWS[:2])
    await env.create_hub()
    await env.create_form(rollout=ONE)

    async with env.run_controllers():
        await env.wait_for_nodes("t0-web")
        env.set_rows(ROWS[1])
        await env.force_sync()
        await env.wait_for_nodes("t1-web")
