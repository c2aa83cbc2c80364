"""ignoreFields: fields of other managers keep their values."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    create_node,
    edit,
    entry,
    event_count,
    has_plan,
    manifest_entry,
    update_node,
    wait_for_object,
    write_verbs,
)
from operated.environment import Environment, Object
from operated.manifests import deployment
from operated.running_operator import running_operator, wait_for_node_ready
from waiting import eventually, stays

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


async def stamp_every_change(env: Environment, name: str, stamps: list[str]) -> None:
    """Change an annotation at every change of the object, as a careless controller does."""
    async with aclosing(env.client.watch(CONFIG_MAPS, env.namespace, initial_events=True)) as watch:
        async for event in watch:
            if getattr(event, "object", {}).get("metadata", {}).get("name") == name:
                stamps.append(str(len(stamps)))
                patch = {"metadata": {"annotations": {"note": stamps[-1]}}}
                await edit(env, name, patch, manager="stamper")


@pytest.mark.timing
async def test_annotation_stamped_at_every_change_causes_no_write(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", ignoreFields=["$.metadata.annotations['note']"]))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        stamps: list[str] = []
        stamper = asyncio.create_task(stamp_every_change(env, "settings", stamps))
        try:
            await eventually(lambda: len(stamps) > 10)
            await stays(lambda: not stamper.done(), seconds=1.5)
        finally:
            stamper.cancel()
        assert env.requests.sent == []


@pytest.mark.timing
async def test_scaling_beside_ignored_replicas_causes_no_write(env: Environment) -> None:
    def ignoring(image: str) -> Object:
        return app(image, **REPLICAS, waitForReady=False)

    async with running_operator(env):
        await create_node(env, deployments=[ignoring("nginx")])
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        env.requests.sent.clear()
        for replicas in range(2, 12):
            await scale(env, replicas)
            await stays(lambda: write_verbs(env, "app") == [], seconds=0.2)
        await env.wait_until_idle()
        assert write_verbs(env, "app") == []
        # The first one took the field from us; the others changed nothing of ours.
        assert sum(request.path.endswith("/app") for request in env.requests.sent) <= 1
        assert (await env.get(DEPLOYMENTS, "app"))["spec"]["replicas"] == 11

        await update_node(env, deployments=[ignoring("nginx:2")])
        live = await wait_for_object(env, "app", has_image("nginx:2"), DEPLOYMENTS)
        assert live["spec"]["replicas"] == 11
        await env.wait_until_idle()
        assert write_verbs(env, "app") == ["apply"]


async def test_drift_beside_ignored_field_is_corrected(env: Environment) -> None:
    parts = {**REPLICAS, "conflictPolicy": "Force", "waitForReady": False}
    async with running_operator(env):
        await create_node(env, deployments=[app(**parts)])
        await wait_for_node_ready(env, NODE)
        container = [{"name": "main", "image": "theirs"}]
        drift = {"replicas": 4, "template": {"spec": {"containers": container}}}
        await edit(env, "app", {"spec": drift}, resource=DEPLOYMENTS)
        live = await wait_for_object(env, "app", has_image("nginx"), DEPLOYMENTS)
        assert live["spec"]["replicas"] == 4


@pytest.mark.parametrize("newer", [{"plan": "newer"}, {"plan": None}], ids=["changed", "removed"])
async def test_ignored_field_changed_before_forced_apply_is_kept(
    env: Environment, newer: Object
) -> None:
    """The forced apply has a live value that was read before the other manager's last write."""
    client, pending = env.client, iter([newer])

    async def edit_first(request: Request, send: Send) -> Response:
        is_forced = request.verb == "apply" and request.query.get("force") == "true"
        if is_forced and request.path.endswith("/settings") and (data := next(pending, None)):
            patch = {"data": data}
            await client.patch(CONFIG_MAPS, "settings", patch, env.namespace, manager="other")
        return await send(request)

    def settings(more: str) -> Object:
        desired = entry("settings", conflictPolicy="Force", ignoreFields=["$.data.plan"])
        desired["spec"]["data"]["more"] = more
        return desired

    env.client = client.intercepted(edit_first)
    async with running_operator(env):
        await create_node(env, settings("1"))
        await wait_for_node_ready(env, NODE)
        await edit(env, "settings", {"data": {"more": "theirs"}})
        await update_node(env, settings("2"))
        obj = await wait_for_object(env, "settings", lambda obj: obj["data"].get("more") == "2")
        await env.wait_until_idle()
        assert next(pending, None) is None
        assert obj["data"].get("plan") == newer["plan"]


async def test_ignored_field_changed_without_operator_causes_no_write(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings", ignoreFields=["$.data.plan"]))
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
    await edit(env, "settings", {"data": {"plan": "theirs"}})
    env.requests.sent.clear()
    async with running_operator(env):
        await env.wait_until_idle()
        assert write_verbs(env, "settings") == []
        assert has_plan("theirs")(await env.get(CONFIG_MAPS, "settings"))


async def test_hash_with_live_values_is_replaced_once(env: Environment) -> None:
    """The hash of the Go operator, and of our older versions, counts ignored fields."""
    async with running_operator(env):
        await create_node(env, entry("settings", ignoreFields=["$.data.plan"]))
        await wait_for_node_ready(env, NODE)
    older = {"metadata": {"annotations": {"lynq.sh/applied-hash": "0123456789abcdef"}}}
    await edit(env, "settings", older, manager="lynq-operator")
    await edit(env, "settings", {"data": {"plan": "theirs"}})
    env.requests.sent.clear()
    async with running_operator(env):
        await env.wait_until_idle()
        await edit(env, "settings", {"data": {"plan": "theirs, later"}})
        await env.wait_until_idle()
        assert has_plan("theirs, later")(await env.get(CONFIG_MAPS, "settings"))
        # The apply, after the migration of the field that the test wrote by Update.
        assert write_verbs(env, "settings").count("apply") <= 2
        env.requests.sent.clear()
        await edit(env, "settings", {"data": {"plan": "theirs, at last"}})
        await env.wait_until_idle()
        assert write_verbs(env, "settings") == []
