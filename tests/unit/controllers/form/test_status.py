"""Form status: validity, node counts and rollout."""

from typing import Any

from operated.environment import FORMS, HUBS, NODES, Environment, config_map
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


async def test_form_becomes_valid_when_its_hub_appears(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_form()

    async with env.run_controllers():
        invalid = await wait_for_form_condition(env, "Valid", "False", "ValidationFailed")
        assert 'LynqHub "hub" not found' in invalid["message"]
        await env.wait_for_event("HubNotFound")
        await env.create_hub()
        await wait_for_form_condition(env, "Valid", "True", "ValidationPassed")
        await env.wait_for_event("ValidationPassed")
        await env.wait_for_nodes(*NAMES)
        await env.client.delete(HUBS, "hub", env.namespace)
        await wait_for_form_condition(env, "Valid", "False", "ValidationFailed")


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


async def test_manual_node_counts_for_its_form(env: Environment) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form(rollout={"maxSkew": 2})

    async with env.run_controllers():
        await env.wait_for_nodes(NAMES[0])
        await env.set_nodes_ready(NAMES[:1])
        await wait_for_form_condition(env, "Applied", "True", "AllNodesReady")

        metadata = {"name": "manual", "annotations": {"example.com/created-by": "test"}}
        manual = {"metadata": metadata, "spec": {"uid": "by", "templateRef": "web"}}
        await env.client.create(NODES, manual, env.namespace)
        await wait_for_form_condition(env, "Applied", "False", "NotAllNodesReady")
        status = await env.form_status()
        assert (status["totalNodes"], status["readyNodes"]) == (2, 1)
        assert status["rollout"]["totalNodes"] == 2
        await env.set_nodes_ready(["manual"])
        await wait_for_form_condition(env, "Applied", "True", "AllNodesReady")
        await env.wait_for_status(desired=1, ready=1)

        await env.client.delete(NODES, "manual", env.namespace)

        async def one_node_left() -> bool:
            return bool((await env.form_status())["totalNodes"] == 1)

        await eventually(one_node_left)


async def test_invalid_form_is_reported_and_its_nodes_are_unchanged(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES)
        broken = {"spec": {"configMaps": [config_map("{{ .plan | noSuchFunction }}")]}}
        await env.patch(FORMS, "web", broken)
        invalid = await wait_for_form_condition(env, "Valid", "False", "ValidationFailed")
        assert "noSuchFunction" in invalid["message"]
        await env.wait_for_event("ValidationFailed")
        env.set_rows(*ROWS[:2], ("new", 1, "pro"))
        await env.force_sync()
        # The node of the removed row is deleted; the new row waits for a valid form.
        await env.wait_for_nodes(*NAMES[:2])
        generations = {
            node["metadata"]["annotations"]["lynq.sh/template-generation"]
            for node in (await env.nodes()).values()
        }
        assert generations == {"1"}

        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map()]}})
        await wait_for_form_condition(env, "Valid", "True", "ValidationPassed")
        await env.wait_for_nodes(*NAMES[:2], "new-web")


async def test_restart_emits_no_event_and_writes_nothing(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()
    async with env.run_controllers():
        await wait_for_form_condition(env, "Valid", "True", "ValidationPassed")
        await env.wait_for_event("ValidationPassed")
        await env.wait_for_nodes(*NAMES)
        await env.wait_until_idle()
    version = (await env.get(FORMS, "web"))["metadata"]["resourceVersion"]

    async with env.run_controllers():
        await env.wait_until_idle()
        await env.force_sync()
        await env.wait_until_idle()

    assert (await env.get(FORMS, "web"))["metadata"]["resourceVersion"] == version
    assert len(await env.events("ValidationPassed")) == 1


async def test_rollout_status_is_reported_and_its_metrics_are_removed_with_form(
    env: Environment,
) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form(rollout={"maxSkew": 2})

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES[:2])

        async def phase(expected: str) -> bool:
            rollout = (await env.form_status()).get("rollout", {})
            return bool(rollout.get("phase") == expected)

        await eventually(lambda: phase("InProgress"))
        await env.set_nodes_ready(NAMES[:2])
        await env.wait_for_nodes(*NAMES)
        await env.set_nodes_ready(NAMES)
        await eventually(lambda: phase("Complete"))
        assert (await env.form_status())["rollout"]["completionTime"]

        labels = {"form": "web", "namespace": env.namespace}

        def phase_metric() -> float | None:
            return env.registry.get_sample_value("lynqform_rollout_phase", labels)

        assert phase_metric() == 3
        await env.client.delete(FORMS, "web", env.namespace)
        await eventually(lambda: phase_metric() is None)


async def test_paused_form_changes_no_nodes(env: Environment) -> None:
    env.set_rows(*ROWS[:2])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes(*NAMES[:2])
        await env.patch(FORMS, "web", {"spec": {"paused": True}})
        await wait_for_form_condition(env, "Paused", "True", "Paused")
        env.set_rows(ROWS[0], ROWS[2])
        await env.force_sync()
        await env.wait_until_idle()
        assert await env.node_names() == NAMES[:2]
        await env.patch(FORMS, "web", {"spec": {"paused": False}})
        await env.wait_for_nodes(NAMES[0], NAMES[2])
