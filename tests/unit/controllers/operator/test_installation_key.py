"""The installation key: random values that readers of objects cannot compute, and a lost key."""

import asyncio
import base64

from lynq.api.installation_key import InstallationKey
from lynq.controllers.installation_key import KEY_SECRET, CurrentKey, KeyLoader
from lynq.controllers.options import Shard
from lynq.kube.errors import NotFound
from lynq.kube.resource import SECRETS
from lynq.template import Environment as RenderEnvironment
from lynq.template import SeededRandom, compile_template
from operated.builders import wait_for_object
from operated.environment import NODES, Environment, Object, config_map
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_node_ready,
)
from waiting import eventually, stays

PASSWORD = "{{ randAlphaNum 24 }}"


def secret_entry(**parts: object) -> Object:
    manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": PASSWORD}}
    return {"id": "password", "nameTemplate": "{{ .uid }}-password", "spec": manifest} | parts


def computed_from_uid(node: Object) -> str:
    """Return the password that a reader of the node's uid computes."""
    seed = SeededRandom(node["metadata"]["uid"].encode())
    environment = RenderEnvironment(now=0, random=seed).at("password").at("stringData", "password")
    return compile_template(PASSWORD).render({}, environment)


async def read_password(env: Environment, name: str = "acme-password") -> str:
    secret = await env.get(SECRETS, name)
    return base64.b64decode(secret["data"]["password"]).decode()


async def test_password_cannot_be_computed_from_the_uid(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(secrets=[secret_entry()])
    async with running_operator(env):
        node = await wait_for_node_ready(env, "acme-web")
        assert await read_password(env) != computed_from_uid(node)
        assert node["status"]["randomSource"] == "InstallationKey"


async def test_node_from_before_the_key_keeps_its_values_until_it_is_moved(
    env: Environment,
) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(secrets=[secret_entry(conflictPolicy="Force")])
    async with running_operator(env):
        node = await wait_for_node_ready(env, "acme-web")
    # As an operator without a key left it.
    status = {"status": {"randomSource": None}}
    await env.client.patch(NODES, "acme-web", status, env.namespace, subresource="status")
    legacy = base64.b64encode(computed_from_uid(node).encode()).decode()
    await env.patch(SECRETS, "acme-password", {"data": {"password": legacy}})

    env.set_rows(("acme", 1, "max"))
    async with running_operator(env):
        await wait_for_object(env, "acme-settings", lambda obj: obj["data"]["plan"] == "max")
        node = await wait_for_node_ready(env, "acme-web")
        assert await read_password(env) == computed_from_uid(node)
        assert "randomSource" not in node["status"]

        moved = {"status": {"randomSource": "InstallationKey"}}
        await env.client.patch(NODES, "acme-web", moved, env.namespace, subresource="status")
        force = {"metadata": {"annotations": {"lynq.sh/force-reconcile": "now"}}}
        await env.patch(NODES, "acme-web", force)
        await wait_for_object(
            env,
            "acme-password",
            lambda obj: obj["data"]["password"] != legacy,
            resource=SECRETS,
        )
        assert (await get_node(env, "acme-web"))["status"]["randomSource"] == "InstallationKey"


async def test_texts_of_the_hub_use_the_key(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    hub = await env.create_hub()
    source = "{{ randAlphaNum 24 }}"
    await env.create_form(configMaps=[config_map(annotationsTemplate={"token": source})])
    async with running_operator(env):
        node = await wait_for_node_ready(env, "acme-web")
    seed = SeededRandom(f"{hub['metadata']['uid']}/acme-web".encode())
    environment = RenderEnvironment(now=0, random=seed).at(
        "settings", "annotationsTemplate", "token"
    )
    token = node["spec"]["configMaps"][0]["annotationsTemplate"]["token"]
    assert token != compile_template(source).render({}, environment)


async def test_replicas_that_start_at_once_agree_on_one_key(env: Environment) -> None:
    async def no_nodes() -> list[object]:
        return []

    loaders = [
        KeyLoader(env.client, "default", KEY_SECRET, CurrentKey(), nodes=no_nodes)  # type: ignore[arg-type]
        for _ in range(5)
    ]
    keys = await asyncio.gather(*(loader.load() for loader in loaders))
    assert all(isinstance(key, InstallationKey) for key in keys)
    assert len(set(keys)) == 1


async def test_only_the_shard_of_the_hubs_creates_the_key(env: Environment) -> None:
    """The other shards do not know whether a node uses a lost key."""

    async def is_missing() -> bool:
        try:
            await env.client.get(SECRETS, KEY_SECRET, "default")
        except NotFound:
            return True
        return False

    async with running_operator(env, shard=Shard(1, 2)) as other:
        await other.context.nodes.cache.synced()
        await stays(is_missing, seconds=1)
        async with running_operator(env, shard=Shard(0, 2)) as first:
            await eventually(lambda: isinstance(other.context.current_key.state, InstallationKey))
            assert other.context.current_key.state == first.context.current_key.state
