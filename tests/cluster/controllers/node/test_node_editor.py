"""Users who may edit LynqNodes, and nothing else: their nodes are not carried out."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from cluster.controllers.node.test_impersonation import create_account
from cluster.controllers.node.test_missing_rights import rule
from lynq.api import NodeSpec
from lynq.api.digests import spec_digest
from lynq.kube import Client
from lynq.kube.errors import NotFound
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.builders import NODE, extra_namespace
from operated.environment import (
    FORMS,
    HUBS,
    NODES,
    QUICK,
    Environment,
    Object,
    config_map,
)
from operated.running_operator import (
    running_operator,
    wait_for_deletion,
    wait_for_node_ready,
    wait_for_resource_state,
)
from rights import bind_role
from waiting import eventually, stays

EDITOR = "mallory"
VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
PWNED = {
    "id": "pwned",
    "nameTemplate": "pwned",
    "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}},
}
TENANTS = (
    *("strong-form", "plain-form", "no-form", "manifest", "row", "account", "label", "owner"),
    *("stripped", "unsigned"),
)


async def editor_of(env: Environment) -> Client:
    """Return a client with the rights of lynqnode-editor-role."""
    group = NODES.group
    rules = [rule(group, "lynqnodes", verbs=VERBS), rule(group, "lynqnodes/status", verbs=("get",))]
    await bind_role(env.client, EDITOR, rules, namespace=env.namespace, user=EDITOR)
    return env.client.acting_as(EDITOR)


def attack(tenant: str, node: Object, elsewhere: str) -> Object:
    """Return the patch of one attack on the node of a tenant."""
    secret: Object = {"secrets": [PWNED]}
    marks = ("signature", "spec-digest", "hubId", "rollout-update-start", "template-generation")
    patches: dict[str, Object] = {
        "strong-form": {"spec": secret | {"templateRef": "infra"}},
        "plain-form": {"spec": secret | {"templateRef": "plain"}},
        "no-form": {
            "spec": {
                "templateRef": "none",
                "configMaps": [config_map(nameTemplate="pwned", targetNamespace=elsewhere)],
            }
        },
        "manifest": {"spec": {"configMaps": [config_map("pwned")]}},
        "row": annotated({"lynq.sh/extra": '{"plan":"pwned"}'}),
        "account": annotated({"lynq.sh/service-account": "strong"}) | {"spec": secret},
        "label": {"metadata": {"labels": {"lynq.sh/hub": "other"}}, "spec": {"configMaps": []}},
        "owner": {"metadata": {"ownerReferences": []}, "spec": {"configMaps": []}},
        "stripped": {
            "metadata": {
                "labels": None,
                "ownerReferences": [],
                "annotations": {f"lynq.sh/{mark}": None for mark in marks},
            },
            "spec": secret | {"configMaps": []},
        },
        # With the digest that everybody can compute.
        "unsigned": annotated({"lynq.sh/signature": None, "lynq.sh/spec-digest": digest(node)})
        | {"spec": {"configMaps": []}},
    }
    return patches[tenant]


def digest(node: Object) -> str:
    """Return the digest of the node without ConfigMaps."""
    spec = msgspec.convert({**node["spec"], "configMaps": []}, NodeSpec)
    return spec_digest(spec, node["metadata"]["annotations"])


def annotated(annotations: dict[str, str | None]) -> Object:
    return {"metadata": {"annotations": annotations}}


def forged(name: str, hub: Object | None, **spec: Any) -> Object:
    """Return a node that pretends to be written by a hub, or one without a hub."""
    metadata: Object = {"name": name, "annotations": {"lynq.sh/extra": "{}"}}
    if hub:
        owner = {"apiVersion": hub["apiVersion"], "kind": "LynqHub", "controller": True}
        owner |= {key: hub["metadata"][key] for key in ("name", "uid")}
        metadata |= {"labels": {"lynq.sh/hub": "hub"}, "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {"uid": "x", "secrets": [PWNED]} | spec}


@pytest.mark.parametrize("required", [False, True])
async def test_attacks_of_a_node_editor_are_stopped(env: Environment, *, required: bool) -> None:
    """The hub is paused, so that it does not restore the nodes before they are reconciled."""
    await create_account(env, "weak", rule("", "configmaps"))
    await create_account(env, "strong", rule("", "configmaps", "secrets"))
    env.set_rows(*((tenant, 1, "pro") for tenant in TENANTS))
    hub = await env.create_hub()
    await env.create_form(serviceAccountName="weak", allowedNamespaces=["tenant-*"])
    await env.create_form("infra", "none", serviceAccountName="strong")
    await env.create_form("plain", "none")
    editor = await editor_of(env)
    timing = replace(QUICK, unsigned_report_delay=timedelta(seconds=0.1))
    async with (
        extra_namespace(env) as elsewhere,
        running_operator(env, namespaces=(), requires_service_account=required, timing=timing),
    ):
        nodes = {tenant: await wait_for_node_ready(env, f"{tenant}-web") for tenant in TENANTS}
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_status(observedGeneration=2)

        for tenant, node in nodes.items():
            patch = attack(tenant, node, elsewhere)
            await editor.patch(NODES, f"{tenant}-web", patch, env.namespace)
        for name, owner, form in (
            ("x-infra", None, "infra"),
            ("x-none", None, "none"),
            ("x-plain", hub, "plain"),
        ):
            await editor.create(NODES, forged(name, owner, templateRef=form), env.namespace)

        async def waits() -> bool:
            for tenant in TENANTS:
                node = await env.get(NODES, f"{tenant}-web")
                reasons = {condition["reason"] for condition in node["status"]["conditions"]}
                assert "WaitingForHub" in reasons, (tenant, node)
            return True

        async def nothing_changed() -> bool:
            for namespace in (env.namespace, elsewhere):
                for kind in (SECRETS, CONFIG_MAPS):
                    objects = await env.client.list(kind, namespace)
                    assert "pwned" not in {obj["metadata"]["name"] for obj in objects.items}
            for tenant in TENANTS:
                assert (await env.get(CONFIG_MAPS, f"{tenant}-settings"))["data"] == {"plan": "pro"}
            return True

        await eventually(waits, every=0.1)
        await stays(nothing_changed, seconds=1, every=0.2)

        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        for tenant in TENANTS:
            restored = await wait_for_node_ready(env, f"{tenant}-web")
            assert restored["spec"] == nodes[tenant]["spec"]
        await stays(nothing_changed, seconds=0.5, every=0.2)


async def test_node_of_an_earlier_operator_is_signed_by_its_hub(env: Environment) -> None:
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(rollout={"maxSkew": 1})
    async with running_operator(env):
        await wait_for_node_ready(env, NODE)
    unsigned = annotated({"lynq.sh/signature": None, "lynq.sh/spec-digest": None})
    await env.patch(NODES, NODE, unsigned)
    await env.client.delete(CONFIG_MAPS, "acme-settings", env.namespace)

    async with running_operator(env):

        async def restored() -> bool:
            node = await env.get(NODES, NODE)
            try:
                await env.get(CONFIG_MAPS, "acme-settings")
            except NotFound:
                return False
            return "lynq.sh/signature" in node["metadata"]["annotations"]

        await eventually(restored, every=0.05)
        writes = [request for request in env.requests.sent if request.path.endswith(f"/{NODE}")]
        assert [request.verb for request in writes] == ["replace"]


async def test_old_node_that_an_editor_puts_back_deletes_nothing(env: Environment) -> None:
    """The old form had one ConfigMap less: carried out, the old node would delete it."""
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form()
    editor = await editor_of(env)
    timing = replace(QUICK, unsigned_report_delay=timedelta(seconds=0.1))
    async with running_operator(env, timing=timing):
        old = await wait_for_node_ready(env, NODE)
        both = [config_map(), config_map(id="more", nameTemplate="more")]
        await env.patch(FORMS, "web", {"spec": {"configMaps": both}})
        await eventually(lambda: exists(env, "more"), every=0.05)
        await wait_for_node_ready(env, NODE)
        await env.patch(HUBS, "hub", {"spec": {"paused": True}})
        await env.wait_for_status(observedGeneration=2)

        current = await env.get(NODES, NODE)
        old["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        await editor.replace(NODES, old)

        async def waits() -> bool:
            status = (await env.get(NODES, NODE))["status"]
            return "WaitingForHub" in {item["reason"] for item in status["conditions"]}

        await eventually(waits, every=0.1)
        await stays(lambda: exists(env, "more"), seconds=0.5, every=0.1)

        await env.patch(HUBS, "hub", {"spec": {"paused": False}})
        restored = await wait_for_node_ready(env, NODE)
        assert restored["spec"] == current["spec"]
        assert await exists(env, "more")


async def exists(env: Environment, name: str) -> bool:
    try:
        await env.get(CONFIG_MAPS, name)
    except NotFound:
        return False
    return True


async def test_node_of_a_deleted_hub_gets_no_account(env: Environment) -> None:
    """A signed node that is created again has no hub that would remove or restore it."""
    await create_account(env, "weak", rule("", "configmaps"))
    env.set_rows(("acme", 1, "pro"))
    await env.create_hub()
    await env.create_form(serviceAccountName="weak")
    editor = await editor_of(env)
    async with running_operator(env):
        old = await wait_for_node_ready(env, NODE)
        await env.client.delete(HUBS, "hub", env.namespace)
        await wait_for_deletion(env, HUBS, "hub")
        await wait_for_deletion(env, CONFIG_MAPS, "acme-settings")

        kept = {key: old["metadata"][key] for key in ("name", "labels", "annotations")}
        await editor.create(NODES, {"metadata": kept, "spec": old["spec"]}, env.namespace)
        entry = await wait_for_resource_state(env, NODE, "settings", "Failed")
        assert 'LynqHub "hub" does not exist' in entry["message"]
        assert not await exists(env, "acme-settings")
