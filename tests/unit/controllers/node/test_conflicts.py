"""conflictPolicy: Stuck and Force on objects with fields of other managers."""

from lynq.kube import ClientOptions, Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from memory.api_server import MemoryApiServer
from operated.builders import (
    NODE,
    annotate,
    annotations,
    create_node,
    delete_node,
    entry,
    event_count,
    exists,
    has_plan,
    labels,
    manifest_entry,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    node_condition,
    running_operator,
    wait_for_deletion,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import stays

FORCE = {"conflictPolicy": "Force"}


async def create_foreign(env: Environment, name: str = "settings", **data: str) -> Object:
    """Create a ConfigMap as another field manager."""
    obj = {"metadata": {"name": name}, "data": data or {"plan": "theirs"}}
    return await env.client.create(CONFIG_MAPS, obj, env.namespace, manager="kubectl-edit")


async def test_stuck_policy_reports_conflict_and_leaves_object_unchanged(env: Environment) -> None:
    old = await create_foreign(env)
    async with running_operator(env):
        await create_node(env, entry("settings"), entry("other"))
        node = await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesConflicted")
        assert node_condition(node, "Conflicted") == ("True", "ResourceConflict")
        assert node_condition(node, "Degraded") == ("True", "ResourceConflicts")
        assert node_condition(node, "Progressing") == ("False", "ReconcileComplete")
        assert node["status"]["failedResources"] == 1
        assert node["status"]["readyResources"] == 1
        resource = await wait_for_resource_state(env, NODE, "settings", "Conflicted")
        assert resource["reason"] == "ResourceConflict"
        assert ".data.plan is managed by 'kubectl-edit'" in resource["message"]
        assert "conflictPolicy: Force" in resource["message"]
        message = await wait_for_event(env, "ResourceConflict", about=NODE)
        assert message.startswith("Warning: ")
        await wait_for_event(env, "TemplateAppliedPartial", about=NODE)

        async def unchanged() -> bool:
            live = await env.get(CONFIG_MAPS, "settings")
            assert live["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
            return await event_count(env, "ResourceConflict") == 1

        # Long enough for two retries.
        await stays(unchanged, seconds=4, every=0.1)

        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert await exists(env, "settings")
        assert not await exists(env, "other")


async def test_conflict_resolves_when_other_manager_deletes_object(env: Environment) -> None:
    await create_foreign(env)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_condition(env, NODE, "Conflicted", "True", "ResourceConflict")
        await env.client.delete(CONFIG_MAPS, "settings", env.namespace)
        node = await wait_for_node_ready(env, NODE)
        assert node_condition(node, "Conflicted") == ("False", "NoConflict")
        await wait_for_object(env, "settings", has_plan("pro"))


async def test_conflicted_object_survives_removal_from_spec(env: Environment) -> None:
    await create_foreign(env)
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_condition(env, NODE, "Conflicted", "True")
        await update_node(env, entry("other"))
        node = await wait_for_node_ready(env, NODE)
        assert [resource["id"] for resource in node["status"]["resources"]] == ["other"]
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "theirs"}
        assert await event_count(env, "OrphanedResourceDeleted") == 0


async def test_force_policy_takes_over_fields_and_names_previous_manager(env: Environment) -> None:
    old = await create_foreign(env, plan="theirs", more="stays")
    async with running_operator(env):
        await create_node(env, entry("settings", **FORCE))
        await wait_for_node_ready(env, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"plan": "pro", "more": "stays"}
        assert live["metadata"]["uid"] == old["metadata"]["uid"]
        assert labels(live)["lynq.sh/managed"] == "true"
        assert "kubectl-edit" in await wait_for_event(env, "ForceApply", about=NODE)


async def test_force_policy_without_conflict_emits_no_event(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", **FORCE))
        await wait_for_node_ready(env, NODE)
        await annotate(env, extra='{"plan": "free"}')
        await wait_for_object(env, "settings", has_plan("free"))
        await env.wait_until_idle()
        assert await event_count(env, "ForceApply") == 0


async def test_first_of_two_nodes_keeps_a_contested_object(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("shared"))
        await wait_for_node_ready(env, NODE)
        first = await env.get(CONFIG_MAPS, "shared")
        await create_node(env, entry("shared", "second", **FORCE), name="beta-web")
        node = await wait_for_node_condition(
            env, "beta-web", "Conflicted", "True", "ResourceConflict"
        )
        assert f'LynqNode "{NODE}"' in node["status"]["resources"][0]["message"]
        await env.wait_until_idle()
        live = await env.get(CONFIG_MAPS, "shared")
        assert live["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]

        # Deleting the node without the object leaves the object in place.
        await delete_node(env, "beta-web")
        await wait_for_deletion(env, NODES, "beta-web")
        assert await exists(env, "shared")


async def test_second_node_takes_over_object_released_by_first(
    env: Environment,
) -> None:
    retain = {"deletionPolicy": "Retain"}
    async with running_operator(env):
        await create_node(env, entry("shared", **retain))
        await wait_for_node_ready(env, NODE)
        await create_node(env, entry("shared", "second"), name="beta-web")
        await wait_for_node_condition(env, "beta-web", "Conflicted", "True")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await wait_for_node_ready(env, "beta-web")
        obj = await wait_for_object(env, "shared", has_plan("second"))
        assert "lynq.sh/orphaned-at" not in annotations(obj)


async def test_node_that_waits_for_a_dependency_keeps_the_object_of_another_one(
    env: Environment,
) -> None:
    never_ready = deployment("app", replicas=1, annotations={"local.lynq.sh/ready": "never"})
    async with running_operator(env):
        await create_node(env, entry("shared"))
        await wait_for_node_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "shared"))["metadata"]["uid"]
        waiting = entry("shared", "second", dependIds=["app"])
        app = manifest_entry("app", never_ready)
        await create_node(env, waiting, deployments=[app], name="beta-web")
        await wait_for_resource_state(env, "beta-web", "shared", "Conflicted")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert (await env.get(CONFIG_MAPS, "shared"))["metadata"]["uid"] == uid


async def test_object_that_another_node_desires_while_its_deletion_waits_is_handed_over(
    env: Environment, api_server: MemoryApiServer
) -> None:
    test_client = env.client

    async def contest(request: Request, send: Send) -> Response:
        if request.verb == "delete" and request.path.endswith("/configmaps/first"):
            await create_node(env, entry("shared", "second"), name="beta-web")
            await wait_for_resource_state(env, "beta-web", "shared", "Conflicted")
        return await send(request)

    # Of each kind, one object is written at a time.
    env.client = api_server.client(ClientOptions(max_in_flight=2)).intercepted(contest)
    async with running_operator(env):
        env.client = test_client
        await create_node(env, entry("first"), entry("shared"))
        await wait_for_node_ready(env, NODE)
        uid = (await env.get(CONFIG_MAPS, "shared"))["metadata"]["uid"]
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        await wait_for_node_ready(env, "beta-web")
        assert (await env.get(CONFIG_MAPS, "shared"))["metadata"]["uid"] == uid
