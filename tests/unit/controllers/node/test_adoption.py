"""adoptionPolicy: objects that existed before a row named them."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from built_in_resources import DEPLOYMENTS
from lynq.kube import Request, Response, Send
from lynq.kube.errors import ConnectionFailed
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    annotations,
    create_node,
    delete_node,
    entry,
    exists,
    has_plan,
    labels,
    manifest_entry,
    owner_uids,
    update_node,
    wait_for_event,
    wait_for_object,
)
from operated.environment import NODES, Environment, Object
from operated.failover import WatchBlocker
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

OWN = {"adoptionPolicy": "Own"}
REFUSE = {"adoptionPolicy": "Refuse"}
FORCE = {"conflictPolicy": "Force"}


async def create_foreign(env: Environment, **data: str) -> Object:
    """Create a ConfigMap as another field manager."""
    obj = {"metadata": {"name": "settings"}, "data": data}
    return await env.client.create(CONFIG_MAPS, obj, env.namespace, manager="kubectl-create")


def without_lynq(obj: Object) -> bool:
    """Return whether an object has no mark of the operator."""
    return "lynq.sh/" not in str(labels(obj) | annotations(obj)) and not owner_uids(obj)


async def lists_nothing(env: Environment) -> bool:
    """Return whether the status of the node lists no object any more."""
    return not (await env.get(NODES, NODE))["status"].get("resources")


@asynccontextmanager
async def foreign_namespace(env: Environment) -> AsyncIterator[str]:
    """Create a Namespace with a Deployment in it."""
    name = f"victim-{uuid.uuid4().hex[:8]}"
    await env.client.create(NAMESPACES, {"metadata": {"name": name}}, manager="kubectl-create")
    pods = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": pods}
    await env.client.create(DEPLOYMENTS, {"metadata": {"name": "precious"}, "spec": spec}, name)
    try:
        yield name
    finally:
        await env.client.delete(NAMESPACES, name)


def namespace_entry(name: str, **parts: Any) -> Object:
    return (
        manifest_entry("home", {"apiVersion": "v1", "kind": "Namespace"}, nameTemplate=name) | parts
    )


async def test_object_that_existed_before_keeps_its_own_fields(env: Environment) -> None:
    old = await create_foreign(env, keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings"))
        node = await wait_for_node_ready(env, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"keep": "me", "plan": "pro"}
        assert annotations(live)["lynq.sh/adopted"] == "true"
        # The garbage collector would delete the object together with the node.
        assert owner_uids(live) == []
        assert node["status"]["resources"][0]["adoptedUid"] == old["metadata"]["uid"]
        await wait_for_event(env, "ResourceAdopted", about=NODE)

        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"keep": "me"}
        assert live["metadata"]["uid"] == old["metadata"]["uid"]
        assert without_lynq(live)


async def test_adopted_object_is_released_when_its_entry_leaves_the_form(env: Environment) -> None:
    await create_foreign(env, keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, entry("other"))
        live = await wait_for_object(env, "settings", lambda obj: obj["data"] == {"keep": "me"})
        assert without_lynq(live)
        node = await wait_for_node_ready(env, NODE)
        assert [resource["id"] for resource in node["status"]["resources"]] == ["other"]
        await wait_for_event(env, "AdoptedResourceReleased", about=NODE)

        # The object is adopted again when it is desired again.
        await update_node(env, entry("settings"))
        live = await wait_for_object(env, "settings", has_plan("pro"))
        assert annotations(live)["lynq.sh/adopted"] == "true"


async def test_stripped_adopted_object_stays_adopted(env: Environment) -> None:
    await create_foreign(env, keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        strip = {"metadata": {"labels": None, "annotations": None}}
        await env.client.patch(CONFIG_MAPS, "settings", strip, env.namespace, manager="edit")
        await wait_for_object(env, "settings", lambda obj: "lynq.sh/adopted" in annotations(obj))
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert (await env.get(CONFIG_MAPS, "settings"))["data"] == {"keep": "me"}


async def test_owned_object_is_deleted_with_its_node(env: Environment) -> None:
    await create_foreign(env, keep="me")
    async with running_operator(env):
        node = await create_node(env, entry("settings", **OWN))
        await wait_for_node_ready(env, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"keep": "me", "plan": "pro"}
        assert "lynq.sh/adopted" not in annotations(live)
        assert owner_uids(live) == [node["metadata"]["uid"]]
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert not await exists(env, "settings")


async def test_refused_object_is_left_unchanged_until_it_is_gone(env: Environment) -> None:
    old = await create_foreign(env, keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings", **REFUSE))
        resource = await wait_for_resource_state(env, NODE, "settings", "Conflicted")
        assert "adoptionPolicy" in resource["message"]
        assert await env.get(CONFIG_MAPS, "settings") == old
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert await env.get(CONFIG_MAPS, "settings") == old


async def test_force_takes_disputed_fields_of_an_adopted_object(env: Environment) -> None:
    await create_foreign(env, plan="theirs", keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings", **FORCE))
        await wait_for_node_ready(env, NODE)
        assert "kubectl-create" in await wait_for_event(env, "ForceApply", about=NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"keep": "me"}
        assert without_lynq(live)


@pytest.mark.parametrize("strategy", ["merge", "replace"])
async def test_disputed_object_is_neither_merged_nor_replaced(
    env: Environment, strategy: str
) -> None:
    old = await create_foreign(env, plan="theirs")
    async with running_operator(env):
        await create_node(env, entry("settings", patchStrategy=strategy))
        await wait_for_resource_state(env, NODE, "settings", "Conflicted")
        assert await env.get(CONFIG_MAPS, "settings") == old


@pytest.mark.parametrize(
    ("strategy", "released"), [("merge", {"keep": "me"}), ("replace", {"plan": "pro"})]
)
async def test_forced_merge_and_replace_release_only_what_is_ours(
    env: Environment, strategy: str, released: dict[str, str]
) -> None:
    await create_foreign(env, plan="theirs", keep="me")
    async with running_operator(env):
        await create_node(env, entry("settings", patchStrategy=strategy, **FORCE))
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == released
        assert without_lynq(live)


async def test_replaced_object_is_released_once_although_the_cache_is_behind(
    env: Environment,
) -> None:
    """A second release would find no mark of the replaced body, and remove all of it."""
    await create_foreign(env, plan="theirs")
    blocker, is_removed, failed = WatchBlocker(CONFIG_MAPS), asyncio.Event(), asyncio.Event()

    async def fail_first_status(request: Request, send: Send) -> Response:
        is_status = request.path.endswith(f"/{NODE}/status")
        if is_status and is_removed.is_set() and not failed.is_set():
            failed.set()
            raise ConnectionFailed("the connection was lost")
        return await send(request)

    env.client = env.client.intercepted(blocker, fail_first_status)
    async with running_operator(env):
        await create_node(env, entry("settings", patchStrategy="replace", **FORCE))
        await wait_for_node_ready(env, NODE)
        blocker.block()
        is_removed.set()
        await update_node(env)
        await failed.wait()
        await eventually(lambda: lists_nothing(env))
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == {"plan": "pro"}
        assert without_lynq(live)


async def test_deployment_that_is_invalid_without_our_fields_loses_only_the_marks(
    env: Environment,
) -> None:
    pods: Object = {"metadata": {"labels": {"app": "x"}}}
    pods["spec"] = {"containers": [{"name": "x", "image": "theirs"}]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": pods}
    obj: Object = {"metadata": {"name": "web"}, "spec": spec}
    await env.client.create(DEPLOYMENTS, obj, env.namespace, manager="kubectl-create")
    pods["spec"]["containers"][0]["image"] = "ours"
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    async with running_operator(env):
        await create_node(env, deployments=[manifest_entry("web", manifest, **FORCE)])
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        live = await env.get(DEPLOYMENTS, "web")
        assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "ours"
        assert without_lynq(live)


async def test_foreign_namespace_is_refused_without_a_policy(env: Environment) -> None:
    async with foreign_namespace(env) as name, running_operator(env, namespaces=()):
        old = await env.client.get(NAMESPACES, name)
        await create_node(env, namespaces=[namespace_entry(name)])
        resource = await wait_for_resource_state(env, NODE, "home", "Conflicted")
        assert "adoptionPolicy" in resource["message"]
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        assert await env.client.get(NAMESPACES, name) == old
        assert await env.client.get(DEPLOYMENTS, "precious", name)


async def test_namespace_with_explicit_retain_survives_its_row(env: Environment) -> None:
    async with foreign_namespace(env) as name, running_operator(env, namespaces=()):
        old = await env.client.get(NAMESPACES, name)
        await create_node(env, namespaces=[namespace_entry(name, adoptionPolicy="Retain")])
        await wait_for_node_ready(env, NODE)
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)
        live = await env.client.get(NAMESPACES, name)
        assert live["metadata"]["labels"] == old["metadata"]["labels"]
        assert without_lynq(live)
        assert await env.client.get(DEPLOYMENTS, "precious", name)
