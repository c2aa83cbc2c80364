"""ignoreFields: fields of other managers keep their values."""

from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS
from cluster.controllers.environment import Environment, Object
from cluster.controllers.node.builders import (
    NODE,
    annotate,
    create_node,
    edit,
    entry,
    event_count,
    manifest_entry,
    update_node,
    wait_for_object,
)
from cluster.controllers.running_operator import running_operator, wait_for_node_ready
from cluster.local.manifests import deployment
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS

REPLICAS: Object = {"ignoreFields": ["$.spec.replicas"]}


def app(image: str = "nginx", **parts: Any) -> Object:
    return manifest_entry("app", deployment("app", replicas=1, image=image), **parts)


def has_image(image: str) -> Any:
    return lambda obj: obj["spec"]["template"]["spec"]["containers"][0]["image"] == image


async def scale(env: Environment, replicas: int) -> None:
    await edit(env, "app", {"spec": {"replicas": replicas}}, manager="hpa", resource=DEPLOYMENTS)


async def test_ignored_field_keeps_value_of_other_manager(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, deployments=[app(**REPLICAS)])
        await wait_for_node_ready(env, NODE)
        await scale(env, 3)
        await wait_for_object(
            env, "app", lambda obj: obj["status"].get("readyReplicas") == 3, DEPLOYMENTS
        )
        await update_node(env, deployments=[app("nginx:2", **REPLICAS)])
        live = await wait_for_object(env, "app", has_image("nginx:2"), DEPLOYMENTS)
        assert live["spec"]["replicas"] == 3
        await annotate(env, force_reconcile="now")
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        assert (await env.get(DEPLOYMENTS, "app"))["spec"]["replicas"] == 3
        assert await event_count(env, "ResourceConflict") == 0

        await scale(env, 2)
        await env.wait_until_idle()
        assert (await env.get(DEPLOYMENTS, "app"))["spec"]["replicas"] == 2


async def test_ignored_field_of_list_items_is_kept_per_item(env: Environment) -> None:
    def two_containers(image: str) -> Object:
        manifest = deployment("app", replicas=1)
        manifest["spec"]["template"]["spec"]["containers"] = [
            {"name": name, "image": image, "resources": {"requests": {"cpu": "1m"}}}
            for name in ("main", "side")
        ]
        path = "$.spec.template.spec.containers[*].resources"
        return manifest_entry("app", manifest, ignoreFields=[path])

    def cpu_requests(obj: Object) -> dict[str, str]:
        containers = obj["spec"]["template"]["spec"]["containers"]
        return {
            container["name"]: container["resources"]["requests"]["cpu"] for container in containers
        }

    async with running_operator(env):
        await create_node(env, deployments=[two_containers("nginx")])
        await wait_for_node_ready(env, NODE)
        await env.client.apply(
            DEPLOYMENTS,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "app", "namespace": env.namespace},
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "side", "resources": {"requests": {"cpu": "7m"}}}
                            ]
                        }
                    }
                },
            },
            manager="vpa",
            force=True,
        )
        await update_node(env, deployments=[two_containers("nginx:2")])
        live = await wait_for_object(env, "app", has_image("nginx:2"), DEPLOYMENTS)
        assert cpu_requests(live) == {"main": "1m", "side": "7m"}
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ResourceConflict") == 0


async def test_ignored_field_is_selected_by_item_name(env: Environment) -> None:
    path = "$.spec.template.spec.containers[?(@.name=='main')].image"
    async with running_operator(env):
        await create_node(env, deployments=[app(ignoreFields=[path])])
        await wait_for_node_ready(env, NODE)
        container = [{"name": "main", "image": "theirs"}]
        patch = {"spec": {"template": {"spec": {"containers": container}}}}
        await edit(env, "app", patch, resource=DEPLOYMENTS)
        await update_node(env, deployments=[app("ours", ignoreFields=[path])])
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        assert has_image("theirs")(await env.get(DEPLOYMENTS, "app"))


# An object that existed before is replaced only under Force.
@pytest.mark.parametrize(
    ("strategy", "policy"),
    [
        ("apply", "Stuck"),
        ("merge", "Stuck"),
        ("apply", "Force"),
        ("merge", "Force"),
        ("replace", "Force"),
    ],
)
async def test_ignored_field_of_foreign_object_survives_first_write(
    env: Environment, strategy: str, policy: str
) -> None:
    foreign = {"metadata": {"name": "settings"}, "data": {"plan": "theirs"}}
    await env.client.create(CONFIG_MAPS, foreign, env.namespace, manager="kubectl-edit")
    async with running_operator(env):
        desired = entry(
            "settings",
            patchStrategy=strategy,
            conflictPolicy=policy,
            ignoreFields=["$.data.plan"],
        )
        desired["spec"]["data"]["more"] = "{{ .plan }}"
        await create_node(env, desired)
        await wait_for_node_ready(env, NODE)
        obj = await env.get(CONFIG_MAPS, "settings")
        assert obj["data"] == {"plan": "theirs", "more": "pro"}


async def test_ignored_field_is_written_on_create_only(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", ignoreFields=["$.data.plan"]))
        await wait_for_node_ready(env, NODE)
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"plan": "pro"}
        await edit(env, "settings", {"data": {"plan": None}})
        await annotate(env, extra='{"plan": "free"}')
        await env.wait_until_idle()
        assert "data" not in await env.get(CONFIG_MAPS, "settings")
        await wait_for_node_ready(env, NODE)


@pytest.mark.parametrize("parts", [{"conflictPolicy": "Force"}, {"patchStrategy": "merge"}])
async def test_ignored_field_changed_during_write_is_kept(env: Environment, parts: Object) -> None:
    """Replicas set by an autoscaler during our write must not be reverted."""
    client, pending = env.client, iter([3])

    async def scale_first(request: Request, send: Send) -> Response:
        is_write = request.verb in ("apply", "patch") and request.path.endswith("/app")
        if is_write and b"nginx:2" in (request.body or b"") and (replicas := next(pending, 0)):
            patch = {"spec": {"replicas": replicas}}
            await client.patch(DEPLOYMENTS, "app", patch, env.namespace, manager="hpa")
        return await send(request)

    env.client = client.intercepted(scale_first)
    async with running_operator(env):
        await create_node(env, deployments=[app(**REPLICAS, **parts)])
        await wait_for_node_ready(env, NODE)
        await update_node(env, deployments=[app("nginx:2", **REPLICAS, **parts)])
        obj = await wait_for_object(env, "app", has_image("nginx:2"), DEPLOYMENTS)
        assert next(pending, 0) == 0
        assert obj["spec"]["replicas"] == 3
        await wait_for_node_ready(env, NODE)
        assert (
            await event_count(env, "ResourceConflict") == await event_count(env, "ForceApply") == 0
        )
