"""Validate a form: find all problems at once.

Admission and the form controller call the same function, so admission never accepts a form that the
controller rejects. Admission only warns of a hub that does not exist: hubs and forms may be created
in any order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from lynq.api import AdoptionPolicy, DeletionPolicy, FormSpec, HubSpec
from lynq.api.events import EventReason
from lynq.api.names import PREFIX
from lynq.api.problems import Problem, ProblemKind, at_key
from lynq.api.text import and_more
from lynq.core.form.templates import (
    MAX_DEPTH,
    PlacedResource,
    ValidationInterrupted,
    check_templates,
    is_too_deep,
    placed_resources,
)
from lynq.core.graph.build import entries_of, find_problems
from lynq.core.graph.problems import GraphProblemKind

CheckIgnoreField: TypeAlias = Callable[[str], str | None]
"""Returns the problem of a JSONPath of ignoreFields; None if the path is valid."""

# `lynq.core.readiness.rules` lists the other tables per kind.
_KIND_OF_LIST: Final = {
    "serviceAccounts": "ServiceAccount",
    "deployments": "Deployment",
    "statefulSets": "StatefulSet",
    "daemonSets": "DaemonSet",
    "services": "Service",
    "ingresses": "Ingress",
    "configMaps": "ConfigMap",
    "secrets": "Secret",
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "jobs": "Job",
    "cronJobs": "CronJob",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "networkPolicies": "NetworkPolicy",
    "horizontalPodAutoscalers": "HorizontalPodAutoscaler",
    "namespaces": "Namespace",
}
_PAUSE_FIELDS: Final = {"Deployment": "paused", "Job": "suspend"}
_MAX_TIMEOUT_SECONDS: Final = 3600
_AUTOSCALER: Final = "HorizontalPodAutoscaler"


def validate_form(
    spec: FormSpec,
    *,
    hub: HubSpec | None,
    check_ignore_field: CheckIgnoreField,
    may_continue: Callable[[], bool] = lambda: True,
) -> tuple[Problem, ...]:
    """Return all problems of a form; `hub` is None if the hub does not exist yet.

    Raises ValidationInterrupted as soon as `may_continue` returns False.
    """
    resources = tuple(placed_resources(spec))
    problems = [*_check_hub_id(spec), *_check_graph(spec)]
    for placed in resources:
        if not may_continue():
            raise ValidationInterrupted
        problems += _check_resource(placed, check_ignore_field)
    problems += check_autoscalers(resources)
    problems += _check_namespaces(resources)
    return (*problems, *check_templates(resources, hub, may_continue))


def hub_not_found(spec: FormSpec, kind: ProblemKind = ProblemKind.ERROR) -> Problem:
    """Return the problem of a form whose hub does not exist; a warning at admission."""
    return Problem(
        "spec.hubId",
        f'LynqHub "{spec.hub_id}" not found in this namespace; '
        "the form is reconciled again when the hub is created",
        kind,
        event=EventReason.HUB_NOT_FOUND,
    )


def _check_hub_id(spec: FormSpec) -> Iterator[Problem]:
    if not spec.hub_id:
        yield Problem("spec.hubId", "required: name of the LynqHub")


def _check_graph(spec: FormSpec) -> Iterator[Problem]:
    paths = {placed.resource.id: placed.path for placed in placed_resources(spec)}
    for problem in find_problems(entries_of(spec)):
        if problem.kind is GraphProblemKind.DUPLICATE_ID:
            event = EventReason.DUPLICATE_RESOURCE_IDS
        else:
            event = EventReason.DEPENDENCY_VALIDATION_FAILED
        # An empty or duplicate id has several paths, which the message lists.
        of_ids = problem.kind in (GraphProblemKind.DUPLICATE_ID, GraphProblemKind.EMPTY_ID)
        path = "spec" if of_ids else f"{paths[problem.ids[0]]}.dependIds"
        yield Problem(path, problem.message, event=event)


def _check_resource(
    placed: PlacedResource, check_ignore_field: CheckIgnoreField
) -> Iterator[Problem]:
    """Yield the problems of a resource except those of its templates."""
    yield from _check_identity(placed)
    yield from _check_kind(placed)
    yield from _check_name(placed)
    yield from _check_readiness(placed)
    yield from _check_reserved_keys(placed)
    for position, path in enumerate(placed.resource.ignore_fields):
        if problem := check_ignore_field(path):
            field = f"{placed.path}.ignoreFields[{position}]"
            yield Problem(field, problem, resource=placed.resource.id)


def _check_identity(placed: PlacedResource) -> Iterator[Problem]:
    for field, example in (("apiVersion", "apps/v1"), ("kind", "Deployment")):
        value = placed.resource.spec.get(field)
        if not isinstance(value, str) or not value:
            yield Problem(f"{placed.path}.spec.{field}", f"required, for example {example}")
    if is_too_deep(placed):
        yield Problem(f"{placed.path}.spec", f"nested deeper than {MAX_DEPTH} levels")


def _check_kind(placed: PlacedResource) -> Iterator[Problem]:
    kind = placed.resource.spec.get("kind")
    if not isinstance(kind, str) or not kind or "{{" in kind:
        return
    path = f"{placed.path}.spec.kind"
    expected = _KIND_OF_LIST.get(placed.list_name)
    if kind == "List" or (kind.endswith("List") and "items" in placed.resource.spec):
        yield Problem(path, "must not be a list: add a resource for each of its items")
    elif expected is not None and kind != expected:
        yield Problem(
            path,
            f"is {kind}, but this list is for {expected}: use manifests for other kinds",
            ProblemKind.WARNING,
        )
    if kind == "Namespace" and placed.resource.target_namespace:
        yield Problem(
            f"{placed.path}.targetNamespace",
            "has no effect: a Namespace is not namespaced",
            ProblemKind.WARNING,
        )
    if kind == "Namespace" and placed.resource.adoption_policy is AdoptionPolicy.OWN:
        yield Problem(
            f"{placed.path}.adoptionPolicy",
            "with Own, a Namespace that existed before is deleted with its row, and everything in "
            "it: use Retain to keep it",
            ProblemKind.WARNING,
        )


def _check_namespaces(resources: Iterable[PlacedResource]) -> Iterator[Problem]:
    """Warn of Namespaces that outlive their rows, because an object in them is retained."""
    resources = tuple(resources)
    for namespace in resources:
        resource = namespace.resource
        is_namespace = resource.spec.get("kind") == "Namespace"
        if not is_namespace or resource.deletion_policy is DeletionPolicy.RETAIN:
            continue
        kept = [
            f'"{placed.resource.id}"'
            for placed in resources
            if placed.resource.deletion_policy is DeletionPolicy.RETAIN
            and placed.resource.target_namespace == namespace.name != ""
        ]
        if kept:
            yield Problem(
                f"{namespace.path}.deletionPolicy",
                f"is Delete, but the Namespace stays with {and_more(kept)} in it, whose "
                "deletionPolicy is Retain",
                ProblemKind.WARNING,
            )


def _check_name(placed: PlacedResource) -> Iterator[Problem]:
    if not placed.name:
        yield Problem(
            f"{placed.path}.nameTemplate",
            "required, as the manifest has no metadata.name: the resource will fail",
            ProblemKind.WARNING,
        )


def _check_readiness(placed: PlacedResource) -> Iterator[Problem]:
    resource = placed.resource
    if not 1 <= resource.timeout_seconds <= _MAX_TIMEOUT_SECONDS:
        yield Problem(
            f"{placed.path}.timeoutSeconds", f"must be between 1 and {_MAX_TIMEOUT_SECONDS}"
        )
    kind, body = resource.spec.get("kind"), resource.spec.get("spec")
    pause_field = _PAUSE_FIELDS.get(kind) if isinstance(kind, str) else None
    if pause_field is None or not resource.wait_for_ready or not isinstance(body, Mapping):
        return
    # With zero replicas there is nothing to wait for.
    if body.get(pause_field) is True and body.get("replicas") != 0:
        yield Problem(
            f"{placed.path}.spec.spec.{pause_field}",
            f"keeps the {kind} from becoming ready: remove it, or set waitForReady: false",
            ProblemKind.WARNING,
        )


def _check_reserved_keys(placed: PlacedResource) -> Iterator[Problem]:
    for field, templates in (
        ("labelsTemplate", placed.resource.labels_template),
        ("annotationsTemplate", placed.resource.annotations_template),
    ):
        for key in templates:
            if key.startswith(PREFIX):
                yield Problem(
                    at_key(f"{placed.path}.{field}", key),
                    f"the prefix {PREFIX} is reserved, and Lynq drops or replaces the "
                    "keys that it uses: choose another prefix",
                    ProblemKind.WARNING,
                )


def check_autoscalers(resources: Iterable[PlacedResource]) -> Iterator[Problem]:
    """Yield the workloads whose replicas both the form and an autoscaler of the form set."""
    scaled = {
        target: placed.resource.id for placed in resources if (target := _scale_target(placed))
    }
    for placed in resources:
        body = placed.resource.spec.get("spec")
        has_replicas = isinstance(body, Mapping) and "replicas" in body
        kind = placed.resource.spec.get("kind")
        autoscaler = scaled.get((str(kind), _name_text(placed)))
        is_ignored = any("replicas" in path for path in placed.resource.ignore_fields)
        if autoscaler is not None and has_replicas and not is_ignored:
            yield Problem(
                f"{placed.path}.spec.spec.replicas",
                f'conflicts with the HorizontalPodAutoscaler "{autoscaler}": '
                "add $.spec.replicas to ignoreFields",
                ProblemKind.WARNING,
            )


def _scale_target(placed: PlacedResource) -> tuple[object, object] | None:
    body = placed.resource.spec.get("spec")
    if placed.resource.spec.get("kind") != _AUTOSCALER or not isinstance(body, Mapping):
        return None
    target = body.get("scaleTargetRef")
    if not isinstance(target, Mapping):
        return None
    kind, name = target.get("kind"), target.get("name")
    return (kind, name) if isinstance(kind, str) and isinstance(name, str) else None


def _name_text(placed: PlacedResource) -> object:
    metadata = placed.resource.spec.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    text = placed.resource.name_template or name
    return text if isinstance(text, str) else None
