"""Deleting the definition of hubs or nodes is no decision about the tenants."""

import pytest

from lynq.api.crds import build as definitions
from lynq.kube import Resource
from lynq.kube.crd_install import install_crd
from lynq.kube.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from operated.environment import FORMS, HUBS, NODES, Environment, config_map
from operated.running_operator import running_operator, wait_for_node_ready


@pytest.mark.parametrize(
    "deleted", [(HUBS,), (NODES,), (HUBS, FORMS, NODES)], ids=["hubs", "nodes", "all"]
)
async def test_deleted_definitions_delete_no_tenant(
    own_env: Environment, deleted: tuple[Resource, ...]
) -> None:
    # A definition is deleted after the objects of all namespaces: the cluster is the test's own.
    env = own_env
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(configMaps=[config_map()])
    hub, form = await env.get(HUBS, "hub"), await env.get(FORMS, "web")
    names = {resource.name for resource in deleted}
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        before = await env.get(CONFIG_MAPS, "acme-settings")
        for name in names:
            await env.client.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
        try:
            for name in names:
                await env.wait_for_deletion(CUSTOM_RESOURCE_DEFINITIONS, name)
        finally:
            for definition in definitions():
                if definition["metadata"]["name"] in names:
                    await install_crd(env.client, definition)
        if HUBS in deleted:
            await env.create_hub(**hub["spec"])
        if FORMS in deleted:
            await env.create_form(**form["spec"])
        await wait_for_node_ready(env, "acme-web", within=30)
    after = await env.get(CONFIG_MAPS, "acme-settings")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert "lynq.sh/orphaned" not in after["metadata"]["labels"]
