"""What the API server makes of a manifest: metadata, defaults, validation.

Of the built-in kinds, only what tests rely on is defaulted and validated: names, labels and
annotations of all kinds; the data of Secrets; Namespaces; the containers of workloads.
"""

import re
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memory import schemas
from memory.field_sets import duplicate_item
from memory.kinds import ServedKind
from memory.schemas import Problem
from memory.statuses import invalid, refused, untyped

Body = dict[str, Any]

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PATH_SEGMENT: Final = re.compile(r"[^/%]+")
_QUALIFIED: Final = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_NAMES: Final = frozenset({"Namespace", "Service"})
_FREE_NAMES: Final = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
_META: Final = frozenset({"apiVersion", "kind", "metadata"})
_FIELDS: Final = {
    "ConfigMap": _META | {"data", "binaryData", "immutable"},
    "Secret": _META | {"data", "stringData", "type", "immutable"},
}
"""The fields of kinds without a spec."""
_DATA_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_MAX_DATA: Final = 1024 * 1024
_WORKLOADS: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
_KEY_HINT: Final = "alphanumeric characters, '-', '_' or '.'"
_DNS_HINT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_MAX_NAME: Final = 253


def new_metadata(metadata: Body, *, namespace: str, now: str, has_generation: bool) -> Body:
    """Return the metadata of an object that is created."""
    kept = {
        key: value
        for key, value in metadata.items()
        if key not in {"deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"}
    }
    if namespace:
        kept["namespace"] = namespace
    if has_generation:
        kept["generation"] = 1
    else:
        kept.pop("generation", None)
    return kept | {"uid": str(uuid.uuid4()), "creationTimestamp": now}


def initialized(kind: ServedKind, obj: Body) -> Body:
    """Return an object that is created, with what the API server adds only then.

    It adds it after the managers of fields are known, and no manager owns it.
    """
    if kind.resource.kind == "Namespace":
        return {**obj, "spec": {"finalizers": ["kubernetes"], **(obj.get("spec") or {})}}
    return obj


def completed(kind: ServedKind, obj: Body) -> Body:
    """Return an object with defaults, without unknown fields of a custom kind."""
    obj = {**obj, "metadata": _cleaned(obj["metadata"])}
    if kind.schema is not None:
        return schemas.completed(obj, kind.schema)
    known = _FIELDS.get(kind.resource.kind)
    obj = {
        key: value
        for key, value in obj.items()
        if value not in (None, {}) and (known is None or key in known)
    }
    default = _DEFAULTS.get(kind.resource.kind)
    return default(obj) if default else obj


def check_types(kind: ServedKind, obj: Body) -> None:
    """Raise Refused with 400 if a value has another type than Go's field."""
    for path, value in _wrong_values(kind, obj):
        name, version = kind.resource.kind, kind.resource.version
        message = (
            f'{name} in version "{version}" cannot be handled as a {name}: json: cannot unmarshal '
            f"{_json_type(value)} into Go struct field {name}.{path.split('.')[1]} of type string"
        )
        raise refused(400, message)


def check_applied(kind: ServedKind, obj: Body) -> None:
    """Raise Refused with 500 if an applied manifest does not fit the schema."""
    known = _FIELDS.get(kind.resource.kind)
    if kind.schema is not None:
        unknown = list(schemas.undeclared(obj, kind.schema))
    else:
        unknown = [f".{key}" for key in obj if known is not None and key not in known]
    for path in unknown:
        raise untyped(f"{path}: field not declared in schema")
    for path, value in _wrong_values(kind, obj):
        raise untyped(f"{path}: expected string, got &value.valueUnstructured{{Value:{value}}}")
    if path := duplicate_item(obj, kind.fields):
        raise untyped(f"{path}: duplicate entries")


def _wrong_values(kind: ServedKind, obj: Body) -> Iterator[tuple[str, Any]]:
    if kind.resource.kind in _FIELDS:
        for key in ("data", "stringData"):
            for name, value in (obj.get(key) or {}).items():
                if not isinstance(value, str):
                    yield f".{key}.{name}", value


