"""A hub from its first row to its deletion, as the seeds describe it."""

from cluster.controllers.stage import FORMS, HUBS, NODES, Stage
from waiting import eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "free"), ("corp", 1, "pro"))
ALL = (
    "acme-web-app",
    "acme-worker",
    "beta-web-app",
    "beta-worker",
    "corp-web-app",
    "corp-worker",
)


async def test_three_rows_and_two_forms_make_six_nodes(stage: Stage) -> None:
    stage.rows(*ROWS, ("idle", 0, "pro"))
    await stage.hub()
    await stage.form("web-app")
    await stage.form("worker")

    async with stage.operator():
        await stage.has_nodes(*ALL)
        await stage.make_ready(ALL)

        await stage.has_status(referencingTemplates=2, desired=6, ready=6, failed=0)
        assert (await stage.condition("Ready"))["reason"] == "DatabaseConnected"
        node = (await stage.nodes())["acme-worker"]
        assert node["metadata"]["labels"] == {"lynq.sh/hub": "hub", "lynq.sh/uid": "acme"}
        assert node["spec"]["configMaps"][0]["nameTemplate"] == "acme-settings"
        assert "lynq.sh/hub-finalizer" in (await stage.get(HUBS, "hub"))["metadata"]["finalizers"]


async def test_a_deleted_form_takes_its_nodes_along(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form("web-app")
    await stage.form("worker")

    async with stage.operator():
        await stage.has_nodes(*ALL)
        await stage.client.delete(FORMS, "worker", stage.namespace)

        await stage.has_nodes("acme-web-app", "beta-web-app", "corp-web-app")
        await stage.has_status(referencingTemplates=1, desired=3)
        assert 'LynqNode "beta-worker"' in await stage.has_event(
            "LynqNodeDeleted", containing="beta-worker"
        )
        await stage.has_event("LynqNodeDeleting", containing="its form is gone")


async def test_a_deactivated_row_takes_its_nodes_along(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub(source={"syncInterval": "1s"})
    await stage.form("web-app")
    await stage.form("worker")

    async with stage.operator():
        await stage.has_nodes(*ALL)
        stage.rows(("acme", 1, "pro"), ("beta", 0, "free"), ("corp", 1, "pro"))

        await stage.has_nodes("acme-web-app", "acme-worker", "corp-web-app", "corp-worker")
        await stage.has_status(desired=4, referencingTemplates=2)


async def test_new_values_and_a_new_form_reach_the_nodes(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web", "beta-web", "corp-web")
        stage.rows(("acme", 1, "enterprise"), *ROWS[1:])
        await stage.read_again()

        async def extra() -> bool:
            annotations = (await stage.get(NODES, "acme-web"))["metadata"]["annotations"]
            return bool(annotations["lynq.sh/extra"] == '{"plan":"enterprise"}')

        await eventually(extra)
        await stage.has_event("DataUpdated", containing='uid "acme"')

        resource = (await stage.get(FORMS, "web"))["spec"]["configMaps"][0]
        renamed = {"spec": {"configMaps": [resource | {"nameTemplate": "{{ .uid }}-new"}]}}
        await stage.change(FORMS, "web", renamed)

        async def is_renamed() -> bool:
            specs = [node["spec"] for node in (await stage.nodes()).values()]
            return all(spec["configMaps"][0]["nameTemplate"].endswith("-new") for spec in specs)

        await eventually(is_renamed)
        await stage.has_event("TemplateApplied", containing='uid "corp"')


async def test_an_edited_node_is_put_right(stage: Stage) -> None:
    stage.rows(ROWS[0])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.settles()
        reads = stage.world.hubs.values()[0].status.last_sync_time
        await stage.change(NODES, "acme-web", {"spec": {"uid": "other"}})

        async def right() -> bool:
            return bool((await stage.get(NODES, "acme-web"))["spec"]["uid"] == "acme")

        await eventually(right)
        await stage.has_event("DriftCorrected")
        assert stage.world.hubs.values()[0].status.last_sync_time == reads


async def test_a_node_deleted_by_others_is_made_again(stage: Stage) -> None:
    stage.rows(ROWS[0])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        uid = (await stage.get(NODES, "acme-web"))["metadata"]["uid"]
        await stage.client.delete(NODES, "acme-web", stage.namespace)

        async def another() -> bool:
            nodes = await stage.nodes()
            return "acme-web" in nodes and nodes["acme-web"]["metadata"]["uid"] != uid

        await eventually(another)


async def test_a_deleted_hub_goes_after_its_nodes(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form("web-app")
    await stage.form("worker")

    async with stage.operator():
        await stage.has_nodes(*ALL)
        await stage.client.delete(HUBS, "hub", stage.namespace)
        await stage.is_gone(HUBS, "hub")
        assert await stage.names() == []
        await stage.has_event("LynqNodeDeleted", containing="its hub is being deleted")
        assert (
            stage.registry.get_sample_value(
                "hub_desired", {"hub": "hub", "namespace": stage.namespace}
            )
            is None
        )


async def test_a_deleted_hub_goes_after_a_node_that_has_lost_its_label(stage: Stage) -> None:
    stage.rows(ROWS[0])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await eventually(stage.names)
        [name] = await stage.names()
        # Paused: otherwise the label would be put back.
        await stage.change(HUBS, "hub", {"spec": {"paused": True}})
        await stage.has_condition("Paused", "True")
        await stage.change(NODES, name, {"metadata": {"labels": {"lynq.sh/hub": None}}})
        await stage.settles()
        await stage.client.delete(HUBS, "hub", stage.namespace)
        await stage.is_gone(HUBS, "hub")
        assert await stage.names() == []


async def test_nodes_of_an_orphaning_delete_stay(stage: Stage) -> None:
    stage.rows(ROWS[0])
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web")
        await stage.settles()
        await stage.client.delete(HUBS, "hub", stage.namespace, propagation="Orphan")
        await stage.is_gone(HUBS, "hub")
        node = (await stage.nodes())["acme-web"]
        assert "deletionTimestamp" not in node["metadata"]
        assert not node["metadata"].get("ownerReferences")


async def test_a_failing_clean_up_is_told_and_tried_again(stage: Stage) -> None:
    stage.rows(*ROWS)
    await stage.hub()
    await stage.form()

    async with stage.operator():
        await stage.has_nodes("acme-web", "beta-web", "corp-web")
        stage.traffic.refuse.add(("delete", "/beta-web"))
        await stage.client.delete(HUBS, "hub", stage.namespace)

        await stage.has_event("CleanupFailed", containing="beta-web")
        await stage.has_event("LynqNodeDeletionFailed", containing="beta-web")
        await stage.has_nodes("beta-web")
        stage.traffic.refuse.clear()
        await stage.is_gone(HUBS, "hub")
        assert await stage.names() == []
