"""What the chart renders to is accepted by the API server, whatever the values."""

from typing import Any, Final

import pytest
import yaml

from cluster.deploy.installation import Installer
from deploy.manifests import CHART, Object, chart, kustomized, loaded, one
from lynq.kube.resource import NAMESPACES

MATRIX: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "local": yaml.safe_load((CHART / "values-local.yaml").read_text()),
    "prod": yaml.safe_load((CHART / "values-prod.yaml").read_text()),
    "narrow": {
        "manager": {"watchNamespaces": ["default"], "metricsSecure": False},
        "webhook": {"enabled": False},
    },
    "dressed": {
        "commonLabels": {"team": "x"},
        "commonAnnotations": {"note": "y"},
        "podLabels": {"a": "b"},
        "podAnnotations": {"c": "d"},
        "serviceAccount": {"annotations": {"e": "f"}},
        "networkPolicy": {"enabled": True, "webhook": {"from": [{"podSelector": {}}]}},
        "service": {"type": "NodePort", "annotations": {"g": "h"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
    },
    "bare": {
        "rbac": {"create": False},
        "serviceAccount": {"create": False, "name": "mine"},
        "crds": {"install": False},
        "webhook": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "manager": {
            "metricsBindAddress": "0",
            "healthProbeBindAddress": "0",
            "leaderElection": False,
        },
    },
    "certificates": {"certManager": {"enabled": True}, "webhook": {"port": 9444}},
}

FOREIGN: Final = ("monitoring.coreos.com", "cert-manager.io")
"""Groups that this cluster does not serve."""


def known(objects: list[Object]) -> list[Object]:
    return [obj for obj in objects if not obj["apiVersion"].startswith(FOREIGN)]


def pod_of(objects: list[Object], namespace: str) -> Object:
    """Return the operator's pod; its account was not stored, so it does without."""
    spec = one(objects, "Deployment")["spec"]["template"]["spec"]
    del spec["serviceAccountName"]
    metadata = {"name": "manager", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
async def test_chart_is_accepted(
    installer: Installer, namespace: str, values: dict[str, Any]
) -> None:
    placed = {**values, "namespace": {"name": namespace}}
    objects = chart(placed, release="matrix", namespace=namespace)
    await installer.accepts(known(objects))
    await installer.client.patch(
        NAMESPACES,
        namespace,
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
    )
    await installer.accepts([pod_of(objects, namespace)])


async def test_leader_election_can_be_toggled(installer: Installer, namespace: str) -> None:
    for leads in (True, False, True):
        values = {"namespace": {"name": namespace}, "manager": {"leaderElection": leads}}
        objects = chart(values, release="turned", namespace=namespace)
        # The API server has filled in what goes with one strategy, and not with the other.
        await installer.apply(one(objects, "Deployment"))


@pytest.mark.parametrize("folder", ["network-policy"])
async def test_optional_kustomize_folders_are_accepted(
    installer: Installer, namespace: str, folder: str
) -> None:
    objects = kustomized(folder)
    for obj in objects:
        obj["metadata"]["namespace"] = namespace
    await installer.accepts(objects)


@pytest.mark.parametrize(
    "sample",
    [
        "hub-sqlite",
        "hub-mysql",
        "hub-postgresql",
        "form-all-kinds",
        "form-policies",
        "role-custom-kinds",
        "role-service-account",
    ],
)
async def test_sample_is_accepted(installer: Installer, namespace: str, sample: str) -> None:
    objects = loaded(f"samples/{sample}.yaml")
    for obj in objects:
        if (await installer.resource(obj)).namespaced:
            obj["metadata"]["namespace"] = namespace
    await installer.accepts(objects)
