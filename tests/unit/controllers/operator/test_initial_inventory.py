"""New nodes whose first inventory is in an annotation, and rows whose values give no object."""

import pytest

from lynq.kube.resource import CONFIG_MAPS
from operated.environment import NODES, Environment, Object, config_map
from operated.running_operator import (
    get_node,
    resource_status,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually


@pytest.mark.parametrize(
    "entry",
    [
        config_map(nameTemplate="{{ .plan }}"),
        config_map(targetNamespace="{{ .plan }}"),
        config_map(spec={"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "{{ .none }}"}}),
    ],
    ids=["name", "namespace", "body"],
)
async def test_object_that_cannot_be_rendered_is_not_listed_and_holds_up_no_deletion(
    env: Environment, entry: Object
) -> None:
    rows = (("acme", 1, "a/b"), ("beta", 1, "b/c"), ("corp", 1, "c/d"))
    env.set_rows(*rows)
    other = config_map(id="other", nameTemplate="{{ .uid }}-other")
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(configMaps=[entry, other])
        await wait_for_resource_state(env, "acme-web", "settings", "Failed")
        node = await get_node(env, "acme-web")
        assert not resource_status(node, "settings").get("name")
        assert [key.partition("@")[2] for key in node["status"]["appliedResources"]] == ["other"]
        env.set_rows(*rows[1:])
        await env.force_sync()
        await wait_for_deletion(env, NODES, "acme-web")


async def test_annotation_is_removed_with_the_next_update(env: Environment) -> None:
    async def has_annotation() -> bool:
        annotations = (await get_node(env, "acme-web"))["metadata"]["annotations"]
        return "lynq.sh/initial-inventory" in annotations

    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form()
        await wait_for_node_ready(env, "acme-web")
        assert await has_annotation()
        env.set_rows(("acme", 1, "gold"))
        await env.force_sync()

        async def is_removed() -> bool:
            return not await has_annotation()

        await eventually(is_removed)
    assert await env.get(CONFIG_MAPS, "acme-settings")
