"""The scopes of the kinds that every API server has, known without asking one."""

from collections.abc import Mapping
from typing import Final

KindName = tuple[str, str]
"""The API group and the kind."""

_CLUSTER_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("IPAddress", "IngressClass", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": (
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
}
CLUSTER_KINDS: Final[frozenset[KindName]] = frozenset(
    (group, kind) for group, kinds in _CLUSTER_KINDS.items() for kind in kinds
)
"""The built-in kinds that are cluster-scoped."""


def scope_is_namespaced(kind: KindName) -> bool | None:
    """Return the scope of a kind; None if it may be a custom one."""
    if kind in CLUSTER_KINDS:
        return False
    # Groups of custom kinds are domains.
    return None if "." in kind[0] else True
