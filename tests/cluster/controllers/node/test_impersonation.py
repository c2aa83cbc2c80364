"""Service accounts and allowed namespaces of the objects of a node."""

import uuid
from typing import Any

import pytest

from built_in_resources import SERVICE_ACCOUNTS
from cluster.controllers.node.test_missing_rights import rule
from lynq.controllers import context
from lynq.controllers.decoding import RawObject, Unreadable
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES
from operated.builders import (
    NODE,
    create_node,
    delete_node,
    edit,
    entry,
    exists,
    labels,
    manifest_entry,
)
from operated.environment import FORMS, HUBS, NODES, Environment, config_map
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from rights import bind_role, set_rules, user_of

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
SECRET = {
    "id": "secret",
    "nameTemplate": "{{ .uid }}-secret",
    "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}},
}

AS_WRITER = {"lynq.sh/service-account": "writer"}
FORM_MISSING = 'LynqForm "web" does not exist'


async def create_account(env: Environment, account: str, *rules: Any) -> None:
    """Create a service account with a Role of these rules."""
    namespace = env.namespace
    await env.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": account}}, namespace)
    user = user_of(account, namespace)
    await bind_role(env.client, account, rules, namespace=namespace, user=user)


async def grant(env: Environment, account: str, *rules: Any) -> None:
    """Give a service account these rights, and take away all others."""
    user = user_of(account, env.namespace)
    await set_rules(env.client, account, rules, namespace=env.namespace, user=user)


async def test_form_is_limited_to_rights_of_its_service_account(env: Environment) -> None:
    await create_account(env, "writer", rule("", "configmaps"))
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(serviceAccountName="writer", secrets=[SECRET])
    async with running_operator(env):
        resource = await wait_for_resource_state(env, "acme-web", "secret", "Failed")
        await wait_for_resource_state(env, "acme-web", "settings", "Ready")
        assert "secrets" in resource["message"]
        assert "patch" in resource["message"]
        node = await get_node(env, "acme-web")
        assert node["metadata"]["annotations"]["lynq.sh/service-account"] == "writer"

        await grant(env, "writer", rule("", "configmaps", "secrets"))
        await wait_for_node_ready(env, "acme-web", within=60)


async def test_deletes_are_impersonated_after_form_deletion(
    env: Environment,
) -> None:
    may_not_delete = rule("", "configmaps", verbs=("get", "create", "patch"))
    await create_account(env, "writer", may_not_delete)
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(serviceAccountName="writer")
    async with running_operator(env):
        await wait_for_node_ready(env, "acme-web")
        await env.client.delete(FORMS, "web", env.namespace)
        assert "delete" in await env.wait_for_event("CleanupPartialFailure")
        assert await env.get(CONFIG_MAPS, "acme-settings")

        await grant(env, "writer", rule("", "configmaps"))
        await wait_for_deletion(env, CONFIG_MAPS, "acme-settings", within=60)
        await env.wait_for_nodes()


