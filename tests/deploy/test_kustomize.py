"""kustomize/default keeps the names, labels, ports and arguments of the Go operator."""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.manifests import (
    DEPLOY,
    NOT_SET,
    ROOT,
    VERSION,
    Object,
    chart,
    kustomized,
    loaded,
    manager,
    one,
)

LABELS: Final = {"app.kubernetes.io/name": "lynq", "control-plane": "controller-manager"}


def pod() -> Object:
    template: Object = one(kustomized(), "Deployment")["spec"]["template"]
    return template


def test_object_names_match_go_operator() -> None:
    existing = {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for obj in kustomized()
    }
    namespace = "lynq-system"
    user_roles = {
        ("ClusterRole", "", f"lynq-lynq{kind}-{role}-role")
        for kind in ("hub", "form", "node")
        for role in ("admin", "editor", "viewer")
    }
    assert existing == user_roles | {
        ("Namespace", "", namespace),
        ("CustomResourceDefinition", "", "lynqhubs.operator.lynq.sh"),
        ("CustomResourceDefinition", "", "lynqforms.operator.lynq.sh"),
        ("CustomResourceDefinition", "", "lynqnodes.operator.lynq.sh"),
        ("ServiceAccount", namespace, "lynq-controller-manager"),
        ("Deployment", namespace, "lynq-controller-manager"),
        ("PodDisruptionBudget", namespace, "lynq-controller-manager"),
        ("Service", namespace, "lynq-controller-manager-metrics-service"),
        ("Service", namespace, "lynq-webhook-service"),
        ("MutatingWebhookConfiguration", "", "lynq-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", "", "lynq-validating-webhook-configuration"),
        ("Role", namespace, "lynq-leader-election-role"),
        ("RoleBinding", namespace, "lynq-leader-election-rolebinding"),
        ("Role", namespace, "lynq-installation-key-role"),
        ("RoleBinding", namespace, "lynq-installation-key-rolebinding"),
        ("Role", namespace, "lynq-webhook-role"),
        ("RoleBinding", namespace, "lynq-webhook-rolebinding"),
        ("ClusterRole", "", "lynq-webhook-role"),
        ("ClusterRoleBinding", "", "lynq-webhook-rolebinding"),
        ("ClusterRole", "", "lynq-manager-role"),
        ("ClusterRoleBinding", "", "lynq-manager-rolebinding"),
        ("ClusterRole", "", "lynq-manager-custom-kinds-role"),
        ("ClusterRoleBinding", "", "lynq-manager-custom-kinds-rolebinding"),
        ("ClusterRole", "", "lynq-access-review-role"),
        ("ClusterRoleBinding", "", "lynq-access-review-rolebinding"),
        ("ClusterRole", "", "lynq-metrics-auth-role"),
        ("ClusterRoleBinding", "", "lynq-metrics-auth-rolebinding"),
        ("ClusterRole", "", "lynq-metrics-reader"),
        # Not lynq-metrics-binding: scripts create that one themselves.
        ("ClusterRoleBinding", "", "lynq-metrics-reader-rolebinding"),
    }


def test_container_matches_go_operator() -> None:
    container = manager(kustomized())
    assert container["name"] == "manager"
    # The image of the Go operator has no such file, so that it never acts with our arguments.
    assert container["command"] == ["/opt/lynq/bin/lynq", "run"]
    assert container["args"] == [
        "--metrics-bind-address=:8443",
        "--leader-elect",
        "--health-probe-bind-address=:8081",
        "--scratch-dir=/tmp/lynq",
    ]
    assert [(port["name"], port["containerPort"]) for port in container["ports"]] == [
        ("https", 8443),
        ("webhook-server", 9443),
    ]
    for probe, path, delay, period in (
        ("livenessProbe", "/healthz", 15, 20),
        ("readinessProbe", "/readyz", 5, 10),
    ):
        assert container[probe] == {
            "httpGet": {"path": path, "port": 8081},
            "initialDelaySeconds": delay,
            "periodSeconds": period,
        }


def test_selector_matches_go_operator() -> None:
    deployment = one(kustomized(), "Deployment")
    assert deployment["spec"]["selector"] == {"matchLabels": LABELS}
    assert deployment["metadata"]["labels"].items() >= LABELS.items()
    assert pod()["metadata"]["labels"] == {**LABELS, "lynq.sh/webhook-path": "secret"}
    assert pod()["spec"]["terminationGracePeriodSeconds"] == 10


def test_services_select_the_pod() -> None:
    metrics = one(kustomized(), "Service", "lynq-controller-manager-metrics-service")["spec"]
    webhook = one(kustomized(), "Service", "lynq-webhook-service")["spec"]
    assert metrics["selector"] == webhook["selector"] == LABELS
    for objects in (kustomized(), chart()):
        service = one(objects, "Service", "lynq-controller-manager-metrics-service")
        # The ServiceMonitor selects these labels.
        assert service["metadata"]["labels"].items() >= LABELS.items()
    assert [(port["port"], port["targetPort"]) for port in metrics["ports"]] == [(8443, 8443)]
    assert [(port["port"], port["targetPort"]) for port in webhook["ports"]] == [(443, 9443)]


