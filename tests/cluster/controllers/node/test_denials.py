"""Writes that the API server denies: the user reads who denied them and why, and no row value."""

import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from certificates import Authority
from http_server import serve_http
from lynq.kube import Resource
from lynq.kube.errors import ApiError
from lynq.kube.resource import CONFIG_MAPS, EVENTS, NAMESPACES
from operated.builders import NODE, create_node, entry, manifest_entry
from operated.environment import Environment, Object
from operated.manifests import deployment
from operated.running_operator import (
    get_node,
    running_operator,
    wait_for_resource_state,
)
from waiting import eventually

VALUE = "s3cr3t-plan-4711"
QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
LIMIT_RANGES = Resource("", "v1", "LimitRange", "limitranges", namespaced=True)
ADMISSION = "admissionregistration.k8s.io"
POLICIES = Resource(
    ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
BINDINGS = Resource(
    ADMISSION,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
WEBHOOKS = Resource(
    ADMISSION,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
CONFIG_MAP_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


async def denied(env: Environment, *, within: float = 15.0) -> None:
    """Wait until the API server denies ConfigMaps in the namespace."""

    async def is_denied() -> bool:
        probe = {"metadata": {"name": "probe", "namespace": env.namespace}}
        try:
            await env.client.create(CONFIG_MAPS, probe, dry_run=True)
        except ApiError:
            return True
        return False

    await eventually(is_denied, within=within, every=0.1)


@asynccontextmanager
async def quota(env: Environment, _folder: Path) -> AsyncIterator[None]:
    spec = {"hard": {"count/configmaps": "0"}}
    metadata = {"name": "no-config", "namespace": env.namespace}
    await env.client.create(QUOTAS, {"metadata": metadata, "spec": spec})
    await denied(env)
    yield


@asynccontextmanager
async def limit_range(env: Environment, _folder: Path) -> AsyncIterator[None]:
    spec = {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]}
    metadata = {"name": "small", "namespace": env.namespace}
    await env.client.create(LIMIT_RANGES, {"metadata": metadata, "spec": spec})
    yield


@asynccontextmanager
async def pod_security(env: Environment, _folder: Path) -> AsyncIterator[None]:
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    await env.client.patch(NAMESPACES, env.namespace, {"metadata": {"labels": label}})
    yield


@asynccontextmanager
async def policy(env: Environment, _folder: Path) -> AsyncIterator[None]:
    """A ValidatingAdmissionPolicy whose message quotes the object."""
    name = f"{env.namespace}-no-plans"
    spec = {
        "matchConstraints": {"resourceRules": [CONFIG_MAP_RULE]},
        "validations": [
            {
                "expression": "!has(object.data)",
                "messageExpression": "'plan ' + object.data.plan + ' is not on the price list'",
            },
            {"expression": "object.metadata.name != 'probe'"},
        ],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": env.namespace}}
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": selector},
    }
    await env.client.create(POLICIES, {"metadata": {"name": name}, "spec": spec})
    await env.client.create(BINDINGS, {"metadata": {"name": f"{name}-all"}, "spec": binding})
    try:
        await denied(env, within=30)
        yield
    finally:
        await env.client.delete(BINDINGS, f"{name}-all")
        await env.client.delete(POLICIES, name)


def webhook(result: Object) -> Any:
    """Return a context in which a webhook denies every ConfigMap with this result."""

    async def review(request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        response = {"uid": body["request"]["uid"], "allowed": False} | result
        return web.json_response(
            {"apiVersion": body["apiVersion"], "kind": "AdmissionReview", "response": response}
        )

    @asynccontextmanager
    async def denying(env: Environment, folder: Path) -> AsyncIterator[None]:
        authority = Authority()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.sign("webhook", "127.0.0.1").write(folder))
        name = f"{env.namespace}.example.com"
        async with serve_http(review, context) as url:
            hook = {
                "name": name,
                "clientConfig": {
                    "url": url,
                    "caBundle": base64.b64encode(authority.certificate).decode(),
                },
                "rules": [CONFIG_MAP_RULE],
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": env.namespace}
                },
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            await env.client.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [hook]})
            try:
                await denied(env)
                yield
            finally:
                await env.client.delete(WEBHOOKS, name)

    return denying


