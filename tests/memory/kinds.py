"""The kinds that the API server serves: a table of the built-in ones, and those of CRDs.

A built-in kind has as much behavior as tests need: its subresources, whether it has a generation,
and which of its objects Go's types always hold, because the first write owns the fields below them
one by one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from lynq.kube import Resource
from memory.field_types import FieldType, built_in_type, custom_type

Body = dict[str, Any]
Schema = Mapping[str, Any]

VERBS: Final = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class ServedKind:
    """One kind in one version."""

    resource: Resource
    fields: FieldType
    """How field ownership treats its fields."""
    blank: Body = field(default_factory=dict)
    """The objects that each object of a built-in kind holds, also if a manifest omits them."""
    schema: Schema | None = None
    """The schema of a custom kind."""
    has_status: bool = False
    """Whether the status is a subresource: other writes leave it alone."""
    has_generation: bool = False
    """Whether a change of more than metadata and status counts as a generation."""
    allows_unconditional_update: bool = True
    """Whether an object may be replaced without its resourceVersion."""

    @property
    def is_custom(self) -> bool:
        """Whether a CRD defines the kind."""
        return self.schema is not None

    def typed(self, obj: Body) -> Body:
        """Return an object with what Go's types always hold."""
        return _filled(obj, self.blank) if self.blank else obj

    def reset_fields(self, subresource: str) -> frozenset[str]:
        """Return the fields that a write of the object, or of a subresource, does not own."""
        if not self.has_status:
            return frozenset()
        return frozenset({"f:spec"} if subresource == "status" else {"f:status"})


def _filled(obj: Any, blank: Body) -> Any:
    if not isinstance(obj, dict):
        return obj
    filled = {key: _filled(obj[key], part) for key, part in blank.items() if obj.get(key)}
    return {**blank, **obj, **filled}


_TEMPLATE: Final[Body] = {"metadata": {}, "spec": {"containers": []}}


def _built_in(
    group_version: str,
    kind: str,
    plural: str,
    *,
    namespaced: bool = True,
    blank: Body | None = None,
    has_status: bool = False,
) -> ServedKind:
    group, _, version = group_version.rpartition("/")
    return ServedKind(
        Resource(group, version, kind, plural, namespaced=namespaced),
        built_in_type(kind),
        {"metadata": {}, **(blank or {})},
        has_status=has_status,
        has_generation=has_status and group in {"apps", "batch", "networking.k8s.io", "policy"},
    )


_RBAC: Final = "rbac.authorization.k8s.io/v1"
_SPEC: Final[Body] = {"spec": {}, "status": {}}
BUILT_IN: Final = (
    _built_in("v1", "Namespace", "namespaces", namespaced=False, blank=_SPEC, has_status=True),
    _built_in("v1", "ConfigMap", "configmaps"),
    _built_in("v1", "Secret", "secrets"),
    _built_in("v1", "Event", "events"),
    _built_in("v1", "ServiceAccount", "serviceaccounts"),
    _built_in("v1", "Endpoints", "endpoints"),
    _built_in("v1", "LimitRange", "limitranges", blank={"spec": {}}),
    _built_in("v1", "ResourceQuota", "resourcequotas", blank=_SPEC, has_status=True),
    _built_in("v1", "Node", "nodes", namespaced=False, blank=_SPEC, has_status=True),
    _built_in("v1", "Pod", "pods", blank=_SPEC, has_status=True),
    _built_in(
        "v1",
        "Service",
        "services",
        blank={"spec": {}, "status": {"loadBalancer": {}}},
        has_status=True,
    ),
    _built_in(
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        blank={"spec": {"resources": {}}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "v1",
        "PersistentVolume",
        "persistentvolumes",
        namespaced=False,
        blank=_SPEC,
        has_status=True,
    ),
    _built_in(
        "apps/v1",
        "Deployment",
        "deployments",
        blank={"spec": {"strategy": {}, "template": _TEMPLATE}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "apps/v1",
        "ReplicaSet",
        "replicasets",
        blank={"spec": {"template": _TEMPLATE}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        blank={"spec": {"updateStrategy": {}, "template": _TEMPLATE}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "apps/v1",
        "DaemonSet",
        "daemonsets",
        blank={"spec": {"updateStrategy": {}, "template": _TEMPLATE}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "batch/v1",
        "Job",
        "jobs",
        blank={"spec": {"template": _TEMPLATE}, "status": {}},
        has_status=True,
    ),
    _built_in(
        "batch/v1",
        "CronJob",
        "cronjobs",
        blank={
            "spec": {"jobTemplate": {"metadata": {}, "spec": {"template": _TEMPLATE}}},
            "status": {},
        },
        has_status=True,
    ),
    _built_in(
        "networking.k8s.io/v1",
        "Ingress",
        "ingresses",
        blank={"spec": {}, "status": {"loadBalancer": {}}},
        has_status=True,
    ),
    _built_in("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", blank={"spec": {}}),
    _built_in(
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        blank=_SPEC,
        has_status=True,
    ),
    _built_in(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        blank=_SPEC,
        has_status=True,
    ),
    _built_in(_RBAC, "Role", "roles"),
    _built_in(_RBAC, "RoleBinding", "rolebindings"),
    _built_in(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _built_in(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _built_in("coordination.k8s.io/v1", "Lease", "leases", blank={"spec": {}}),
    _built_in("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False),
    _built_in(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
        blank=_SPEC,
        has_status=True,
    ),
)


def custom_kinds(definition: Body) -> Iterator[ServedKind]:
    """Yield the served versions of a CRD."""
    spec = definition["spec"]
    names = spec["names"]
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        schema = version.get("schema", {}).get("openAPIV3Schema") or {"type": "object"}
        yield ServedKind(
            Resource(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                namespaced=spec.get("scope") == "Namespaced",
            ),
            custom_type(schema),
            {"metadata": {}},
            schema=MappingProxyType(schema),
            has_status="status" in (version.get("subresources") or {}),
            has_generation=True,
            allows_unconditional_update=False,
        )


class Kinds:
    """The kinds that are served now, by group version and plural."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str], ServedKind] = {
            (kind.resource.api_version, kind.resource.plural): kind for kind in BUILT_IN
        }
        self._defined: dict[str, list[tuple[str, str]]] = {}

    def __iter__(self) -> Iterator[ServedKind]:
        """Iterate over all kinds."""
        return iter(self._served.values())

    def of(self, api_version: str, plural: str) -> ServedKind | None:
        """Return the kind with a path, if it is served."""
        return self._served.get((api_version, plural))

    def named(self, name: str) -> ServedKind | None:
        """Return the kind with a name like `deployments.apps`, in its first version."""
        return next((kind for kind in self if kind.resource.name == name), None)

    def of_owner(self, api_version: str, kind: str) -> ServedKind | None:
        """Return the kind that an owner reference names."""
        for served in self:
            if (served.resource.api_version, served.resource.kind) == (api_version, kind):
                return served
        return None

    def define(self, definition: Body) -> None:
        """Serve the versions of a CRD instead of those before."""
        name = definition["metadata"]["name"]
        self.remove(name)
        kinds = {
            (kind.resource.api_version, kind.resource.plural): kind
            for kind in custom_kinds(definition)
        }
        self._served |= kinds
        self._defined[name] = list(kinds)

    def remove(self, name: str) -> None:
        """Serve the versions of a CRD no more."""
        for path in self._defined.pop(name, ()):
            del self._served[path]
