"""Missing RBAC rights: only the resources that need the right fail, and they name it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from built_in_resources import SERVICE_ACCOUNTS
from lynq.kube import Client, Impersonation, Request, Response, Send, load_config
from lynq.kube.resource import SECRETS
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    entry,
    has_plan,
    manifest_entry,
    wait_for_object,
)
from operated.environment import NODES, QUICK, Environment, Object
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from rights import bind_role, set_rules, user_of

SECRET = manifest_entry("secret", {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}})


def rule(group: str, *resources: str, verbs: tuple[str, ...] = ("*",)) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


OURS = rule("operator.lynq.sh", "*")
BASIC = (OURS, rule("", "configmaps", "events"))


@pytest.fixture
async def limited(env: Environment, kubeconfig: Path) -> AsyncIterator[Environment]:
    """The same environment with a client that impersonates an account without rights."""
    namespace = env.namespace
    await env.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "limited"}}, namespace)
    user = user_of("limited", namespace)
    await bind_role(env.client, "limited", [], namespace=namespace, user=user)
    config = replace(load_config(kubeconfig), impersonate=Impersonation(user))
    async with Client.connect(config) as client:
        yield Environment(client, namespace, env.directory)


async def grant(env: Environment, *rules: Object) -> None:
    """Give the account these rights, and take away all others."""
    user = user_of("limited", env.namespace)
    await set_rules(env.client, "limited", rules, namespace=env.namespace, user=user)


async def test_kind_without_watch_right_fails_alone(env: Environment, limited: Environment) -> None:
    await grant(env, *BASIC)
    async with running_operator(limited):
        await create_node(env, entry("good"), secrets=[SECRET])
        resource = await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        assert "Secret" in resource["message"]
        assert "grant the verb" in resource["message"]
        assert "on secrets" in resource["message"]
        await wait_for_resource_state(env, NODE, "good", "Ready")

        # The watch is retried in the background; no restart is needed.
        await grant(env, *BASIC, rule("", "secrets"))
        await wait_for_node_ready(env, NODE, within=60)
        await env.get(SECRETS, "secret")


async def test_kind_without_write_right_fails_alone(env: Environment, limited: Environment) -> None:
    await grant(env, *BASIC, rule("", "secrets", verbs=("list", "watch")))
    async with running_operator(limited):
        await create_node(env, entry("good"), secrets=[SECRET])
        resource = await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        assert "grant the verb patch on secrets" in resource["message"]
        await wait_for_resource_state(env, NODE, "good", "Ready")


async def test_kind_without_get_right_fails_alone(env: Environment, limited: Environment) -> None:
    """Only objects that existed before, and changed ones with ignoreFields, are read one by one."""
    verbs = ("list", "watch", "patch", "create")
    await grant(env, *BASIC, rule("", "secrets", verbs=verbs))
    await env.client.create(SECRETS, {"metadata": {"name": "secret"}}, env.namespace)
    secret = SECRET | {"ignoreFields": ["$.data.x"]}
    async with running_operator(limited):
        await create_node(env, entry("good"), secrets=[secret | {"conflictPolicy": "Force"}])
        resource = await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        assert "grant the verb get on secrets" in resource["message"]
        await wait_for_resource_state(env, NODE, "good", "Ready")
        await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")


async def test_missing_delete_right_blocks_finalizer_and_is_named(
    env: Environment, limited: Environment
) -> None:
    verbs = ("list", "watch", "get", "patch", "create")
    await grant(env, *BASIC, rule("", "secrets", verbs=verbs))
    async with running_operator(limited):
        await create_node(env, entry("good"), secrets=[SECRET])
        await wait_for_node_ready(env, NODE, within=20)
        await delete_node(env)
        resource = await wait_for_resource_state(env, NODE, "secret", "Deleting", within=20)
        assert "grant the verb delete on secrets" in resource["message"]
        await grant(env, *BASIC, rule("", "secrets"))
        await wait_for_deletion(env, NODES, NODE, within=40)


async def test_missing_right_for_one_kind_does_not_block_startup(
    env: Environment, limited: Environment
) -> None:
    await grant(env, *BASIC, rule("", "secrets"))
    async with running_operator(limited):
        await create_node(env, entry("good"), secrets=[SECRET])
        await wait_for_node_ready(env, NODE, within=20)
    await grant(env, *BASIC)
    await env.patch(NODES, NODE, {"metadata": {"annotations": {"lynq.sh/extra": "{}"}}})
    async with running_operator(limited):
        resource = await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        assert "on secrets" in resource["message"]
        await env.patch(
            NODES, NODE, {"metadata": {"annotations": {"lynq.sh/extra": '{"plan": "free"}'}}}
        )
        await wait_for_object(env, "good", has_plan("free"))


@pytest.fixture
def short_watches(limited: Environment) -> Environment:
    """The limited environment with watches that end after 2 s, as at an API server restart."""

    async def shorten(request: Request, send: Send) -> Response:
        if request.verb == "watch" and request.path.endswith("/secrets"):
            request = replace(request, query={**request.query, "timeoutSeconds": "2"})
        return await send(request)

    return Environment(limited.client.intercepted(shorten), limited.namespace, limited.directory)


LOST_SOON = replace(QUICK, unwatched_after=0.5, unwatched_check_interval=0.1)


async def test_lost_watch_ends_readiness_until_it_is_back(
    env: Environment, short_watches: Environment
) -> None:
    await grant(env, *BASIC, rule("", "secrets"))
    async with running_operator(short_watches, timing=LOST_SOON):
        await create_node(env, entry("good"), secrets=[SECRET])
        await wait_for_node_ready(env, NODE, within=20)
        await grant(env, *BASIC, rule("", "secrets", verbs=("get", "patch", "create", "delete")))
        resource = await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        assert "on secrets" in resource["message"]
        await wait_for_node_condition(env, NODE, "Ready", "False", "ResourcesFailed")
        await env.get(SECRETS, "secret")
        await grant(env, *BASIC, rule("", "secrets"))
        await wait_for_node_ready(env, NODE, within=60)


async def test_leaving_node_is_not_stuck_on_a_lost_watch(
    env: Environment, short_watches: Environment
) -> None:
    await grant(env, *BASIC, rule("", "secrets"))
    async with running_operator(short_watches, timing=LOST_SOON):
        await create_node(env, entry("good"), secrets=[SECRET])
        await wait_for_node_ready(env, NODE, within=20)
        await env.patch(SECRETS, "secret", {"metadata": {"finalizers": ["example.com/hold"]}})
        await grant(env, *BASIC, rule("", "secrets", verbs=("get", "patch", "create", "delete")))
        await wait_for_resource_state(env, NODE, "secret", "Failed", within=20)
        await delete_node(env)
        await wait_for_resource_state(env, NODE, "secret", "Deleting", within=20)
        await env.patch(SECRETS, "secret", {"metadata": {"finalizers": None}})
        await wait_for_deletion(env, NODES, NODE, within=20)
