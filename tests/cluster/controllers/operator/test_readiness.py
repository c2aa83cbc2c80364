"""Readiness of every kind: one form with all kinds, and the message of each unready kind."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from custom_kind import served_custom_kind
from lynq.kube import Client, Resource
from lynq.kube.resource import NAMESPACES
from operated.environment import Environment, Object, config_map
from operated.manifests import claim, daemon_set, deployment, job, stateful_set
from operated.running_operator import (
    resource_status,
    running_operator,
    wait_for_node_condition,
    wait_for_node_ready,
    wait_for_resource_state,
)
from waiting import eventually

NEVER = {"local.lynq.sh/ready": "never"}
PORTS = {"ports": [{"port": 80}]}


@pytest.fixture(scope="module")
async def gadget(client: Client) -> AsyncIterator[Resource]:
    async with served_custom_kind(client, f"g{uuid.uuid4().hex[:8]}.example.com") as resource:
        yield resource


def entry(resource_id: str, manifest: Object, **parts: object) -> Object:
    return {
        "id": resource_id,
        "nameTemplate": f"{{{{ .uid }}}}-{resource_id}",
        "spec": manifest,
    } | parts


def manifest_of(api: str, kind: str, **body: object) -> Object:
    return {"apiVersion": api, "kind": kind, **body}


def cron() -> Object:
    template = {"spec": job("cron")["spec"]}
    return manifest_of(
        "batch/v1", "CronJob", spec={"schedule": "0 0 1 1 *", "jobTemplate": template}
    )


def scaler() -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "{{ .uid }}-app"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 2}
    return manifest_of("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)


def ingress(*rules: Object) -> Object:
    backend = {"service": {"name": "{{ .uid }}-service", "port": {"number": 80}}}
    spec: Object = {"rules": list(rules)} if rules else {"defaultBackend": backend}
    return manifest_of("networking.k8s.io/v1", "Ingress", spec=spec)


def every_kind(gadget: Resource) -> dict[str, Any]:
    """Return form lists with one resource of each kind."""
    selector = {"matchLabels": {"app": "app"}}
    disruption = manifest_of("policy/v1", "PodDisruptionBudget", spec={"selector": selector})
    policy = manifest_of("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}})
    delayed = deployment("app", annotations={"local.lynq.sh/ready-after": "500ms"})
    condition = {"type": "Ready", "status": "True", "reason": "Made", "message": ""}
    plain = manifest_of(gadget.api_version, "Gadget", spec={"size": 1})
    with_condition = manifest_of(gadget.api_version, "Gadget", status={"conditions": [condition]})
    return {
        "serviceAccounts": [entry("account", manifest_of("v1", "ServiceAccount"))],
        "deployments": [entry("app", delayed)],
        "statefulSets": [entry("db", stateful_set("db"))],
        "daemonSets": [entry("agent", daemon_set("agent"))],
        "services": [entry("service", manifest_of("v1", "Service", spec=PORTS))],
        "ingresses": [entry("ingress", ingress({"host": "{{ .uid }}.example.com"}))],
        "configMaps": [config_map()],
        "secrets": [entry("secret", manifest_of("v1", "Secret", stringData={"a": "{{ .plan }}"}))],
        "persistentVolumeClaims": [entry("claim", claim("claim"))],
        "jobs": [entry("job", job("job"))],
        "cronJobs": [entry("cron", cron())],
        "podDisruptionBudgets": [entry("disruption", disruption)],
        "networkPolicies": [entry("policy", policy)],
        "horizontalPodAutoscalers": [entry("scaler", scaler(), dependIds=["app"])],
        "manifests": [entry("plain", plain), entry("condition", with_condition)],
    }


async def wait_for_message(env: Environment, resource_id: str, words: str) -> None:
    """Wait until the status says why a resource is not ready; earlier stages may be skipped."""

    async def has_message() -> bool:
        entry = await wait_for_resource_state(env, "acme-web", resource_id, "Progressing")
        return bool(entry["message"]) and words in entry["message"]

    await eventually(has_message, within=30)


async def test_form_with_every_kind_becomes_ready(
    env: Environment, gadget: Resource, client: Client
) -> None:
    namespace = f"{env.namespace}-space"
    space = {"id": "space", "nameTemplate": namespace, "spec": manifest_of("v1", "Namespace")}
    lists = every_kind(gadget) | {"namespaces": [space]}
    env.set_rows(("acme", 1, "pro"))
    # Namespaces are cluster-scoped: an operator limited to namespaces cannot watch them.
    async with running_operator(env, namespaces=()):
        await env.create_hub()
        await env.create_form("web", **lists)
        node = await wait_for_node_ready(env, "acme-web", within=90)
        count = sum(map(len, lists.values()))
        status = node["status"]
        assert (status["desiredResources"], status["readyResources"]) == (count, count)
        assert {resource["state"] for resource in status["resources"]} == {"Ready"}
        assert (await client.get(NAMESPACES, namespace))["status"]["phase"] == "Active"

        env.set_rows()
        await env.force_sync()
        await env.wait_for_nodes(within=60)


def not_ready(gadget: Resource) -> dict[str, tuple[str, Object, str]]:
    """Return list, manifest and message of each kind that can be unready."""
    slow_claim = claim("claim")
    slow_claim["spec"]["storageClassName"] = "missing-class"
    balancer = manifest_of("v1", "Service", spec={"type": "LoadBalancer", **PORTS})
    condition = {"type": "Ready", "status": "False", "reason": "Busy", "message": "still working"}
    daemons = daemon_set("agent")
    daemons["spec"]["template"]["metadata"]["annotations"] = dict(NEVER)
    stateful = stateful_set("db")
    stateful["spec"]["template"]["metadata"]["annotations"] = dict(NEVER)
    return {
        "deployment": (
            "deployments",
            deployment("app", annotations=NEVER),
            "0 of 2 replicas",
        ),
        "broken": (
            "deployments",
            deployment("broken", image="registry.local/nonexistent:1"),
            "0 of 2 replicas",
        ),
        "stateful": ("statefulSets", stateful, "of 2 replicas"),
        "daemons": ("daemonSets", daemons, "pods"),
        "balancer": ("services", balancer, "waiting for a load balancer address"),
        "ingress": ("ingresses", ingress(), "waiting for a load balancer address"),
        "claim": ("persistentVolumeClaims", slow_claim, "claim is Pending"),
        "endless": ("jobs", job("endless", job="never"), "0 of 1 completions"),
        "scaler": ("horizontalPodAutoscalers", scaler(), ""),
        "condition": (
            "manifests",
            manifest_of(gadget.api_version, "Gadget", status={"conditions": [condition]}),
            "Ready is False: still working",
        ),
    }


async def test_every_kind_reports_why_it_is_not_ready(env: Environment, gadget: Resource) -> None:
    cases = not_ready(gadget)
    lists: dict[str, Any] = {"configMaps": []}
    for resource_id, (name, manifest, _) in cases.items():
        lists.setdefault(name, []).append(entry(resource_id, manifest))
    failing = entry("failing", job("failing", job="fail"))
    lists["jobs"].append(failing)
    waiting = config_map(dependIds=["claim"])
    skipped = config_map(id="skipped", nameTemplate="{{ .uid }}-skipped", dependIds=["failing"])
    lists["configMaps"] = [waiting, skipped]
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form("web", **lists)
        await env.wait_for_nodes("acme-web")
        resource = await wait_for_resource_state(env, "acme-web", "failing", "Failed", within=60)
        assert "BackoffLimitExceeded" in resource["reason"] + resource["message"]
        for resource_id, (_, _, words) in cases.items():
            await wait_for_message(env, resource_id, words)
        assert (await wait_for_resource_state(env, "acme-web", "settings", "Waiting"))["message"]
        assert (await wait_for_resource_state(env, "acme-web", "skipped", "Skipped"))["message"]
        node = await wait_for_node_condition(env, "acme-web", "Ready", "False", "ResourcesFailed")
    assert node["status"]["skippedResourceIds"] == ["skipped"]
    assert "failing" in resource_status(node, "skipped")["message"]


async def test_resource_fails_at_its_readiness_timeout(env: Environment) -> None:
    slow = entry("app", deployment("app", annotations=NEVER), timeoutSeconds=3)
    after = config_map(dependIds=["app"])
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        await env.create_form(deployments=[slow], configMaps=[after])
        await env.wait_for_nodes("acme-web")
        resource = await wait_for_resource_state(env, "acme-web", "app", "Failed")
        assert "3" in resource["message"]
        await env.wait_for_event("ReadinessTimeout")
        await wait_for_resource_state(env, "acme-web", "settings", "Skipped")
        await env.wait_for_status(ready=0, failed=1)


async def test_custom_kind_follows_its_ready_condition(env: Environment, gadget: Resource) -> None:
    env.set_rows(("acme", 1, "pro"))
    async with running_operator(env):
        await env.create_hub()
        plain = manifest_of(gadget.api_version, "Gadget", spec={"size": 1})
        await env.create_form(manifests=[entry("gadget", plain)])
        await wait_for_node_ready(env, "acme-web")
        for status, state in (("False", "Progressing"), ("True", "Ready")):
            condition = {"type": "Ready", "status": status, "message": "set by its controller"}
            patch = {"status": {"conditions": [condition]}}
            await env.patch(gadget, "acme-gadget", patch)
            await wait_for_resource_state(env, "acme-web", "gadget", state)
        await wait_for_node_ready(env, "acme-web")
