"""Everything that admission and the form's controller check, found at once.

Both ask the same function, so what one lets through the other accepts. Whether the hub exists is
for the controller alone: hubs and forms may be applied in any order.

What can be said about one resource by itself, its templates aside.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from lynq.api import FormSpec, HubSpec
from lynq.api.events import EventReason
from lynq.api.problems import Problem, ProblemKind
from lynq.core.form.templates import (
    DEEPEST,
    PlacedResource,
    check_templates,
    placed_resources,
    too_deep,
)
from lynq.core.graph.build import entries_of, find_problems
from lynq.core.graph.problems import GraphProblemKind as GraphProblem

CheckIgnoreField: TypeAlias = Callable[[str], str | None]
"""Says what is wrong with a JSONPath of ignoreFields; None if nothing is."""

_KINDS: Final = {
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
_STOPPED: Final = {"Deployment": "paused", "Job": "suspend"}
_LONGEST_WAIT: Final = 3600


def check_resource(
    placed: PlacedResource, check_ignore_field: CheckIgnoreField
) -> Iterator[Problem]:
    """Yield what is wrong with a resource, from its manifest to its policies."""
    yield from _check_identity(placed)
    yield from _check_kind(placed)
    yield from _check_name(placed)
    yield from _check_readiness(placed)
    for position, path in enumerate(placed.resource.ignore_fields):
        if wrong := check_ignore_field(path):
            yield Problem(f"{placed.path}.ignoreFields[{position}]", wrong)


def _check_identity(placed: PlacedResource) -> Iterator[Problem]:
    for field, example in (("apiVersion", "apps/v1"), ("kind", "Deployment")):
        value = placed.resource.spec.get(field)
        if not isinstance(value, str) or not value:
            yield Problem(f"{placed.path}.spec.{field}", f"missing: give it, for example {example}")
    if too_deep(placed):
        yield Problem(f"{placed.path}.spec", f"nested deeper than {DEEPEST} levels")


def _check_kind(placed: PlacedResource) -> Iterator[Problem]:
    kind = placed.resource.spec.get("kind")
    if not isinstance(kind, str) or not kind or "{{" in kind:
        return
    path = f"{placed.path}.spec.kind"
    expected = _KINDS.get(placed.list_name)
    if kind == "List" or (kind.endswith("List") and "items" in placed.resource.spec):
        yield Problem(path, "a list is no object: make an entry of each of its items")
    elif expected is not None and kind != expected:
        yield Problem(
            path,
            f"{kind} in a list that is meant for {expected}: manifests takes any kind",
            ProblemKind.WARNING,
        )
    if kind == "Namespace" and placed.resource.target_namespace:
        yield Problem(
            f"{placed.path}.targetNamespace",
            "has no meaning: a Namespace is in no namespace",
            ProblemKind.WARNING,
        )


def _check_name(placed: PlacedResource) -> Iterator[Problem]:
    metadata = placed.resource.spec.get("metadata")
    named = isinstance(metadata, Mapping) and metadata.get("name")
    if not placed.resource.name_template and not named:
        yield Problem(
            f"{placed.path}.nameTemplate",
            "missing, and the manifest has no metadata.name: the resource will fail",
            ProblemKind.WARNING,
        )


def _check_readiness(placed: PlacedResource) -> Iterator[Problem]:
    resource = placed.resource
    if not 1 <= resource.timeout_seconds <= _LONGEST_WAIT:
        yield Problem(f"{placed.path}.timeoutSeconds", f"must be from 1 to {_LONGEST_WAIT}")
    kind, body = resource.spec.get("kind"), resource.spec.get("spec")
    stopped = _STOPPED.get(kind) if isinstance(kind, str) else None
    if stopped is None or not resource.wait_for_ready or not isinstance(body, Mapping):
        return
    # Without replicas there is nothing that would have to start.
    if body.get(stopped) is True and body.get("replicas") != 0:
        yield Problem(
            f"{placed.path}.spec.spec.{stopped}",
            f"a {kind} never becomes ready so: set waitForReady: false, or take it out",
            ProblemKind.WARNING,
        )


def validate_form(
    spec: FormSpec, *, hub: HubSpec | None, check_ignore_field: CheckIgnoreField
) -> tuple[Problem, ...]:
    """Return all problems of a form; `hub` is None while nobody knows what it maps."""
    resources = tuple(placed_resources(spec))
    found = [*_check_hub_id(spec), *_check_graph(spec)]
    for placed in resources:
        found += check_resource(placed, check_ignore_field)
    return (*found, *check_templates(resources, hub))


def hub_not_found(spec: FormSpec) -> Problem:
    """Return the problem of a form whose hub is not there."""
    return Problem(
        "spec.hubId",
        f'there is no LynqHub "{spec.hub_id}" in this namespace; '
        "the form will be looked at again when there is",
        event=EventReason.HUB_NOT_FOUND,
    )


def _check_hub_id(spec: FormSpec) -> Iterator[Problem]:
    if not spec.hub_id:
        yield Problem("spec.hubId", "missing: name the LynqHub whose rows are meant")


def _check_graph(spec: FormSpec) -> Iterator[Problem]:
    paths = {placed.resource.id: placed.path for placed in placed_resources(spec)}
    for problem in find_problems(entries_of(spec)):
        if problem.kind is GraphProblem.DUPLICATE_ID:
            event = EventReason.DUPLICATE_RESOURCE_IDS
        else:
            event = EventReason.DEPENDENCY_VALIDATION_FAILED
        # An id that is empty or doubled is in several places, which its message names.
        of_ids = problem.kind in (GraphProblem.DUPLICATE_ID, GraphProblem.EMPTY_ID)
        path = "spec" if of_ids else f"{paths[problem.ids[0]]}.dependIds"
        yield Problem(path, problem.message, event=event)
