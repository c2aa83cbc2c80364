"""The API server accepts the rendered chart for all tested values, and the samples."""

from typing import Any, Final

import pytest
import yaml

from cluster.deploy.installation import Installer
from deploy.manifests import CHART, Object, chart, kustomized, loaded, one
from lynq.kube.resource import NAMESPACES

MATRIX: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    **{path.stem: yaml.safe_load(path.read_text()) for path in CHART.glob("values-*.yaml")},
    "namespaced": {
        "manager": {"watchNamespaces": ["default"], "metricsSecure": False},
        "webhook": {"enabled": False},
    },
    "customized": {
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
    "minimal": {
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
    "cert-manager": {"certManager": {"enabled": True}, "webhook": {"port": 9444}},
}

FOREIGN: Final = ("monitoring.coreos.com", "cert-manager.io")
"""API groups that the test cluster does not serve."""


def served(objects: list[Object]) -> list[Object]:
    return [obj for obj in objects if not obj["apiVersion"].startswith(FOREIGN)]


def pod_of(objects: list[Object], namespace: str) -> Object:
    """Return the operator's pod without its ServiceAccount, which a dry run does not create."""
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
    await installer.dry_run(served(objects))
    await installer.client.patch(
        NAMESPACES,
        namespace,
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
    )
    await installer.dry_run([pod_of(objects, namespace)])


async def test_leader_election_can_be_toggled(installer: Installer, namespace: str) -> None:
    for elected in (True, False, True):
        values = {"namespace": {"name": namespace}, "manager": {"leaderElection": elected}}
        objects = chart(values, release="turned", namespace=namespace)
        # The API server defaults fields for one update strategy that the other rejects.
        await installer.apply(one(objects, "Deployment"))


@pytest.mark.parametrize("folder", ["network-policy"])
async def test_optional_kustomize_folders_are_accepted(
    installer: Installer, namespace: str, folder: str
) -> None:
    objects = kustomized(folder)
    for obj in objects:
        obj["metadata"]["namespace"] = namespace
    await installer.dry_run(objects)


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
    await installer.dry_run(objects)
