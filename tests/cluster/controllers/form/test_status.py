"""What a form says of itself: valid or not, how many nodes are ready, how far its rollout is."""

from typing import Any

from cluster.controllers.stage import FORMS, HUBS, NODES, Stage, config_map
from waiting import eventually

ROWS = tuple((f"t{number}", 1, "pro") for number in range(3))
NAMES = [f"{uid}-web" for uid, *_ in ROWS]


async def says(stage: Stage, aspect: str, status: str, reason: str, name: str = "web") -> Any:
    async def so() -> Any:
        found = await stage.condition(aspect, name, FORMS)
        assert (found.get("status"), found.get("reason")) == (status, reason), found
        return found

    return await eventually(so, every=0.05)


async def test_a_form_is_valid_when_its_hub_appears(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.form()

    async with stage.operator():
        invalid = await says(stage, "Valid", "False", "ValidationFailed")
        assert 'no LynqHub "hub"' in invalid["message"]
        await stage.has_event("HubNotFound")
        await stage.hub()
        await says(stage, "Valid", "True", "ValidationPassed")
        await stage.has_event("ValidationPassed")
        await stage.has_nodes(*NAMES)
        await stage.client.delete(HUBS, "hub", stage.namespace)
        await says(stage, "Valid", "False", "ValidationFailed")


async def test_nodes_are_counted_as_they_become_ready(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES)
        await says(stage, "Applied", "False", "NotAllNodesReady")
        await stage.make_ready(NAMES)
        ready = await says(stage, "Applied", "True", "AllNodesReady")
        assert ready["message"] == "3/3 nodes ready"
        status = await stage.form_status()
        assert (status["totalNodes"], status["readyNodes"]) == (3, 3)
        assert "rollout" not in status


async def test_a_node_made_by_hand_counts_for_the_form_that_it_names(stage: Stage) -> None:
    stage.rows(ROWS[0])
    await stage.hub()
    await stage.form(rollout={"maxSkew": 2})

    async with stage.operator():
        await stage.has_nodes(NAMES[0])
        await stage.make_ready(NAMES[:1])
        await says(stage, "Applied", "True", "AllNodesReady")

        metadata = {"name": "by-hand", "annotations": {"example.com/made": "by hand"}}
        by_hand = {"metadata": metadata, "spec": {"uid": "by", "templateRef": "web"}}
        await stage.client.create(NODES, by_hand, stage.namespace)
        await says(stage, "Applied", "False", "NotAllNodesReady")
        status = await stage.form_status()
        assert (status["totalNodes"], status["readyNodes"]) == (2, 1)
        assert status["rollout"]["totalNodes"] == 2
        await stage.make_ready(["by-hand"])
        await says(stage, "Applied", "True", "AllNodesReady")
        await stage.has_status(desired=1, ready=1)

        await stage.client.delete(NODES, "by-hand", stage.namespace)

        async def is_alone() -> bool:
            return bool((await stage.form_status())["totalNodes"] == 1)

        await eventually(is_alone)


async def test_an_invalid_form_is_told_and_its_nodes_stay_as_they_are(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES)
        broken = {"spec": {"configMaps": [config_map("{{ .plan | noSuchFunction }}")]}}
        await stage.change(FORMS, "web", broken)
        invalid = await says(stage, "Valid", "False", "ValidationFailed")
        assert "noSuchFunction" in invalid["message"]
        await stage.has_event("ValidationFailed")
        stage.rows(*ROWS[:2], ("new", 1, "pro"))
        await stage.read_again()
        # The vanished row takes its node along; the new one waits for a form that can be used.
        await stage.has_nodes(*NAMES[:2])
        generations = {
            node["metadata"]["annotations"]["lynq.sh/template-generation"]
            for node in (await stage.nodes()).values()
        }
        assert generations == {"1"}

        await stage.change(FORMS, "web", {"spec": {"configMaps": [config_map()]}})
        await says(stage, "Valid", "True", "ValidationPassed")
        await stage.has_nodes(*NAMES[:2], "new-web")


async def test_a_restart_repeats_no_event_and_writes_nothing(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()
    async with stage.operator():
        await says(stage, "Valid", "True", "ValidationPassed")
        await stage.has_event("ValidationPassed")
        await stage.has_nodes(*NAMES)
        await stage.settles()
    version = (await stage.get(FORMS, "web"))["metadata"]["resourceVersion"]

    async with stage.operator():
        await stage.settles()
        await stage.read_again()
        await stage.settles()

    assert (await stage.get(FORMS, "web"))["metadata"]["resourceVersion"] == version
    assert len(await stage.events("ValidationPassed")) == 1


async def test_a_rollout_is_followed_and_its_series_go_with_the_form(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form(rollout={"maxSkew": 2})

    async with stage.operator():
        await stage.has_nodes(*NAMES[:2])

        async def phase(wanted: str) -> bool:
            rollout = (await stage.form_status()).get("rollout", {})
            return bool(rollout.get("phase") == wanted)

        await eventually(lambda: phase("InProgress"))
        await stage.make_ready(NAMES[:2])
        await stage.has_nodes(*NAMES)
        await stage.make_ready(NAMES)
        await eventually(lambda: phase("Complete"))
        assert (await stage.form_status())["rollout"]["completionTime"]

        labels = {"form": "web", "namespace": stage.namespace}

        def shown() -> float | None:
            return stage.registry.get_sample_value("lynqform_rollout_phase", labels)

        assert shown() == 3
        await stage.client.delete(FORMS, "web", stage.namespace)
        await eventually(lambda: shown() is None)


async def test_a_paused_form_hands_nothing_on(stage: Stage) -> None:
    stage.rows(*ROWS[:2])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes(*NAMES[:2])
        await stage.change(FORMS, "web", {"spec": {"paused": True}})
        await says(stage, "Paused", "True", "Paused")
        stage.rows(ROWS[0], ROWS[2])
        await stage.read_again()
        await stage.settles()
        assert await stage.names() == NAMES[:2]
        await stage.change(FORMS, "web", {"spec": {"paused": False}})
        await stage.has_nodes(NAMES[0], NAMES[2])
