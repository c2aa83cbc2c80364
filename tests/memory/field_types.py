"""How field ownership treats the fields of a kind: granular, by key, or as one value.

A custom kind says so in its schema. Of the built-in kinds, the fields that tests use are listed
here; every other list is atomic, which is true for most, and every other object is a struct.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final

from msgspec.json import decode, encode

Schema = Mapping[str, Any]


class ListType(Enum):
    """How the items of a list are identified."""

    ATOMIC = auto()
    SET = auto()
    MAP = auto()


@dataclass(frozen=True, slots=True, eq=False)
class FieldType:
    """The type of one value."""

    fields: Mapping[str, "FieldType"] = field(default_factory=lambda: MappingProxyType({}))
    """The fields of an object that the schema names."""
    element: "FieldType | None" = None
    """The type of the other fields, and of items; None: as the value suggests."""
    is_struct: bool = False
    """Whether every field is known, as in a built-in kind."""
    is_atomic: bool = False
    """Whether an object has one owner."""
    list_type: ListType = ListType.ATOMIC
    keys: tuple[str, ...] = ()
    """The fields that identify an item of a list of type map."""
    defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The values of keys that an item does not have."""

    def names(self, key: str) -> bool:
        """Return whether the schema names a field."""
        return self.is_struct or key in self.fields

    def of(self, key: str) -> "FieldType":
        """Return the type of a field."""
        if known := self.fields.get(key):
            return known
        if self.is_struct:
            return _MAP if key in _MAPS else _STRUCT
        return self.element or UNKNOWN


UNKNOWN: Final = FieldType()
"""The type of values without a schema: objects are granular, lists atomic."""
_STRUCT: Final = FieldType(is_struct=True)
_ATOMIC_MAP: Final = FieldType(is_atomic=True)
_MAP: Final = FieldType(element=UNKNOWN)
_MAPS: Final = frozenset(
    {
        "annotations",
        "binaryData",
        "capacity",
        "data",
        "hard",
        "labels",
        "limits",
        "parameters",
        "requests",
        "stringData",
    }
)
"""The fields of built-in kinds whose keys are free."""


def struct(**fields: FieldType) -> FieldType:
    """Return the type of an object of a built-in kind."""
    return FieldType(fields=fields, is_struct=True)


def list_map(*keys: str, of: FieldType = _STRUCT, **defaults: Any) -> FieldType:
    """Return the type of a list whose items are identified by keys."""
    return FieldType(element=of, list_type=ListType.MAP, keys=keys, defaults=defaults)


METADATA: Final = struct(
    ownerReferences=list_map("uid", of=FieldType(is_struct=True, is_atomic=True)),
    finalizers=FieldType(list_type=ListType.SET),
)
_CONDITIONS: Final = list_map("type")
_CONTAINER: Final = struct(
    ports=list_map("containerPort", "protocol", protocol="TCP"),
    env=list_map(
        "name",
        of=struct(
            valueFrom=struct(
                configMapKeyRef=_ATOMIC_MAP,
                secretKeyRef=_ATOMIC_MAP,
                fieldRef=_ATOMIC_MAP,
                resourceFieldRef=_ATOMIC_MAP,
            )
        ),
    ),
    volumeMounts=list_map("mountPath"),
    volumeDevices=list_map("devicePath"),
    resources=struct(claims=list_map("name")),
)
_POD_SPEC: Final = struct(
    containers=list_map("name", of=_CONTAINER),
    initContainers=list_map("name", of=_CONTAINER),
    ephemeralContainers=list_map("name", of=_CONTAINER),
    volumes=list_map("name"),
    imagePullSecrets=list_map("name", of=_ATOMIC_MAP),
    hostAliases=list_map("ip"),
    topologySpreadConstraints=list_map("topologyKey", "whenUnsatisfiable"),
    nodeSelector=_ATOMIC_MAP,
)
_POD_TEMPLATE: Final = struct(metadata=METADATA, spec=_POD_SPEC)
_WORKLOAD: Final = struct(
    metadata=METADATA,
    spec=struct(selector=_ATOMIC_MAP, template=_POD_TEMPLATE),
    status=struct(conditions=_CONDITIONS),
)
_DEFAULT: Final = struct(metadata=METADATA, status=struct(conditions=_CONDITIONS))
_BUILT_IN: Final[Mapping[str, FieldType]] = {
    "Pod": struct(metadata=METADATA, spec=_POD_SPEC, status=struct(conditions=_CONDITIONS)),
    "Deployment": _WORKLOAD,
    "ReplicaSet": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
    "DaemonSet": _WORKLOAD,
    "Job": struct(metadata=METADATA, spec=struct(selector=_ATOMIC_MAP, template=_POD_TEMPLATE)),
    "CronJob": struct(
        metadata=METADATA,
        spec=struct(
            jobTemplate=struct(
                metadata=METADATA, spec=struct(selector=_ATOMIC_MAP, template=_POD_TEMPLATE)
            )
        ),
    ),
    "Service": struct(
        metadata=METADATA,
        spec=struct(ports=list_map("port", "protocol", protocol="TCP"), selector=_ATOMIC_MAP),
        status=struct(conditions=_CONDITIONS, loadBalancer=_STRUCT),
    ),
    "ServiceAccount": struct(
        metadata=METADATA,
        secrets=list_map("name"),
    ),
    "PersistentVolumeClaim": struct(
        metadata=METADATA,
        spec=struct(selector=_ATOMIC_MAP),
        status=struct(conditions=_CONDITIONS),
    ),
    "NetworkPolicy": struct(metadata=METADATA, spec=struct(podSelector=_ATOMIC_MAP)),
    "CustomResourceDefinition": struct(
        metadata=METADATA, spec=FieldType(is_struct=True), status=struct(conditions=_CONDITIONS)
    ),
}


def built_in_type(kind: str) -> FieldType:
    """Return the type of a built-in kind."""
    return _BUILT_IN.get(kind, _DEFAULT)


def custom_type(schema: Schema) -> FieldType:
    """Return the type of a custom kind; its metadata is that of every kind."""
    return _custom_type(encode(schema))


@lru_cache(maxsize=64)
def _custom_type(schema: bytes) -> FieldType:
    """Return the type of a schema in JSON: every test installs the same ones."""
    root = _of_schema(decode(schema))
    return FieldType(fields={**root.fields, "metadata": METADATA, **_TYPE_META})


_TYPE_META: Final = {"apiVersion": UNKNOWN, "kind": UNKNOWN}


def _of_schema(schema: Schema) -> FieldType:
    additional = schema.get("additionalProperties")
    items = schema.get("items")
    element = items if isinstance(items, Mapping) else additional
    return FieldType(
        fields={key: _of_schema(part) for key, part in schema.get("properties", {}).items()},
        element=_of_schema(element) if isinstance(element, Mapping) else None,
        is_atomic=schema.get("x-kubernetes-map-type") == "atomic",
        list_type=_list_type(schema.get("x-kubernetes-list-type", "atomic")),
        keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        defaults={
            key: part["default"]
            for key, part in (items or {}).get("properties", {}).items()
            if "default" in part
        },
    )


@cache
def _list_type(name: str) -> ListType:
    return ListType[name.upper()]
