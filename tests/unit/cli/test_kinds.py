"""Names of kinds that people type."""

import pytest

from lynq.cli.kinds import is_named, is_stored
from lynq.kube import Resource

CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)


@pytest.mark.parametrize("text", ["pvc", "PVC", "PersistentVolumeClaim", "persistentvolumeclaims"])
def test_kind_is_named_as_kubectl_names_it(text: str) -> None:
    assert is_named(CLAIMS, text)
    assert not is_named(DEPLOYMENTS, text)


@pytest.mark.parametrize("text", ["deploy", "deployment", "deployments.apps"])
def test_kind_is_named_with_its_group(text: str) -> None:
    assert is_named(DEPLOYMENTS, text)


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("authorization.k8s.io", "SelfSubjectAccessReview", False),
        ("authentication.k8s.io", "TokenReview", False),
        ("", "Binding", False),
        ("", "ConfigMap", True),
        ("shop.example.com", "ProductReview", True),
    ],
)
def test_reviews_and_bindings_of_kubernetes_are_not_stored(
    group: str, kind: str, *, expected: bool
) -> None:
    resource = Resource(group, "v1", kind, f"{kind.lower()}s", namespaced=True)
    assert is_stored(resource) is expected
