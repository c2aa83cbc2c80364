"""Applying our manifests over those of the Go operator with kubectl."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from built_in_resources import DEPLOYMENTS
from deploy.manifests import Object, kustomized, one
from lynq.kube import Client, Resource

MUTATING = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
INJECT = "cert-manager.io/inject-ca-from"


def lynq_objects(namespace: str) -> list[Object]:
    """Return Deployment and webhooks under names that do not affect other tests."""
    deployment = one(kustomized(), "Deployment")
    deployment["metadata"]["namespace"] = namespace
    webhooks = one(kustomized(), "MutatingWebhookConfiguration")
    webhooks["metadata"]["name"] = namespace
    for webhook in webhooks["webhooks"]:
        webhook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}}
    return [deployment, webhooks]


def go_objects(namespace: str) -> list[Object]:
    """Return the same objects as installed by the Go operator, with cert-manager."""
    deployment, webhooks = lynq_objects(namespace)
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    folder = "/tmp/k8s-webhook-server/serving-certs"
    container["args"].append(f"--webhook-cert-path={folder}")
    container["volumeMounts"] = [{"name": "webhook-certs", "mountPath": folder, "readOnly": True}]
    pod["volumes"] = [{"name": "webhook-certs", "secret": {"secretName": "webhook-server-cert"}}]
    webhooks["metadata"]["annotations"] = {INJECT: "lynq-system/lynq-serving-cert"}
    return [deployment, webhooks]


@pytest.mark.parametrize(
    "flags", [(), ("--server-side", "--force-conflicts")], ids=["client-side", "server-side"]
)
async def test_nothing_of_go_installation_remains(
    client: Client,
    kubectl: Callable[..., str],
    namespace: str,
    tmp_path: Path,
    flags: tuple[str, ...],
) -> None:
    for name, objects in (("go", go_objects(namespace)), ("lynq", lynq_objects(namespace))):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    try:
        kubectl("apply", "-f", str(tmp_path / "go.json"))
        before = await client.get(MUTATING, namespace)
        assert INJECT in before["metadata"]["annotations"]
        output = kubectl("apply", *flags, "-f", str(tmp_path / "lynq.json"))
        assert "rror" not in output
        obj = await client.get(DEPLOYMENTS, "lynq-controller-manager", namespace)
        pod = obj["spec"]["template"]["spec"]
        assert [volume["name"] for volume in pod["volumes"]] == ["tmp"]
        assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == ["tmp"]
        assert "--webhook-cert-path" not in " ".join(pod["containers"][0]["args"])
        after = await client.get(MUTATING, namespace)
        assert INJECT not in after["metadata"].get("annotations", {})
    finally:
        await client.delete(MUTATING, namespace)
