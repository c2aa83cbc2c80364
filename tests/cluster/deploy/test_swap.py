"""Our manifests over the Go operator's, as kubectl applied them: nothing of those is left."""

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


def ours(namespace: str) -> list[Object]:
    """Return what changes hands, under names that disturb nobody else."""
    deployment = one(kustomized(), "Deployment")
    deployment["metadata"]["namespace"] = namespace
    webhooks = one(kustomized(), "MutatingWebhookConfiguration")
    webhooks["metadata"]["name"] = namespace
    for webhook in webhooks["webhooks"]:
        webhook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}}
    return [deployment, webhooks]


def theirs(namespace: str) -> list[Object]:
    """Return the same as the Go operator has it: cert-manager makes the certificate."""
    deployment, webhooks = ours(namespace)
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    folder = "/tmp/k8s-webhook-server/serving-certs"
    container["args"].append(f"--webhook-cert-path={folder}")
    container["volumeMounts"] = [{"name": "webhook-certs", "mountPath": folder, "readOnly": True}]
    pod["volumes"] = [{"name": "webhook-certs", "secret": {"secretName": "webhook-server-cert"}}]
    webhooks["metadata"]["annotations"] = {INJECT: "lynq-system/lynq-serving-cert"}
    return [deployment, webhooks]


@pytest.mark.parametrize(
    "way", [(), ("--server-side", "--force-conflicts")], ids=["client-side", "server-side"]
)
async def test_nothing_of_go_installation_remains(
    client: Client,
    kubectl: Callable[..., str],
    namespace: str,
    tmp_path: Path,
    way: tuple[str, ...],
) -> None:
    for name, objects in (("theirs", theirs(namespace)), ("ours", ours(namespace))):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    try:
        kubectl("apply", "-f", str(tmp_path / "theirs.json"))
        before = await client.get(MUTATING, namespace)
        assert INJECT in before["metadata"]["annotations"]
        output = kubectl("apply", *way, "-f", str(tmp_path / "ours.json"))
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
