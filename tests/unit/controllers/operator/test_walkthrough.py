"""The documented example end to end: rows, forms, nodes and their objects."""

from built_in_resources import SERVICES
from lynq.api.naming import bucket_of
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import FORMS, HUBS, Environment, Object, config_map
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
)
from waiting import eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "free"), ("corp", 1, "pro"))
WEB = ("acme-web-app", "beta-web-app", "corp-web-app")
WORKERS = ("acme-worker", "beta-worker", "corp-worker")

SERVICE: Object = {
    "id": "service",
    "nameTemplate": "{{ .uid }}-web",
    "spec": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
}


async def create_example(env: Environment) -> None:
    """Create the hub and the two forms of the example, and wait until all nodes are ready."""
    env.set_rows(*ROWS, ("idle", 0, "pro"))
    await env.create_hub("customer-hub")
    web = config_map(nameTemplate="{{ .uid }}-web-settings")
    await env.create_form("web-app", "customer-hub", configMaps=[web], services=[SERVICE])
    worker = config_map(nameTemplate="{{ .uid }}-worker-settings")
    await env.create_form("worker", "customer-hub", configMaps=[worker])
    for name in (*WEB, *WORKERS):
        await wait_for_node_ready(env, name, within=30)


async def test_three_rows_and_two_forms_become_six_ready_nodes(env: Environment) -> None:
    async with running_operator(env):
        await create_example(env)
        await env.wait_for_nodes(*WEB, *WORKERS)
        counts = {"referencingTemplates": 2, "desired": 6, "ready": 6, "failed": 0}
        await env.wait_for_status("customer-hub", **counts)

        nodes = await env.nodes()
        hub = await env.get(HUBS, "customer-hub")
    metadata = nodes["beta-worker"]["metadata"]
    bucket = str(bucket_of(env.namespace, "beta-worker"))
    labels = {"lynq.sh/hub": "customer-hub", "lynq.sh/uid": "beta", "lynq.sh/bucket": bucket}
    assert metadata["labels"] == labels
    annotations = metadata["annotations"]
    written = ("rollout-update-start", "row-changed-at", "signature", "spec-digest")
    for name in (*written, "initial-inventory"):
        assert annotations.pop(f"lynq.sh/{name}")
    assert annotations == {
        "lynq.sh/hostOrUrl": "",
        "lynq.sh/activate": "1",
        "lynq.sh/extra": '{"plan":"free"}',
        "lynq.sh/template-generation": "1",
        "lynq.sh/rollout-budget": "Row",
        "lynq.sh/hubId": "customer-hub",
    }
    (owner,) = metadata["ownerReferences"]
    assert owner == {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqHub",
        "name": "customer-hub",
        "uid": hub["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert metadata["finalizers"] == ["lynqnode.operator.lynq.sh/finalizer"]
    status = nodes["beta-web-app"]["status"]
    assert (status["desiredResources"], status["readyResources"]) == (2, 2)
    namespace = env.namespace
    assert status["appliedResources"] == [
        f"ConfigMap/{namespace}/beta-web-settings@settings",
        f"Service/{namespace}/beta-web@service",
    ]


async def test_deleted_form_deletes_its_nodes_and_objects(env: Environment) -> None:
    async with running_operator(env):
        await create_example(env)
        await env.client.delete(FORMS, "worker", env.namespace)

        await env.wait_for_nodes(*WEB, within=30)
        for uid, *_ in ROWS:
            await wait_for_deletion(env, CONFIG_MAPS, f"{uid}-worker-settings")
        await env.wait_for_status("customer-hub", referencingTemplates=1, desired=3, ready=3)
        for uid, *_ in ROWS:
            assert await env.get(SERVICES, f"{uid}-web")
            assert await env.get(CONFIG_MAPS, f"{uid}-web-settings")


async def test_deactivated_row_deletes_its_nodes_and_objects(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_example(env)
        untouched = await env.get(CONFIG_MAPS, "acme-web-settings")
        env.set_rows(ROWS[0], ("beta", 0, "free"), ROWS[2])
        await env.force_sync("customer-hub")

        await env.wait_for_nodes(WEB[0], WEB[2], WORKERS[0], WORKERS[2], within=30)
        for name in ("beta-web-settings", "beta-worker-settings"):
            await wait_for_deletion(env, CONFIG_MAPS, name)
        await wait_for_deletion(env, SERVICES, "beta-web")
        await env.wait_for_status("customer-hub", referencingTemplates=2, desired=4, ready=4)
        assert await env.get(CONFIG_MAPS, "acme-web-settings") == untouched

        # A reactivated row gets new objects.
        env.set_rows(*ROWS)
        await env.force_sync("customer-hub")
        await wait_for_node_ready(env, "beta-web-app")
        await env.wait_for_status("customer-hub", desired=6, ready=6)


async def test_changed_row_and_form_reach_the_objects(env: Environment) -> None:
    async with running_operator(env):
        await create_example(env)
        env.set_rows(ROWS[0], ("beta", 1, "gold"), ROWS[2])
        await env.force_sync("customer-hub")

        async def has_plan(name: str, text: str) -> bool:
            return bool((await env.get(CONFIG_MAPS, name))["data"]["plan"] == text)

        await eventually(lambda: has_plan("beta-worker-settings", "gold"))
        changed = config_map("plan {{ .plan }}", nameTemplate="{{ .uid }}-worker-settings")
        await env.patch(FORMS, "worker", {"spec": {"configMaps": [changed]}})
        await eventually(lambda: has_plan("beta-worker-settings", "plan gold"))
        await eventually(lambda: has_plan("acme-worker-settings", "plan pro"))
        await env.wait_for_event("TemplateApplied")
        await env.wait_for_event("DataUpdated")


async def test_deleted_hub_deletes_its_nodes_and_objects(env: Environment) -> None:
    async with running_operator(env):
        await create_example(env)
        await env.client.delete(HUBS, "customer-hub", env.namespace)

        await env.wait_for_deletion(HUBS, "customer-hub")
        assert await env.node_names() == []
        for uid, *_ in ROWS:
            await wait_for_deletion(env, CONFIG_MAPS, f"{uid}-web-settings")
            await wait_for_deletion(env, SERVICES, f"{uid}-web")
        assert await env.get(FORMS, "worker")
