"""`lynq import --dry-run`: the swap from the Go operator, on objects as that one leaves them."""

from typing import Any

from built_in_resources import DEPLOYMENTS
from cluster.cli.conftest import Lynq
from lynq.cli.exit_codes import ExitCode
from lynq.core.node.desired_object import applied_hash
from lynq.kube import Resource
from lynq.kube.resource import CONFIG_MAPS
from operated.environment import NODES, Environment, Object, config_map
from operated.manifests import deployment

NODE = "acme-web"


def entry(body: Object, name: str) -> Object:
    return {"id": name, "nameTemplate": f"{{{{ .uid }}}}-{name}", "spec": body}


async def node_of_go(env: Environment, hub: Object, **lists: Any) -> Object:
    """Create a node as the hub controller of the Go operator does."""
    owner = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqHub",
        "name": hub["metadata"]["name"],
        "uid": hub["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": NODE,
        "namespace": env.namespace,
        "labels": {"lynq.sh/hub": "hub", "lynq.sh/uid": "acme"},
        "annotations": {
            "lynq.sh/hubId": "hub",
            "lynq.sh/activate": "1",
            "lynq.sh/hostOrUrl": "",
            "lynq.sh/extra": '{"plan":"gold"}',
            "lynq.sh/template-generation": "1",
        },
        "finalizers": ["lynqnode.operator.lynq.sh/finalizer"],
        "ownerReferences": [owner],
    }
    rendered = {
        name: [{**item, "nameTemplate": f"acme-{item['id']}"} for item in items]
        for name, items in lists.items()
    }
    spec = {"uid": "acme", "templateRef": "web", **rendered}
    return await env.client.create(NODES, {"metadata": metadata, "spec": spec})


async def object_of_go(env: Environment, node: Object, resource: Resource, body: Object) -> Object:
    """Apply an object as the Go operator does: owned and hashed, without lynq.sh/managed."""
    owner = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "name": NODE,
        "uid": node["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    policy = {"lynq.sh/deletion-policy": "Delete"}
    metadata = {**body["metadata"], "namespace": env.namespace, "ownerReferences": [owner]}
    whole = {**body, "metadata": {**metadata, "annotations": policy}}
    stamps = {
        "lynq.sh/applied-hash": applied_hash(whole),
        "lynq.sh/apply-start-time": "2026-01-01T00:00:00.000000000Z",
    }
    whole["metadata"]["annotations"] = policy | stamps
    return await env.client.apply(resource, whole, manager="lynq-operator")


async def go_installation(env: Environment, **settings: Any) -> list[Object]:
    """Create a hub, a form, a node and its objects; return the objects."""
    app = deployment("app", replicas=1)
    app_body = {key: app[key] for key in ("apiVersion", "kind", "spec")}
    lists: dict[str, Any] = {
        "configMaps": [config_map(**settings)],
        "deployments": [entry(app_body, "app")],
    }
    hub = await env.create_hub()
    await env.create_form(**lists)
    node = await node_of_go(env, hub, **lists)
    settings_body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "gold"}}
    objects = [
        await object_of_go(
            env, node, CONFIG_MAPS, {**settings_body, "metadata": {"name": "acme-settings"}}
        ),
        await object_of_go(env, node, DEPLOYMENTS, {**app_body, "metadata": {"name": "acme-app"}}),
    ]
    keys = [
        f"ConfigMap/{env.namespace}/acme-settings@settings",
        f"Deployment/{env.namespace}/acme-app@app",
    ]
    status = {"status": {"appliedResources": keys, "observedGeneration": 1}}
    await env.client.patch(NODES, NODE, status, env.namespace, subresource="status")
    return objects


async def test_swap_marks_objects_and_restarts_nothing(env: Environment, run_lynq: Lynq) -> None:
    before = await go_installation(env)
    result = await run_lynq("import", "--dry-run")
    assert result.stdout.splitlines() == [
        f"hub {env.namespace}/hub",
        "  signed     1 nodes",
        "  marked     2 objects: 1 ConfigMap, 1 Deployment",
        (
            "  marks      lynq.sh/applied-hash, lynq.sh/apply-start-time, lynq.sh/bucket, "
            "lynq.sh/managed, lynq.sh/rollout-budget, lynq.sh/rollout-update-start, "
            "lynq.sh/signature, lynq.sh/spec-digest"
        ),
        "  changed    0 objects",
        "  restarted  0 objects",
        "  recreated  0 objects",
        "  created    0 objects",
        "  deleted    0 objects",
        "Nothing is recreated, no pod restarts, no form is refused.",
    ]
    assert result.exit_code == ExitCode.OK
    after = [await env.get(CONFIG_MAPS, "acme-settings"), await env.get(DEPLOYMENTS, "acme-app")]
    for old, new in zip(before, after, strict=True):
        assert new["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"] or (
            new["kind"] == "Deployment" and new["spec"] == old["spec"]
        )
        assert "lynq.sh/managed" not in new["metadata"].get("labels", {})


async def test_refused_form_is_reported(env: Environment, run_lynq: Lynq) -> None:
    await go_installation(env, annotationsTemplate={"home": '{{ env "HOME" }}'})
    result = await run_lynq("import", "--dry-run", "--hub", "hub")
    assert result.exit_code == ExitCode.DIFFERENT
    assert "refused    form web: " in result.stdout
    assert "no form is refused" not in result.stdout


async def test_import_without_dry_run_changes_nothing(run_lynq: Lynq) -> None:
    result = await run_lynq("import")
    assert result.exit_code == ExitCode.ERROR
    assert "There is nothing to import" in result.stderr


async def test_import_without_hubs_says_where_it_looked(env: Environment, run_lynq: Lynq) -> None:
    result = await run_lynq("import", "--dry-run")
    assert result.exit_code == ExitCode.ERROR
    assert f"No hub was found in namespace {env.namespace}; -A looks in all." in result.stderr
