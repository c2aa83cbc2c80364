import pytest

from built_in_resources import DEPLOYMENTS
from lynq.kube import Resource
from lynq.kube.errors import InvalidObject
from lynq.kube.resource import CONFIG_MAPS, NAMESPACES

CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CONFIG_MAPS.path(), "/api/v1/configmaps"),
        (CONFIG_MAPS.path("shop"), "/api/v1/namespaces/shop/configmaps"),
        (CONFIG_MAPS.path("shop", "a"), "/api/v1/namespaces/shop/configmaps/a"),
        (
            DEPLOYMENTS.path("shop", "web", "status"),
            "/apis/apps/v1/namespaces/shop/deployments/web/status",
        ),
        (NAMESPACES.path(name="shop"), "/api/v1/namespaces/shop"),
        (NAMESPACES.path("ignored", "shop"), "/api/v1/namespaces/shop"),
        (
            CLUSTER_ROLES.path(name="system:node"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
        ),
        (CONFIG_MAPS.path("shop", "..x?y"), "/api/v1/namespaces/shop/configmaps/..x%3Fy"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_namespaced_object_requires_a_namespace() -> None:
    with pytest.raises(InvalidObject, match="ConfigMap 'a' requires a namespace"):
        CONFIG_MAPS.path(name="a")


@pytest.mark.parametrize("name", ["", ".", "..", "web/status", "a%2Fb"])
def test_name_with_several_path_segments_is_rejected(name: str) -> None:
    with pytest.raises(InvalidObject, match="is not a valid name"):
        DEPLOYMENTS.path("shop", name)
    if name:
        with pytest.raises(InvalidObject, match="is not a valid name"):
            DEPLOYMENTS.path(name, "web")


def test_names() -> None:
    assert (CONFIG_MAPS.api_version, CONFIG_MAPS.name) == ("v1", "configmaps")
    assert (DEPLOYMENTS.api_version, DEPLOYMENTS.name) == ("apps/v1", "deployments.apps")
    assert str(DEPLOYMENTS) == "apps/v1 Deployment"
