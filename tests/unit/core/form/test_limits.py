"""The literal parts of a form against the limits of the operator and of the form itself."""

from typing import Any

import pytest
from msgspec import convert, json

from lynq.api import FormSpec
from lynq.api.metadata import ObjectKey
from lynq.core.form.limits import check_limits
from lynq.core.object_limits import NO_LIMITS, ObjectLimits

FORM = ObjectKey("shop", "web")
PROFILE = ObjectLimits(
    cluster_kinds=("Namespace",), denied_labels=("pod-security.kubernetes.io/*", "metrics")
)


def problems(operator: ObjectLimits, entry: dict[str, Any], **spec: Any) -> list[str]:
    form = convert({"hubId": "hub", "manifests": [{"id": "a", **entry}], **spec}, FormSpec)
    return [str(problem) for problem in check_limits(FORM, form, operator)]


def manifest(kind: str, group: str = "", **metadata: Any) -> dict[str, Any]:
    version = f"{group}/v1" if group else "v1"
    return {"spec": {"apiVersion": version, "kind": kind, "metadata": metadata}}


BINDING = manifest("ClusterRoleBinding", "rbac.authorization.k8s.io")
PRIVILEGED = manifest("Namespace", labels={"pod-security.kubernetes.io/enforce": "privileged"})


def test_cluster_scoped_kind_that_is_not_listed_is_a_problem() -> None:
    (problem,) = problems(PROFILE, BINDING)
    assert problem.startswith("spec.manifests[0].spec: the cluster-scoped kind ClusterRoleBinding.")


@pytest.mark.parametrize("entry", [BINDING, PRIVILEGED], ids=["binding", "namespace"])
def test_everything_is_allowed_without_limits(entry: dict[str, Any]) -> None:
    assert problems(NO_LIMITS, entry) == []


@pytest.mark.parametrize(
    "entry",
    [
        PRIVILEGED,
        manifest("Namespace", labels={"metrics": "{{ .uid }}"}),
        manifest("Namespace") | {"labelsTemplate": {"metrics": "enabled"}},
    ],
    ids=["literal", "templated value", "labelsTemplate"],
)
def test_denied_label_of_a_namespace_is_a_problem(entry: dict[str, Any]) -> None:
    (problem,) = problems(PROFILE, entry)
    assert "--denied-namespace-labels" in problem


def test_namespaces_of_the_form_bind_literal_names() -> None:
    allowed = {"allowedNamespaces": ["tenant-*"]}
    (problem,) = problems(NO_LIMITS, manifest("Namespace", name="kube-system"), **allowed)
    assert 'spec.allowedNamespaces of LynqForm "web"' in problem
    outside = manifest("ConfigMap") | {"targetNamespace": "kube-system"}
    assert len(problems(NO_LIMITS, outside, **allowed)) == 1


@pytest.mark.parametrize(
    "entry",
    [
        manifest("Namespace", name="tenant-{{ .uid }}"),
        manifest("ConfigMap") | {"targetNamespace": "{{ .team }}"},
        manifest("ConfigMap"),
        manifest("{{ .kind }}", "rbac.authorization.k8s.io"),
        manifest("Gateway", "gateway.networking.k8s.io") | {"targetNamespace": "kube-system"},
        {"spec": {}},
    ],
    ids=["name", "target", "own", "kind", "custom kind", "no kind"],
)
def test_what_only_a_node_can_know_is_no_problem(entry: dict[str, Any]) -> None:
    assert problems(PROFILE, entry, allowedNamespaces=["tenant-*"]) == []


def test_stored_form_without_the_list_is_encoded_as_before() -> None:
    stored = json.decode(b'{"hubId":"hub","allowedNamespaces":["a"]}', type=FormSpec)
    assert json.encode(stored) == b'{"hubId":"hub","allowedNamespaces":["a"]}'
    assert stored.allowed_cluster_kinds == ()