@asynccontextmanager
async def nothing(_env: Environment, _folder: Path) -> AsyncIterator[None]:
    yield


def config_map() -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .plan }}"}}


def pod() -> Object:
    limits = {"resources": {"limits": {"memory": "4711Mi"}}}
    container = {"name": "app", "image": "registry.example.com/{{ .plan }}"} | limits
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}


def replicas(text: str) -> Object:
    manifest = deployment("bad")
    manifest["spec"]["replicas"] = text
    return manifest


def environment_variable() -> Object:
    manifest = deployment("bad")
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "bad={{ .plan }}", "value": "{{ .plan }}"}]
    return manifest


DENIALS: dict[str, tuple[Any, Object, list[str]]] = {
    "quota": (quota, config_map(), ["exceeded quota: no-config", "count/configmaps"]),
    "limit range": (limit_range, pod(), ["maximum memory usage per Container is 64Mi"]),
    "pod security": (
        pod_security,
        pod(),
        ['violates PodSecurity "restricted:latest"', "allowPrivilegeEscalation != false"],
    ),
    "policy": (
        policy,
        config_map(),
        ["ValidatingAdmissionPolicy", "-no-plans", "binding", "plan <plan> is not on the price"],
    ),
    "webhook": (
        webhook({"status": {"code": 403, "message": f"plan {VALUE} is too expensive"}}),
        config_map(),
        ["admission webhook", ".example.com", "plan <plan> is too expensive"],
    ),
    "webhook without code": (
        webhook({"status": {"message": f"no {VALUE.upper()}, please"}}),
        config_map(),
        ["admission webhook", ".example.com", "please"],
    ),
    "webhook without message": (webhook({}), config_map(), ["admission webhook", ".example.com"]),
    "wrong type": (
        nothing,
        replicas("{{ .plan }}"),
        [".spec.replicas", "expected numeric (int or float)", "got string"],
    ),
    "schema": (
        nothing,
        environment_variable(),
        ["spec.template.spec.containers[0].env[0].name", "a valid environment variable name"],
    ),
}


@pytest.mark.parametrize("strategy", ["apply", "replace"])
@pytest.mark.parametrize("case", DENIALS, ids=lambda case: case.replace(" ", "-"))
async def test_denied_write_names_the_reason_and_no_value(
    env: Environment, tmp_path: Path, case: str, strategy: str
) -> None:
    deny, manifest, words = DENIALS[case]
    denying: AbstractAsyncContextManager[None] = deny(env, tmp_path)
    with capture_logs() as logs:
        async with denying, running_operator(env):
            desired = manifest_entry("bad", manifest, patchStrategy=strategy)
            await create_node(env, manifests=[desired], plan=VALUE)
            resource = await wait_for_resource_state(env, NODE, "bad", "Failed")
            status = (await get_node(env, NODE))["status"]
            texts = await eventually(lambda: messages_of(env, status), every=0.05)
    if strategy == "apply" or case != "wrong type":
        for text in texts:
            for word in words:
                assert word in text, (word, text)
    else:
        assert "spec.replicas" in resource["message"]
    visible = json.dumps([status, texts]) + repr(logs)
    assert VALUE not in visible
    assert VALUE.upper() not in visible


async def messages_of(env: Environment, status: Object) -> list[str]:
    """Return the message of the resource, of condition Degraded, and of the event."""
    events = (await env.client.list(EVENTS, env.namespace)).items
    failed = [event["message"] for event in events if event["reason"] == "ApplyFailed"]
    assert failed
    degraded = next(item for item in status["conditions"] if item["type"] == "Degraded")
    return [status["resources"][0]["message"], degraded["message"], failed[0]]


async def test_denied_secret_names_the_reason_without_the_message(
    env: Environment, tmp_path: Path
) -> None:
    async with quota(env, tmp_path), running_operator(env):
        hard = {"count/secrets": "0"}
        await env.client.patch(QUOTAS, "no-config", {"spec": {"hard": hard}}, env.namespace)
        manifest = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "{{ .plan }}"}}
        await create_node(env, entry("map"), secrets=[manifest_entry("bad", manifest)], plan=VALUE)
        resource = await wait_for_resource_state(env, NODE, "bad", "Failed")
    assert "exceeded quota: no-config" in resource["message"]
