"""The annotation `lynq.sh/protect` holds in the controllers, without the admission webhook."""

from typing import Any

import pytest

from lynq.api.names import ANNOTATION_PROTECT, FINALIZER_FORM
from lynq.kube import Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, EVENTS
from operated.environment import (
    FORMS,
    HUBS,
    NODES,
    Environment,
    Object,
    config_map,
)
from operated.running_operator import (
    running_operator,
    wait_for_garbage_collector,
    wait_for_node_ready,
)
from waiting import eventually, stays

ROWS = tuple((f"t{number}", 1, "pro") for number in range(9))
NODE_NAMES = tuple(f"{uid}-web" for uid, *_ in ROWS)


async def create_tenants(env: Environment, *config_maps: Object) -> None:
    env.set_rows(*ROWS)
    await env.create_hub(confirm_after="0s")
    await env.create_form(configMaps=list(config_maps or (config_map(),)))
    await env.wait_for_status(ready=9)


async def protect(env: Environment, resource: Any, name: str, value: str | None = "true") -> None:
    patch = {"metadata": {"annotations": {ANNOTATION_PROTECT: value}}}
    await env.patch(resource, name, patch)


async def wait_for_form_finalizer(env: Environment, *, present: bool = True) -> None:
    async def matches() -> bool:
        finalizers = (await env.get(FORMS, "web"))["metadata"].get("finalizers", [])
        return (FINALIZER_FORM in finalizers) == present

    await eventually(matches)


async def tenants_of(env: Environment) -> set[str]:
    """Return the uids of all nodes and ConfigMaps that are not being deleted."""
    settings = await env.client.list(CONFIG_MAPS, env.namespace, labels="lynq.sh/managed=true")
    objects = [*(await env.nodes()).values(), *settings.items]
    metadata = [obj["metadata"] for obj in objects]
    return {each["uid"] for each in metadata if "deletionTimestamp" not in each}