def test_webhooks_point_to_the_service() -> None:
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for webhook in one(kustomized(), kind)["webhooks"]:
            service = webhook["clientConfig"]["service"]
            assert service["name"] == "lynq-webhook-service"
            assert service["namespace"] == "lynq-system"


def test_pod_is_restricted() -> None:
    spec, container = pod()["spec"], manager(kustomized())
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    enforced = one(kustomized(), "Namespace")["metadata"]["labels"]
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"


def test_no_bound_role_has_wildcards() -> None:
    bound = {obj["roleRef"]["name"] for obj in kustomized() if obj["kind"].endswith("RoleBinding")}
    for role in kustomized():
        if role["kind"].endswith("Role") and role["metadata"]["name"] in bound:
            assert "*" not in json.dumps(role.get("rules", [])), role["metadata"]["name"]


@pytest.mark.parametrize("objects", [kustomized(), loaded("install.yaml")], ids=["base", "file"])
def test_image_is_refused_by_every_node_until_it_is_set(objects: list[Object]) -> None:
    """The kubelet refuses an upper-case name as InvalidImageName, before it asks a registry."""
    assert manager(objects)["image"] == f"{NOT_SET}:{VERSION}"
    assert NOT_SET.lower() != NOT_SET


def test_no_manifest_names_an_image_that_others_may_own() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.suffix in {".yaml", ".tpl", ".md", ".yml"}]
    assert files
    for path in files:
        assert "lynq/lynq-operator" not in path.read_text(), path


def test_overlay_sets_the_image(tmp_path: Path) -> None:
    image = {"name": NOT_SET, "newName": "registry.example.com/platform/lynq-operator"}
    folders = [DEPLOY / "kustomize" / name for name in ("default", "dashboard")]
    resources = [os.path.relpath(path, tmp_path) for path in folders]
    overlay = {"resources": resources, "images": [image]}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(overlay))
    for deployment in (obj for obj in kustomized(tmp_path) if obj["kind"] == "Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"] == f"registry.example.com/platform/lynq-operator:{VERSION}"


def test_install_yaml_matches_kustomize() -> None:
    assert loaded("install.yaml") == kustomized(), "run `make manifests`"


def plain(obj: Object) -> Object:
    """Return an object without fields in which chart and kustomize may differ."""
    copy: Object = json.loads(json.dumps(obj))
    # Labels of the chart name the release. Selector labels are tested above.
    copy["metadata"].pop("labels", None)
    copy["metadata"].pop("annotations", None)
    if copy["kind"] == "Deployment":
        # The chart's value equals the API server's default.
        copy["spec"].pop("strategy", None)
        container = copy["spec"]["template"]["spec"]["containers"][0]
        container["args"] = [
            argument for argument in container["args"] if "log-level" not in argument
        ]
        container.pop("imagePullPolicy", None)
        # The probes of the chart use a named port, because the port is configurable.
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        container["ports"] = [port for port in container["ports"] if port["name"] != "health"]
        for probe in (container["livenessProbe"], container["readinessProbe"]):
            port = probe["httpGet"]["port"]
            probe["httpGet"]["port"] = ports.get(port, port)
    if copy["kind"] == "Service":
        copy["spec"].pop("type", None)
    if copy["kind"] == "ServiceAccount":
        copy.pop("automountServiceAccountToken", None)
    return copy


def by_name(objects: list[Object]) -> dict[tuple[str, str, str], Any]:
    return {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): plain(obj)
        for obj in objects
    }


@pytest.mark.parametrize(
    ("folders", "values"),
    [
        (("default",), {}),
        (("multi-tenant",), {"multiTenant": True}),
        (
            ("default", "prometheus", "network-policy"),
            {
                "monitoring": {"enabled": True, "dashboard": False},
                "networkPolicy": {"enabled": True},
            },
        ),
    ],
    ids=["default", "multi-tenant", "everything"],
)
def test_chart_and_kustomize_install_the_same(
    folders: tuple[str, ...], values: dict[str, Any]
) -> None:
    base = [obj for folder in folders for obj in kustomized(folder)]
    for obj in base:
        if obj["metadata"].get("namespace") == "system":
            obj["metadata"]["namespace"] = "lynq-system"
            obj["metadata"]["name"] = f"lynq-{obj['metadata']['name']}"
    image = {"repository": NOT_SET}
    assert by_name(chart(values | {"image": image}, namespace="default")) == by_name(base)


def test_dockerfile_copies_existing_files() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [
        source
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
        # `make image` writes dist before it builds.
        if not source.startswith(("--", "dist/"))
    ]
    assert copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert 'ENTRYPOINT ["/manager"]' in lines
    assert "USER 65532:65532" in lines
    assert any(line.startswith("COPY ") and line.endswith(" /manager") for line in lines)


def test_entry_point_passes_arguments_to_lynq_run() -> None:
    path = DEPLOY / "manager"
    assert path.stat().st_mode & 0o111
    assert path.read_text().splitlines()[-1].endswith('lynq run "$@"')
