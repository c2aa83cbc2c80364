"""deletionPolicy Retain holds in a deletion in the foreground, which the garbage collector does.

It deletes every object that has an owner reference, and waits for no finalizer. The operator is
down meanwhile, so that it cannot be faster.
"""

from typing import Any

import pytest

from lynq.kube import Resource
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS
from operated.builders import NODE, labels, wait_for_object
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
    wait_for_resource_state,
)
from waiting import eventually

RETAIN: Object = {"deletionPolicy": "Retain"}
INVALID: Object = {"annotationsTemplate": {"not a key": "1"}}


def settings(resource_id: str, **parts: Any) -> Object:
    """Return a form entry for a ConfigMap that is named after its id."""
    return config_map(id=resource_id, nameTemplate=f"{{{{ .uid }}}}-{resource_id}", **parts)


async def uid_of(env: Environment, resource: Resource, name: str) -> str:
    """Return the uid of an object; "" if it does not exist."""
    try:
        uid: str = (await env.get(resource, name))["metadata"]["uid"]
    except NotFound:
        return ""
    return uid


@pytest.mark.parametrize(("resource", "name"), [(HUBS, "hub"), (NODES, NODE)])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(RETAIN, RETAIN, id="from-the-start"),
        pytest.param({}, RETAIN, id="later"),
        pytest.param({"creationPolicy": "Once"}, {"creationPolicy": "Once"} | RETAIN, id="once"),
        pytest.param({}, RETAIN | INVALID, id="refused"),
    ],
)
async def test_retained_object_survives_a_deletion_in_the_foreground(
    env: Environment, resource: Resource, name: str, before: Object, after: Object
) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[settings("data", **before), settings("cache")])
        await wait_for_node_ready(env, NODE)
        node, data = await uid_of(env, NODES, NODE), await uid_of(env, CONFIG_MAPS, "acme-data")
        changed = [settings("data", **after), settings("cache", labelsTemplate={"step": "2"})]
        await env.patch(FORMS, "web", {"spec": {"configMaps": changed}})
        await wait_for_object(env, "acme-cache", lambda obj: labels(obj).get("step") == "2")
        state = "Failed" if "annotationsTemplate" in after else "Ready"
        await wait_for_resource_state(env, NODE, "data", state)
        await env.wait_until_idle()
    await env.client.delete(resource, name, env.namespace, propagation="Foreground")
    await wait_for_garbage_collector(env, NODE)
    assert not await uid_of(env, CONFIG_MAPS, "acme-cache")
    async with running_operator(env):

        async def is_finalized() -> bool:
            # The hub creates a deleted node again.
            return await uid_of(env, NODES, NODE) != node

        await eventually(is_finalized)
        assert await uid_of(env, CONFIG_MAPS, "acme-data") == data
