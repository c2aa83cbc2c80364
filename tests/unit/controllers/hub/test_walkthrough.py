"""The life of a hub from its first row to its deletion."""

from lynq.api.naming import bucket_of
from lynq.kube import Request, Response, Send
from operated.environment import FORMS, HUBS, NODES, Environment
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


async def test_three_rows_and_two_forms_become_six_nodes(env: Environment) -> None:
    env.set_rows(*ROWS, ("idle", 0, "pro"))
    await env.create_hub()
    await env.create_form("web-app")
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes(*ALL)
        await env.set_nodes_ready(ALL)

        await env.wait_for_status(referencingTemplates=2, desired=6, ready=6, failed=0)
        assert (await env.condition("Ready"))["reason"] == "DatabaseConnected"
        node = (await env.nodes())["acme-worker"]
        bucket = str(bucket_of(env.namespace, "acme-worker"))
        labels = {"lynq.sh/hub": "hub", "lynq.sh/uid": "acme", "lynq.sh/bucket": bucket}
        assert node["metadata"]["labels"] == labels
        assert node["spec"]["configMaps"][0]["nameTemplate"] == "acme-settings"
        assert "lynq.sh/hub-finalizer" in (await env.get(HUBS, "hub"))["metadata"]["finalizers"]


async def test_deleted_form_deletes_its_nodes(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form("web-app")
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes(*ALL)
        await env.client.delete(FORMS, "worker", env.namespace)

        await env.wait_for_nodes("acme-web-app", "beta-web-app", "corp-web-app")
        await env.wait_for_status(referencingTemplates=1, desired=3)
        assert 'LynqNode "beta-worker"' in await env.wait_for_event(
            "LynqNodeDeleted", containing="beta-worker"
        )
        await env.wait_for_event("LynqNodeDeleting", containing="its form was deleted")


async def test_deactivated_row_deletes_its_nodes(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub(sync_interval="1s")
    await env.create_form("web-app")
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes(*ALL)
        env.set_rows(("acme", 1, "pro"), ("beta", 0, "free"), ("corp", 1, "pro"))

        await env.wait_for_nodes("acme-web-app", "acme-worker", "corp-web-app", "corp-worker")
        await env.wait_for_status(desired=4, referencingTemplates=2)


async def test_changed_row_and_form_reach_the_nodes(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web", "beta-web", "corp-web")
        env.set_rows(("acme", 1, "enterprise"), *ROWS[1:])
        await env.force_sync()

        async def extra() -> bool:
            annotations = (await env.get(NODES, "acme-web"))["metadata"]["annotations"]
            return bool(annotations["lynq.sh/extra"] == '{"plan":"enterprise"}')

        await eventually(extra)
        await env.wait_for_event("DataUpdated", containing='uid "acme"')

        resource = (await env.get(FORMS, "web"))["spec"]["configMaps"][0]
        renamed = {"spec": {"configMaps": [resource | {"nameTemplate": "{{ .uid }}-new"}]}}
        await env.patch(FORMS, "web", renamed)

        async def is_renamed() -> bool:
            specs = [node["spec"] for node in (await env.nodes()).values()]
            return all(spec["configMaps"][0]["nameTemplate"].endswith("-new") for spec in specs)

        await eventually(is_renamed)
        await env.wait_for_event("TemplateApplied", containing='uid "corp"')


async def test_edited_node_is_restored(env: Environment) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        reads = env.context.hubs.values()[0].status.last_sync_time
        await env.patch(NODES, "acme-web", {"spec": {"uid": "other"}})

        async def restored() -> bool:
            return bool((await env.get(NODES, "acme-web"))["spec"]["uid"] == "acme")

        await eventually(restored)
        await env.wait_for_event("DriftCorrected")
        assert env.context.hubs.values()[0].status.last_sync_time == reads


async def test_deleted_node_is_recreated(env: Environment) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        uid = (await env.get(NODES, "acme-web"))["metadata"]["uid"]
        await env.client.delete(NODES, "acme-web", env.namespace)

        async def recreated() -> bool:
            nodes = await env.nodes()
            return "acme-web" in nodes and nodes["acme-web"]["metadata"]["uid"] != uid

        await eventually(recreated)


async def test_deleted_hub_outlives_its_nodes(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form("web-app")
    await env.create_form("worker")

    async with env.run_controllers():
        await env.wait_for_nodes(*ALL)
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        assert await env.node_names() == []
        await env.wait_for_event("LynqNodeDeleted", containing="its hub is being deleted")
        labels = {"hub": "hub", "namespace": env.namespace}
        await eventually(lambda: env.registry.get_sample_value("hub_desired", labels) is None)


async def test_deleted_hub_outlives_node_without_label(env: Environment) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await eventually(env.node_names)
        [name] = await env.node_names()
        # Paused, so that the hub does not restore the label.
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_condition("Paused", "True")
        await env.patch(NODES, name, {"metadata": {"labels": {"lynq.sh/hub": None}}})
        await env.wait_until_idle()
        await env.client.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        assert await env.node_names() == []


async def test_orphaning_delete_keeps_nodes(env: Environment) -> None:
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        await env.client.delete(HUBS, "hub", env.namespace, propagation="Orphan")
        await env.wait_for_deletion(HUBS, "hub")
        node = (await env.nodes())["acme-web"]
        assert "deletionTimestamp" not in node["metadata"]
        assert not node["metadata"].get("ownerReferences")


async def test_node_that_was_released_is_not_deleted_with_the_hub(env: Environment) -> None:
    """The watch of nodes may be behind the watch of hubs."""
    env.set_rows(ROWS[0])
    await env.create_hub()
    await env.create_form()
    outside, is_released = env.client, False

    async def release_before_deletion(request: Request, send: Send) -> Response:
        nonlocal is_released
        if request.verb == "delete" and request.path.endswith("/acme-web") and not is_released:
            is_released = True
            released = {"metadata": {"ownerReferences": None}}
            await outside.patch(NODES, "acme-web", released, env.namespace)
        return await send(request)

    env.client = env.client.intercepted(release_before_deletion)
    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        await outside.delete(HUBS, "hub", env.namespace)
        await env.wait_for_deletion(HUBS, "hub")
        assert is_released
        assert "deletionTimestamp" not in (await env.nodes())["acme-web"]["metadata"]


async def test_failed_node_deletion_is_reported_and_retried(env: Environment) -> None:
    env.set_rows(*ROWS)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web", "beta-web", "corp-web")
        env.requests.failing.add(("delete", "/beta-web"))
        await env.client.delete(HUBS, "hub", env.namespace)

        await env.wait_for_event("CleanupFailed", containing="beta-web")
        await env.wait_for_event("LynqNodeDeletionFailed", containing="beta-web")
        await env.wait_for_nodes("beta-web")
        env.requests.failing.clear()
        await env.wait_for_deletion(HUBS, "hub")
        assert await env.node_names() == []
