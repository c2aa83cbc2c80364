"""The objects that a node may write and delete: namespaces, cluster-scoped kinds, labels."""

import pytest

from lynq.api import FormSpec, PatchStrategy
from lynq.core.object_limits import (
    NO_LIMITS,
    ObjectLimits,
    ObjectWrite,
    deletion_denial,
    group_kind_problem,
    write_denial,
)

NAMED = ObjectLimits(namespaces=("tenant-*",))
LISTED = ObjectLimits(cluster_kinds=("Namespace", "PriorityClass.scheduling.k8s.io"))
LABELS = ObjectLimits(denied_labels=("pod-security.kubernetes.io/*", "metrics"))
CLUSTER_ROLE_BINDING = ("rbac.authorization.k8s.io", "ClusterRoleBinding", "", "admins")
PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass", "", "high")


def namespace(name: str) -> tuple[str, str, str, str]:
    return "", "Namespace", "", name


def config_map(in_namespace: str) -> tuple[str, str, str, str]:
    return "", "ConfigMap", in_namespace, "settings"


def denial(identity: tuple[str, str, str, str], *limits: ObjectLimits, **write: object) -> str:
    labels = tuple(str(label) for label in write.get("labels", ()))  # type: ignore[attr-defined]
    strategy = PatchStrategy(str(write.get("strategy", "apply")))
    an_object = ObjectWrite(identity=identity, labels=labels, patch_strategy=strategy)
    return write_denial(an_object, "shop", limits)


@pytest.mark.parametrize(
    "identity", [config_map("kube-system"), namespace("kube-system"), CLUSTER_ROLE_BINDING]
)
def test_everything_is_allowed_without_limits(identity: tuple[str, str, str, str]) -> None:
    assert denial(identity, NO_LIMITS) == ""
    labels = ("pod-security.kubernetes.io/enforce",)
    assert denial(identity, NO_LIMITS, labels=labels, strategy="replace") == ""


def test_namespaces_are_limited_by_pattern() -> None:
    assert denial(config_map("tenant-acme"), NAMED) == ""
    assert denial(config_map("shop"), NAMED) == ""
    assert "--allowed-namespaces" in denial(config_map("kube-system"), NAMED)
    assert denial(namespace("tenant-acme"), NAMED) == ""
    assert '"kube-system"' in denial(namespace("kube-system"), NAMED)


def test_limited_namespaces_deny_cluster_scoped_kinds_but_namespace() -> None:
    message = denial(CLUSTER_ROLE_BINDING, NAMED)
    assert "ClusterRoleBinding.rbac.authorization.k8s.io is in no namespace" in message
    assert "add the kind to the operator's --allowed-cluster-kinds" in message


def test_listed_cluster_scoped_kinds_are_allowed() -> None:
    assert denial(PRIORITY_CLASS, LISTED) == ""
    assert denial(namespace("anything"), LISTED) == ""
    assert "--allowed-cluster-kinds" in denial(CLUSTER_ROLE_BINDING, LISTED)
    assert denial(config_map("anywhere"), LISTED) == ""


def test_list_is_complete() -> None:
    without_namespace = ObjectLimits(
        namespaces=("tenant-*",), cluster_kinds=("PriorityClass.scheduling.k8s.io",)
    )
    assert denial(PRIORITY_CLASS, without_namespace) == ""
    assert "cluster-scoped kind Namespace" in denial(namespace("tenant-a"), without_namespace)


def test_kind_of_another_group_is_not_the_listed_one() -> None:
    assert denial(("example.com", "Namespace", "", "x"), LISTED)
    assert denial(("", "PriorityClass", "", "x"), LISTED)


def test_form_cannot_widen_the_limits_of_the_operator() -> None:
    form = ObjectLimits.of_form(
        "web",
        FormSpec(
            hub_id="hub",
            allowed_namespaces=("*",),
            allowed_cluster_kinds=("ClusterRoleBinding.rbac.authorization.k8s.io",),
        ),
    )
    assert denial(CLUSTER_ROLE_BINDING, NO_LIMITS, form) == ""
    assert "--allowed-cluster-kinds" in denial(CLUSTER_ROLE_BINDING, LISTED, form)
    message = denial(PRIORITY_CLASS, LISTED, form)
    assert 'spec.allowedClusterKinds of LynqForm "web"' in message


@pytest.mark.parametrize("label", ["pod-security.kubernetes.io/enforce", "metrics"])
def test_labels_of_namespaces_are_denied(label: str) -> None:
    message = denial(namespace("tenant-a"), LABELS, labels=("team", label))
    assert f'"{label}"' in message
    assert "--denied-namespace-labels" in message
    assert denial(namespace("tenant-a"), LABELS, labels=("team",)) == ""
    # Only on Namespaces, which the standards and the policies select.
    assert denial(config_map("shop"), LABELS, labels=(label,)) == ""


def test_namespace_is_not_replaced_where_its_labels_are_limited() -> None:
    assert "patchStrategy" in denial(namespace("tenant-a"), LABELS, strategy="replace")
    assert denial(namespace("tenant-a"), LABELS, strategy="merge") == ""
    assert denial(config_map("shop"), LABELS, strategy="replace") == ""


def test_label_that_is_removed_by_null_is_denied() -> None:
    manifest = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": None}}}
    write = ObjectWrite.of(namespace("tenant-a"), manifest, PatchStrategy.MERGE)
    assert write_denial(write, "shop", [LABELS])


def test_only_namespaces_are_limited_in_deletions() -> None:
    assert deletion_denial(config_map("kube-system"), "shop", [NAMED]) == ""
    assert deletion_denial(CLUSTER_ROLE_BINDING, "shop", [NAMED, LISTED]) == ""
    assert deletion_denial(namespace("tenant-a"), "shop", [NAMED]) == ""
    assert "--allowed-namespaces" in deletion_denial(namespace("other"), "shop", [NAMED])


@pytest.mark.parametrize("kind", ["Namespace", "ClusterRole.rbac.authorization.k8s.io"])
def test_kind_is_written_as_kubectl_does(kind: str) -> None:
    assert group_kind_problem(kind) == ""


@pytest.mark.parametrize("text", ["namespaces", "v1/Namespace", "rbac.authorization.k8s.io", "*"])
def test_other_texts_are_no_kinds(text: str) -> None:
    assert text in group_kind_problem(text)
