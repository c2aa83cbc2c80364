"""Judges the health of an installation: facts of the cluster become results of checks.

A result is ok, a warning, or a failure. A warning is what will hurt later or could not be checked;
a failure is what stops rows from becoming objects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from lynq.api import ConditionStatus, LynqForm, LynqHub, LynqNode
from lynq.api.conditions import find_condition, is_true
from lynq.api.installation_key import InstallationKey, KeyState
from lynq.api.names import VERSION
from lynq.api.reasons import ConditionType
from lynq.api.resource import all_resources
from lynq.api.text import and_more, plural

MAX_SKEW: Final = timedelta(seconds=5)
"""How far the clock of this machine may differ from that of the API server."""
NODES_PER_NAMESPACE: Final = 2000
"""Tested number of tenants in one namespace: that of Deployments per namespace in Kubernetes."""
NODES_PER_PROCESS: Final = 10_000
"""Number of nodes above which the operator runs in shards."""
IMAGE_NOT_SET: Final = "IMAGE-NOT-SET"
"""The image of the manifests: no node accepts it."""
_GO_OPERATOR: Final = "k8s-lynq"
"""The part of their names that all images of the Go operator have, in mirrors too."""
_WARN_AT: Final = 0.8
"""The share of a threshold that is worth a warning."""


class Severity(Enum):
    """How much the result of a check matters."""

    OK = "ok"
    WARNING = "warn"
    FAILURE = "FAIL"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    severity: Severity
    name: str
    detail: str


def ok(name: str, detail: str) -> CheckResult:
    """Return a result that is fine."""
    return CheckResult(Severity.OK, name, detail)


def warning(name: str, detail: str) -> CheckResult:
    """Return a result that hurts later, or a check that could not be made."""
    return CheckResult(Severity.WARNING, name, detail)


def failure(name: str, detail: str) -> CheckResult:
    """Return a result that stops rows from becoming objects."""
    return CheckResult(Severity.FAILURE, name, detail)


def worst(results: Iterable[CheckResult]) -> Severity:
    """Return the worst severity of the results."""
    order = list(Severity)
    return max((result.severity for result in results), key=order.index, default=Severity.OK)


def check_crd(expected: Mapping[str, Any], live: Mapping[str, Any] | None) -> CheckResult:
    """Compare an installed CRD with that of this program; None: it is not installed."""
    name = f"crd {expected['spec']['names']['plural']}"
    if live is None:
        return failure(name, "not installed: lynq install")
    versions = {version["name"]: version for version in live["spec"]["versions"]}
    served = versions.get(VERSION, {})
    if not served.get("served"):
        return failure(name, f"the version {VERSION} is not served: lynq install")
    conditions = live.get("status", {}).get("conditions") or ()
    established = any(
        condition["type"] == "Established" and condition["status"] == "True"
        for condition in conditions
    )
    if not established:
        return failure(name, f"not established: kubectl describe crd {live['metadata']['name']}")
    missing = sorted(_fields(expected["spec"]["versions"][0]) - _fields(served))
    if missing:
        return warning(
            name,
            f"older than this program, {len(missing)} fields are missing "
            f"({and_more(missing)}): lynq install",
        )
    return ok(name, f"{VERSION} is served")


def _fields(version: Mapping[str, Any]) -> set[str]:
    return set(_paths(version.get("schema", {}).get("openAPIV3Schema", {}), ""))


def _paths(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        yield from _paths(field, path)
    if isinstance(items := schema.get("items"), Mapping):
        yield from _paths(items, f"{prefix}[]")


def _image_problem(image: str) -> str:
    """Return why the image of an installation is none of this operator; "" if its name may be."""
    if IMAGE_NOT_SET in image:
        return "no image is set: build one with make image, and put its name into the manifests"
    if _GO_OPERATOR in image.split("/"):
        return "this is the image of the Go operator, which does not know the flags of this one"
    return ""


def check_deployments(deployments: Sequence[Mapping[str, Any]]) -> Iterator[CheckResult]:
    """Judge the Deployments of the operator."""
    if not deployments:
        yield warning(
            "operator", "no Deployment with the label app.kubernetes.io/name=lynq was found"
        )
    for deployment in deployments:
        metadata, status = deployment["metadata"], deployment.get("status", {})
        wanted = deployment.get("spec", {}).get("replicas", 1)
        available = status.get("availableReplicas", 0)
        containers = deployment["spec"]["template"]["spec"]["containers"]
        place = f"{metadata['namespace']}/{metadata['name']}"
        image = str(containers[0]["image"])
        detail = f"{place}: {available} of {wanted} replicas, {image}"
        if problem := _image_problem(image):
            yield failure("operator", f"{detail}: {problem}")
        elif available:
            yield ok("operator", detail)
        else:
            yield failure(
                "operator", f"{detail}: kubectl -n {metadata['namespace']} describe deployment"
            )


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """A Lease of the operator."""

    name: str
    namespace: str
    holder: str
    renewed_at: datetime | None
    duration: timedelta


def check_leases(leases: Sequence[LeaseFacts], now: datetime) -> Iterator[CheckResult]:
    """Judge the Leases of the operator; `now` is the time of the API server."""
    if not leases:
        yield warning("lease", "no Lease was found: no operator with --leader-elect has run")
    for lease in leases:
        place = f"{lease.namespace}/{lease.name}"
        if not lease.holder or lease.renewed_at is None:
            yield failure("lease", f"{place} is released: no operator leads")
            continue
        age = max(now - lease.renewed_at, timedelta())
        detail = f"{place} is held by {lease.holder}, renewed {age.total_seconds():.0f} s ago"
        # Half a duration more, because clocks differ.
        if age > lease.duration * 1.5:
            yield failure("lease", f"{detail}: no operator leads")
        else:
            yield ok("lease", detail)


def check_clock(server: datetime, local: datetime) -> CheckResult:
    """Compare the clock of the API server with that of this machine."""
    skew = local - server
    seconds = abs(skew.total_seconds())
    if abs(skew) <= MAX_SKEW:
        return ok("clock", f"differs from that of the API server by {seconds:.0f} s")
    side = "ahead of" if skew > timedelta() else "behind"
    return warning("clock", f"this machine is {seconds:.0f} s {side} the API server: check NTP")


def key_secret_of(
    deployments: Iterable[Mapping[str, Any]], namespace: str, name: str
) -> tuple[str, str]:
    """Return namespace and name of the key's Secret: by the flags of the operator, or as given."""
    for deployment in deployments:
        for container in deployment["spec"]["template"]["spec"].get("containers", ()):
            for argument in container.get("args", ()):
                flag, _, text = argument.partition("=")
                if flag == "--installation-key-secret":
                    name = text or name
                if flag == "--installation-key-namespace":
                    namespace = text or namespace
    return namespace, name