def _json_type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
    return names.get(type(value), "null")


def _cleaned(metadata: Body) -> Body:
    """Return metadata without empty maps and lists, which Go omits."""
    return {key: value for key, value in metadata.items() if value not in (None, {}, [], "")}


def _secret(obj: Body) -> Body:
    obj = {"type": "Opaque", **obj}
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    return obj


def _namespace(obj: Body) -> Body:
    name = obj["metadata"]["name"]
    labels = {**(obj["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": name}
    return {
        **obj,
        "metadata": {**obj["metadata"], "labels": labels},
        "status": {"phase": "Active", **(obj.get("status") or {})},
    }


def _service(obj: Body) -> Body:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **(obj.get("spec") or {})}
    spec["ports"] = [
        {"protocol": "TCP", "targetPort": port.get("port"), **port}
        for port in spec.get("ports") or ()
    ]
    return {**obj, "spec": spec, "status": obj.get("status") or {"loadBalancer": {}}}


def _pod_template(template: Body, restart_policy: str) -> Body:
    spec = {
        "restartPolicy": restart_policy,
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        **(template.get("spec") or {}),
    }
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [_container(container) for container in spec[name] or ()]
    return {**template, "metadata": _cleaned(template.get("metadata") or {}), "spec": spec}


def _container(container: Body) -> Body:
    defaults = {
        "imagePullPolicy": "Always",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if ports := container.get("ports"):
        container = {**container, "ports": [{"protocol": "TCP", **port} for port in ports]}
    return defaults | container


def _deployment(obj: Body) -> Body:
    limits = {"maxSurge": "25%", "maxUnavailable": "25%"}
    spec = {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, **(obj.get("spec") or {})}
    strategy = {"type": "RollingUpdate", **(spec.get("strategy") or {})}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = limits | (strategy.get("rollingUpdate") or {})
    return _workload({**obj, "spec": {**spec, "strategy": strategy}})


def _workload(obj: Body) -> Body:
    spec = {"replicas": 1, **(obj.get("spec") or {})}
    spec["template"] = _pod_template(spec.get("template") or {}, "Always")
    return {**obj, "spec": spec, "status": obj.get("status") or {}}


def _job(obj: Body) -> Body:
    spec: Body = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "suspend": False}
    spec |= obj.get("spec") or {}
    spec["template"] = _pod_template(spec.get("template") or {}, "Always")
    return {**obj, "spec": spec, "status": obj.get("status") or {}}


def _definition(obj: Body) -> Body:
    spec = obj["spec"]
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": ""}
        for kind, reason in (
            ("NamesAccepted", "NoConflicts"),
            ("Established", "InitialNamesAccepted"),
        )
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    status = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}
    return {**obj, "status": obj.get("status") or status}


_DEFAULTS: Final = {
    "Secret": _secret,
    "Namespace": _namespace,
    "Service": _service,
    "Deployment": _deployment,
    "ReplicaSet": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "Job": _job,
    "CustomResourceDefinition": _definition,
}


def validate(kind: ServedKind, obj: Body) -> None:
    """Raise Refused with 422 if an object is not valid."""
    problems = list(_metadata_problems(kind, obj["metadata"]))
    if kind.schema is not None:
        problems += schemas.problems(obj, kind.schema)
    elif kind.resource.kind in _WORKLOADS:
        problems += _workload_problems(obj)
    elif kind.resource.kind in _FIELDS:
        problems += _data_problems(obj)
    elif kind.resource.kind == "Service":
        problems += _service_problems(obj["spec"])
    if problems:
        raise invalid(kind, obj["metadata"].get("name", ""), problems)


