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
from memory.kinds import ServedKind
from memory.schemas import Problem
from memory.statuses import invalid

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
_WORKLOADS: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
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


def prepared(kind: ServedKind, obj: Body) -> Body:
    """Return an object that is created, with what the API server adds only then."""
    if kind.resource.kind == "Namespace":
        obj = {**obj, "spec": {"finalizers": ["kubernetes"], **(obj.get("spec") or {})}}
    return completed(kind, obj)


def completed(kind: ServedKind, obj: Body) -> Body:
    """Return an object with defaults, without unknown fields of a custom kind."""
    obj = {**obj, "metadata": _cleaned(obj["metadata"])}
    if kind.schema is not None:
        return schemas.completed(obj, kind.schema)
    obj = {key: value for key, value in obj.items() if value is not None}
    default = _DEFAULTS.get(kind.resource.kind)
    return default(obj) if default else obj


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
    spec = {"restartPolicy": restart_policy, **(template.get("spec") or {})}
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [
                {"imagePullPolicy": "Always", "resources": {}, **container}
                for container in spec[name] or ()
            ]
    return {**template, "metadata": template.get("metadata") or {}, "spec": spec}


def _workload(obj: Body) -> Body:
    spec = {"replicas": 1, **(obj.get("spec") or {})}
    spec["template"] = _pod_template(spec.get("template") or {}, "Always")
    return {**obj, "spec": spec, "status": obj.get("status") or {}}


def _job(obj: Body) -> Body:
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "suspend": False}
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
    "Deployment": _workload,
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