def check_key(secret: str, key: KeyState | None, *, denied: str, was_used: bool) -> CheckResult:
    """Judge the installation key; None if its Secret does not exist.

    `denied` is the operator's user if it may not read the Secret.
    """
    name = "installation key"
    if denied:
        return failure(name, f"{denied} may not get {secret}: LynqNodes of hubs wait; grant it get")
    if isinstance(key, InstallationKey):
        return ok(name, f"{secret} has a key")
    if key is not None:
        return failure(name, f"{key.problem}: LynqNodes of hubs wait")
    if was_used:
        return failure(
            name,
            f"{secret} does not exist, and LynqNodes have values of its key: restore it from a "
            "backup; LynqNodes of hubs wait",
        )
    return warning(name, f"{secret} does not exist: the operator creates it, and needs the right")


def check_hub(hub: LynqHub) -> CheckResult:
    """Judge the database of a hub by its status."""
    name = f"hub {hub.metadata.key}"
    if hub.spec.paused:
        return warning(name, f"paused: lynq resume hub/{hub.metadata.name}")
    ready = find_condition(hub.status.conditions, ConditionType.READY)
    if ready is None:
        return warning(name, "has no status yet: no operator has read its rows")
    if ready.status is not ConditionStatus.TRUE:
        return failure(name, ready.message)
    if problem := _attention(hub):
        return warning(name, problem)
    return ok(name, f"all rows are read, {hub.status.ready} of {hub.status.desired} nodes ready")


def _attention(hub: LynqHub) -> str:
    """Return what a person has to see to, although the rows are read."""
    if held := hub.status.held_deletions:
        return f"the deletion of {held.count} nodes is held: lynq approve {hub.metadata.name}"
    push = find_condition(hub.status.conditions, ConditionType.PUSH_CONNECTED)
    if push is not None and push.status is not ConditionStatus.TRUE:
        return f"push is not connected: {push.message}"
    if rejected := hub.status.rejected_rows:
        return f"{rejected.count} rows are rejected, see status.rejectedRows"
    return ""


def check_form(form: LynqForm) -> CheckResult | None:
    """Return a failure if the form is invalid."""
    valid = find_condition(form.status.conditions, ConditionType.VALID)
    if valid is None or is_true((valid,), ConditionType.VALID):
        return None
    return failure(f"form {form.metadata.key}", valid.message)


def check_scale(nodes: Iterable[LynqNode], shards: int) -> Iterator[CheckResult]:
    """Compare the number of nodes with the tested thresholds."""
    by_namespace: dict[str, int] = {}
    for node in nodes:
        by_namespace[node.metadata.namespace] = by_namespace.get(node.metadata.namespace, 0) + 1
    total = sum(by_namespace.values())
    results = [
        warning(
            "scale",
            f"{count} nodes in the namespace {namespace}; {NODES_PER_NAMESPACE} are tested: "
            "use targetNamespace, or more hubs in other namespaces",
        )
        for namespace, count in sorted(by_namespace.items())
        if count >= NODES_PER_NAMESPACE * _WARN_AT
    ]
    if total >= NODES_PER_PROCESS * _WARN_AT * max(shards, 1):
        results.append(
            warning("scale", f"{total} nodes for {max(shards, 1)} processes: use --shard=N/M")
        )
    namespaces = len(by_namespace)
    where = f"{namespaces} {plural('namespace', namespaces)}"
    yield from results or [ok("scale", f"{total} {plural('node', total)} in {where}")]


@dataclass(frozen=True, slots=True, order=True)
class KindInUse:
    """A kind that forms of a namespace use, and the account that writes it."""

    api_version: str
    kind: str
    namespace: str
    account: str = ""
    """The form's serviceAccountName; empty: the operator's own."""


def kinds_in_use(forms: Iterable[LynqForm]) -> list[KindInUse]:
    """Return the kinds that forms use, by namespace and account."""
    return sorted(
        {
            KindInUse(
                str(resource.spec.get("apiVersion", "")),
                str(resource.spec.get("kind", "")),
                form.metadata.namespace,
                form.spec.service_account_name or "",
            )
            for form in forms
            for resource in all_resources(form.spec)
        }
    )