async def test_operator_can_require_service_accounts(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    async with running_operator(env, requires_service_account=True):
        resource = await wait_for_resource_state(env, "acme-web", "settings", "Failed")
        assert "serviceAccountName" in resource["message"]
        with pytest.raises(NotFound):
            await env.get(CONFIG_MAPS, "acme-settings")


@pytest.mark.parametrize("required", [False, True])
async def test_node_annotation_does_not_choose_service_account(
    env: Environment, *, required: bool
) -> None:
    """Otherwise the right to edit nodes would grant the rights of any account."""
    await create_account(env, "writer", rule("", "configmaps"))
    async with running_operator(env, requires_service_account=required):
        await create_node(env, entry("settings"), annotations=AS_WRITER)
        resource = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert FORM_MISSING in resource["message"]
        assert "create the LynqForm, or delete the LynqNode" in resource["message"]
        assert not await exists(env, "settings")
        await delete_node(env)
        await wait_for_deletion(env, NODES, NODE)


async def test_manual_node_is_rejected_when_service_accounts_are_required(
    env: Environment,
) -> None:
    async with running_operator(env, requires_service_account=True):
        await create_node(env, entry("settings"))
        resource = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert FORM_MISSING in resource["message"]
        assert not await exists(env, "settings")


async def test_node_of_deleted_form_under_paused_hub_keeps_its_objects(
    env: Environment,
) -> None:
    await create_account(env, "writer", rule("", "configmaps"))
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    entries = [config_map(conflictPolicy="Force")]
    await env.create_form(serviceAccountName="writer", configMaps=entries)
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_status(observedGeneration=2)
        await env.client.delete(FORMS, "web", env.namespace)
        await wait_for_deletion(env, FORMS, "web")

        await edit(env, "acme-settings", {"data": {"plan": "edited"}})
        resource = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert FORM_MISSING in resource["message"]
        kept = await env.get(CONFIG_MAPS, "acme-settings")
        assert kept["data"] == {"plan": "edited"}

        await env.create_form(serviceAccountName="writer", configMaps=entries)
        await wait_for_node_ready(env, NODE, within=60)


async def test_node_without_hub_gets_no_account_of_a_form(env: Environment) -> None:
    await create_account(env, "writer", rule("", "configmaps"))
    await env.create_form(serviceAccountName="writer")
    async with running_operator(env):
        await create_node(env, entry("settings"))
        resource = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert "was not created by a LynqHub" in resource["message"]
        assert not await exists(env, "settings")


async def test_nothing_is_written_for_unreadable_form(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its service account and its allowed namespaces are unknown."""

    def unreadable(obj: RawObject) -> Unreadable:
        return Unreadable(obj.metadata, "invalid spec, see $.configMaps")

    monkeypatch.setattr(context, "decode_form", unreadable)
    await env.create_form()
    async with running_operator(env):
        await create_node(env, entry("settings"))
        resource = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert 'LynqForm "web" cannot be read' in resource["message"]
        assert "$.configMaps" in resource["message"]
        assert not await exists(env, "settings")


@pytest.mark.parametrize("by", ["form", "operator"])
async def test_only_allowed_namespaces_are_written_to(env: Environment, by: str) -> None:
    suffix = uuid.uuid4().hex[:8]
    allowed, other = f"tenant-{suffix}", f"kube-{suffix}"
    for name in (allowed, other):
        await env.client.create(NAMESPACES, {"metadata": {"name": name}})
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    patterns = ["tenant-*"]
    await env.create_form(
        allowedNamespaces=patterns if by == "form" else [],
        configMaps=[
            config_map(targetNamespace=allowed),
            config_map(id="outside", targetNamespace=other),
            config_map(id="own", nameTemplate="{{ .uid }}-own"),
        ],
    )
    options: dict[str, Any] = {"allowed_namespaces": tuple(patterns)} if by == "operator" else {}
    async with running_operator(env, namespaces=(), **options):
        resource = await wait_for_resource_state(env, "acme-web", "outside", "Failed")
        await wait_for_resource_state(env, "acme-web", "settings", "Ready")
        await wait_for_resource_state(env, "acme-web", "own", "Ready")
        assert other in resource["message"]
        assert await env.client.get(CONFIG_MAPS, "acme-settings", allowed)
        with pytest.raises(NotFound):
            await env.client.get(CONFIG_MAPS, "acme-settings", other)
        env.set_rows()
        await env.force_sync()
        await env.wait_for_nodes()
    for name in (allowed, other):
        await env.client.delete(NAMESPACES, name)


@pytest.mark.parametrize("by", ["form", "operator"])
async def test_disallowed_namespace_object_is_not_written(env: Environment, by: str) -> None:
    """An adopted Namespace would be deleted with the row, including its contents."""
    suffix = uuid.uuid4().hex[:8]
    allowed, other = f"tenant-{suffix}", f"kube-{suffix}"
    await env.client.create(NAMESPACES, {"metadata": {"name": other}})
    patterns = ["tenant-*"]
    await env.create_form(allowedNamespaces=patterns if by == "form" else [])
    options: dict[str, Any] = {"allowed_namespaces": tuple(patterns)} if by == "operator" else {}
    async with running_operator(env, namespaces=(), **options):
        names = {"inside": allowed, "outside": other, "own": env.namespace}
        await create_node(
            env,
            namespaces=[
                manifest_entry(resource_id, NAMESPACE, nameTemplate=name, adoptionPolicy="Retain")
                for resource_id, name in names.items()
            ],
        )
        resource = await wait_for_resource_state(env, NODE, "outside", "Failed")
        assert f'namespace "{other}" is not in' in resource["message"]
        await wait_for_resource_state(env, NODE, "inside", "Ready")
        await wait_for_resource_state(env, NODE, "own", "Ready")
        obj = await env.client.get(NAMESPACES, other)
        assert "lynq.sh/node" not in labels(obj)
    for name in (allowed, other):
        await env.client.delete(NAMESPACES, name)


async def test_namespace_no_longer_allowed_survives_and_blocks_finalizer(
    env: Environment,
) -> None:
    name = f"kube-{uuid.uuid4().hex[:8]}"
    async with running_operator(env, namespaces=()):
        await create_node(env, namespaces=[manifest_entry("space", NAMESPACE, nameTemplate=name)])
        await wait_for_node_ready(env, NODE)
    async with running_operator(env, namespaces=(), allowed_namespaces=("tenant-*",)):
        resource = await wait_for_resource_state(env, NODE, "space", "Failed")
        assert "--allowed-namespaces" in resource["message"]
        await delete_node(env)
        kept = await wait_for_resource_state(env, NODE, "space", "Deleting")
        assert "--allowed-namespaces" in kept["message"]
        assert "deletionTimestamp" not in (await env.client.get(NAMESPACES, name))["metadata"]
    async with running_operator(env, namespaces=()):
        await wait_for_deletion(env, NODES, NODE, within=120)
        with pytest.raises(NotFound):
            await env.client.get(NAMESPACES, name)
