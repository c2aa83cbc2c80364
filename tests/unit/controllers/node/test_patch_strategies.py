"""patchStrategy: apply, merge and replace on new and on existing objects."""

import pytest

from built_in_resources import DEPLOYMENTS
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import (
    NODE,
    annotate,
    annotations,
    create_node,
    edit,
    entry,
    event_count,
    has_plan,
    labels,
    manifest_entry,
    owner_uids,
    update_node,
    wait_for_object,
    write_verbs,
)
from operated.environment import Environment, Object
from operated.manifests import deployment
from operated.running_operator import running_operator, wait_for_node_ready

STRATEGIES = ("apply", "merge", "replace")


def two_keys(first: str, second: str | None, **parts: object) -> Object:
    """Return an entry with two data keys, or with one if the second is None."""
    desired = entry("settings", first, **parts)
    if second is not None:
        desired["spec"]["data"]["second"] = second
    return desired


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_object_is_created_and_updated(env: Environment, strategy: str) -> None:
    parts = {"patchStrategy": strategy}
    async with running_operator(env):
        node = await create_node(env, entry("settings", **parts))
        await wait_for_node_ready(env, NODE)
        first = await wait_for_object(env, "settings", has_plan("pro"))
        assert owner_uids(first) == [node["metadata"]["uid"]]
        assert labels(first)["lynq.sh/managed"] == "true"
        assert "lynq.sh/applied-hash" in annotations(first)

        env.requests.sent.clear()
        await annotate(env, extra='{"plan": "free"}')
        live = await wait_for_object(env, "settings", has_plan("free"))
        assert live["metadata"]["uid"] == first["metadata"]["uid"]
        await wait_for_node_ready(env, NODE)
        await env.wait_until_idle()
        verb = {"apply": "apply", "merge": "patch", "replace": "replace"}[strategy]
        assert write_verbs(env, "settings") == [verb]


@pytest.mark.parametrize(
    ("strategy", "remaining"),
    [
        # Merge and replace detect no conflicts; replace removes all other fields.
        ("merge", {"plan": "pro", "more": "theirs"}),
        ("replace", {"plan": "pro"}),
    ],
)
async def test_forced_merge_and_replace_adopt_existing_object(
    env: Environment, strategy: str, remaining: Object
) -> None:
    foreign = {"metadata": {"name": "settings"}, "data": {"plan": "theirs", "more": "theirs"}}
    old = await env.client.create(CONFIG_MAPS, foreign, env.namespace, manager="kubectl-edit")
    async with running_operator(env):
        await create_node(env, entry("settings", patchStrategy=strategy, conflictPolicy="Force"))
        await wait_for_node_ready(env, NODE)
        live = await env.get(CONFIG_MAPS, "settings")
        assert live["data"] == remaining
        assert live["metadata"]["uid"] == old["metadata"]["uid"]
        assert owner_uids(live) == []
        assert "lynq.sh/adopted" in annotations(live)
        assert await event_count(env, "ResourceConflict") == 0


async def test_field_removed_from_manifest_is_removed_from_object(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_node(env, two_keys("pro", "x"))
        await wait_for_node_ready(env, NODE)
        await update_node(env, two_keys("pro", None))
        await wait_for_object(env, "settings", lambda obj: obj["data"] == {"plan": "pro"})
        await update_node(env, two_keys("pro", "x", patchStrategy="replace"))
        await wait_for_object(env, "settings", lambda obj: "second" in obj["data"])
        await update_node(env, two_keys("pro", None, patchStrategy="replace"))
        await wait_for_object(env, "settings", lambda obj: obj["data"] == {"plan": "pro"})


@pytest.mark.parametrize("before", ["merge", "replace"])
async def test_switch_to_apply_owns_previously_written_fields(
    env: Environment, before: str
) -> None:
    async with running_operator(env):
        await create_node(env, two_keys("pro", "x", patchStrategy=before))
        await wait_for_node_ready(env, NODE)
        # The new value must not conflict with ourselves, and the dropped key must be removed.
        await update_node(env, two_keys("free", None, patchStrategy="apply"))
        await wait_for_object(env, "settings", lambda obj: obj["data"] == {"plan": "free"})
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ResourceConflict") == 0


async def test_apply_keeps_fields_of_other_managers(env: Environment) -> None:
    async with running_operator(env):
        await create_node(env, entry("settings"))
        await wait_for_node_ready(env, NODE)
        await edit(env, "settings", {"data": {"more": "theirs"}})
        await annotate(env, extra='{"plan": "free"}')
        obj = await wait_for_object(env, "settings", has_plan("free"))
        assert obj["data"]["more"] == "theirs"
        assert await event_count(env, "ResourceConflict") == 0


async def test_replace_succeeds_despite_status_writes(env: Environment) -> None:
    """The Deployment controller updates the status concurrently."""
    app = deployment("app", replicas=1)
    async with running_operator(env):
        await create_node(env, deployments=[manifest_entry("app", app, patchStrategy="replace")])
        await wait_for_node_ready(env, NODE)
        for replicas in (2, 3):
            app["spec"]["replicas"] = replicas
            await update_node(
                env, deployments=[manifest_entry("app", app, patchStrategy="replace")]
            )
        await wait_for_object(
            env, "app", lambda obj: obj["status"].get("readyReplicas") == 3, DEPLOYMENTS
        )
        await wait_for_node_ready(env, NODE)
        assert await event_count(env, "ApplyFailed") == 0


async def test_replace_retries_after_concurrent_writes(
    env: Environment,
) -> None:
    client, rivals = env.client, iter(range(4))

    async def annotate_first(request: Request, send: Send) -> Response:
        if request.verb == "replace" and (number := next(rivals, None)) is not None:
            note = {"metadata": {"annotations": {"rival": str(number)}}}
            await client.patch(CONFIG_MAPS, "settings", note, env.namespace)
        return await send(request)

    env.client = client.intercepted(annotate_first)
    async with running_operator(env):
        await create_node(env, entry("settings", patchStrategy="replace"))
        await wait_for_node_ready(env, NODE)
        await annotate(env, extra='{"plan": "free"}')
        await wait_for_object(env, "settings", has_plan("free"))
        await wait_for_node_ready(env, NODE)
        assert next(rivals, None) is None
        assert await event_count(env, "ApplyFailed") == 0