def validate_update(kind: ServedKind, old: Body, new: Body) -> None:
    """Raise Refused with 422 if a write changes what cannot change."""
    problems = []
    if kind.resource.kind in {"ConfigMap", "Secret"} and old.get("immutable"):
        problems += [
            Problem(key, "FieldValueForbidden", "field is immutable when `immutable` is set")
            for key in ("data", "binaryData", "immutable")
            if old.get(key) != new.get(key)
        ]
    if kind.resource.kind == "Secret" and old.get("type") != new.get("type"):
        message = f'Invalid value: "{new.get("type")}": field is immutable'
        problems.append(Problem("type", "FieldValueInvalid", message))
    if kind.resource.kind in _WORKLOADS:
        before, after = old["spec"].get("selector"), new["spec"].get("selector")
        if before != after:
            message = f"Invalid value: {after}: field is immutable"
            problems.append(Problem("spec.selector", "FieldValueInvalid", message))
    if old["metadata"].get("deletionTimestamp"):
        more = set(new["metadata"].get("finalizers") or ()) - set(
            old["metadata"].get("finalizers") or ()
        )
        if more:
            message = (
                "Forbidden: no new finalizers can be added if the object is being deleted, found "
                f"new finalizers {sorted(more)}"
            )
            problems.append(Problem("metadata.finalizers", "FieldValueForbidden", message))
    if problems:
        raise invalid(kind, new["metadata"]["name"], problems)


def _metadata_problems(kind: ServedKind, metadata: Mapping[str, Any]) -> Iterator[Problem]:
    name = metadata.get("name", "")
    pattern = _SUBDOMAIN
    if kind.resource.kind in _LABEL_NAMES:
        pattern = _LABEL
    elif kind.resource.kind in _FREE_NAMES:
        pattern = _PATH_SEGMENT
    if not name:
        yield Problem(
            "metadata.name",
            "FieldValueRequired",
            "Required value: name or generateName is required",
        )
    elif len(name) > _MAX_NAME or not pattern.fullmatch(name):
        yield Problem("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {_DNS_HINT}')
    for key, value in (metadata.get("labels") or {}).items():
        if not _QUALIFIED.fullmatch(key):
            yield Problem(
                "metadata.labels",
                "FieldValueInvalid",
                f'Invalid value: "{key}": name part must consist of alphanumeric characters',
            )
        if not _LABEL_VALUE.fullmatch(value):
            yield Problem(
                "metadata.labels",
                "FieldValueInvalid",
                f'Invalid value: "{value}": a valid label is empty or of alphanumeric characters',
            )
    for key in metadata.get("annotations") or {}:
        if not _QUALIFIED.fullmatch(key.lower()):
            yield Problem(
                "metadata.annotations",
                "FieldValueInvalid",
                f'Invalid value: "{key}": name part must consist of alphanumeric characters',
            )


def _data_problems(obj: Body) -> Iterator[Problem]:
    size = 0
    for field in ("data", "binaryData"):
        for key, value in (obj.get(field) or {}).items():
            size += len(value)
            if not _DATA_KEY.fullmatch(key):
                message = f'Invalid value: "{key}": a valid config key must consist of {_KEY_HINT}'
                yield Problem(f"{field}[{key}]", "FieldValueInvalid", message)
    if size > _MAX_DATA:
        yield Problem("", "FieldValueTooLong", f"Too long: may not be more than {_MAX_DATA} bytes")


def _service_problems(spec: Body) -> Iterator[Problem]:
    needs_ports = spec["type"] != "ExternalName" and spec.get("clusterIP") != "None"
    if needs_ports and not spec["ports"]:
        yield Problem("spec.ports", "FieldValueRequired", "Required value")


def _workload_problems(obj: Body) -> Iterator[Problem]:
    spec = obj["spec"]
    if obj["kind"] != "Job" and not spec.get("selector"):
        yield Problem("spec.selector", "FieldValueRequired", "Required value")
    path = "spec.template.spec.containers"
    containers = spec["template"]["spec"].get("containers") or ()
    if not containers:
        yield Problem(path, "FieldValueRequired", "Required value")
    for index, container in enumerate(containers):
        for key in ("name", "image"):
            if not container.get(key):
                yield Problem(f"{path}[{index}].{key}", "FieldValueRequired", "Required value")