async def test_protected_hub_and_form_survive_a_deletion_while_the_operator_is_down(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_tenants(env)
        await protect(env, HUBS, "hub")
        await protect(env, FORMS, "web")
        await wait_for_form_finalizer(env)
        before = await tenants_of(env)
        assert len(before) == 18
    await env.client.delete(HUBS, "hub", env.namespace)
    await env.client.delete(FORMS, "web", env.namespace)
    async with running_operator(env):

        async def unchanged() -> bool:
            return await tenants_of(env) == before

        await stays(unchanged, seconds=2, every=0.1)
        await env.wait_for_event("DeletionBlocked", containing="LynqHub")
        await env.wait_for_event("DeletionBlocked", containing="LynqForm")
        # The nodes belong to the protected form too.
        await protect(env, HUBS, "hub", None)
        await stays(unchanged, seconds=1, every=0.1)
        await protect(env, FORMS, "web", None)
        await env.wait_for_deletion(HUBS, "hub")
        await env.wait_for_deletion(FORMS, "web")
        assert await tenants_of(env) == set()


async def test_protected_form_keeps_its_nodes_while_its_hub_goes_on(env: Environment) -> None:
    async with env.run_controllers():
        env.set_rows(*ROWS)
        await env.create_hub(confirm_after="0s")
        await env.create_form()
        await env.create_form("worker")
        await protect(env, FORMS, "web")
        await wait_for_form_finalizer(env)
        await env.wait_for_nodes(*NODE_NAMES, *(f"{uid}-worker" for uid, *_ in ROWS))
        await env.client.delete(FORMS, "web", env.namespace)
        env.set_rows(*ROWS[:8])
        await env.force_sync()
        left = (*NODE_NAMES, *(f"{uid}-worker" for uid, *_ in ROWS[:8]))
        await env.wait_for_nodes(*left)
        await env.nodes_stay(*left, seconds=1)
        await protect(env, FORMS, "web", None)
        await env.wait_for_deletion(FORMS, "web")
        await env.wait_for_nodes(*(f"{uid}-worker" for uid, *_ in ROWS[:8]))


async def test_unprotected_form_has_no_finalizer(env: Environment) -> None:
    async with env.run_controllers():
        await env.create_hub(paused=True)
        await env.create_form()
        await protect(env, FORMS, "web")
        await wait_for_form_finalizer(env)
        await protect(env, FORMS, "web", "false")
        await wait_for_form_finalizer(env, present=False)


async def test_protected_node_keeps_its_objects_until_the_annotation_is_removed(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_tenants(env)
        await protect(env, NODES, "t0-web")
        uid = (await env.get(CONFIG_MAPS, "t0-settings"))["metadata"]["uid"]
        await env.client.delete(NODES, "t0-web", env.namespace)

        async def kept() -> bool:
            metadata = (await env.get(CONFIG_MAPS, "t0-settings"))["metadata"]
            return bool(metadata["uid"] == uid)

        await stays(kept, seconds=1.5, every=0.1)
        await env.wait_for_event("DeletionBlocked", containing="LynqNode")
        await protect(env, NODES, "t0-web", None)

        async def recreated() -> bool:
            return not await kept()

        await eventually(lambda: _ignoring_missing(recreated), every=0.05)
        await wait_for_node_ready(env, "t0-web")


async def test_protected_node_without_active_row_is_kept_and_reported_once(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_tenants(env)
        await protect(env, NODES, "t0-web")
        await protect(env, NODES, "t1-web")
        before = await tenants_of(env)
        env.set_rows(("t0", 0, "pro"), *ROWS[2:])
        await env.force_sync()
        for name in ("t0-web", "t1-web"):
            await env.wait_for_event("DeletionBlocked", containing=f'LynqNode "{name}"')
        await env.wait_for_event("DeletionBlocked", containing="2 LynqNodes")
        reported = await blocked_events(env)
        assert {kind for kind, *_ in reported} == {"LynqHub", "LynqNode"}
        for number in (1, 2):
            env.set_rows(("t0", 0, "pro"), *ROWS[2:], (f"new{number}", 1, "pro"))
            await env.force_sync()
            await wait_for_node_ready(env, f"new{number}-web")
        assert await blocked_events(env) == reported
        assert before <= await tenants_of(env)


@pytest.mark.parametrize(("resource", "name"), [(HUBS, "hub"), (NODES, "t0-web")])
async def test_deletion_in_the_foreground_keeps_the_objects_of_a_protected(
    env: Environment, resource: Resource, name: str
) -> None:
    """The garbage collector deletes every object with an owner reference, and asks no finalizer."""
    once = config_map(id="key", nameTemplate="{{ .uid }}-key", creationPolicy="Once")
    async with running_operator(env):
        await create_tenants(env, config_map(), once)
        await protect(env, resource, name)
        before = await wait_for_no_owner_references(env, "t0-settings", "t0-key")
        await env.client.delete(resource, name, env.namespace, propagation="Foreground")

        async def unchanged() -> bool:
            return await uids_of(env, "t0-settings", "t0-key") == before

        await env.wait_for_event("DeletionBlocked")
        await wait_for_garbage_collector(env, "t0-web")
        await stays(unchanged, seconds=2, every=0.1)
        await protect(env, resource, name, None)
        await eventually(lambda: _ignoring_missing(lambda: is_deleted(env, before)))


async def test_objects_of_an_unprotected_node_get_their_owner_reference_back(
    env: Environment,
) -> None:
    async with running_operator(env):
        await create_tenants(env)
        await protect(env, NODES, "t0-web")
        await wait_for_no_owner_references(env, "t0-settings")
        await protect(env, NODES, "t0-web", None)

        async def is_owned() -> bool:
            return "ownerReferences" in (await env.get(CONFIG_MAPS, "t0-settings"))["metadata"]

        await eventually(is_owned)
        await wait_for_node_ready(env, "t0-web")


async def blocked_events(env: Environment) -> set[tuple[str, str, int]]:
    """Return the kind, the name and the count of each event DeletionBlocked."""
    events = await env.client.list(EVENTS, env.namespace)
    return {
        (event["involvedObject"]["kind"], event["involvedObject"]["name"], event.get("count", 1))
        for event in events.items
        if event["reason"] == "DeletionBlocked"
    }


async def uids_of(env: Environment, *names: str) -> set[str]:
    return {(await env.get(CONFIG_MAPS, name))["metadata"]["uid"] for name in names}


async def wait_for_no_owner_references(env: Environment, *names: str) -> set[str]:
    """Wait until the objects have no owner reference; return their uids."""

    async def are_free() -> bool:
        metadata = [(await env.get(CONFIG_MAPS, name))["metadata"] for name in names]
        return all("ownerReferences" not in each for each in metadata)

    await eventually(are_free)
    return await uids_of(env, *names)


async def is_deleted(env: Environment, uids: set[str]) -> bool:
    listed = await env.client.list(CONFIG_MAPS, env.namespace)
    return uids.isdisjoint(each["metadata"]["uid"] for each in listed.items)


async def _ignoring_missing(condition: Any) -> bool:
    try:
        return bool(await condition())
    except NotFound:
        return False
