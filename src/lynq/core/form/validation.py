"""Everything that admission and the form's controller check, found at once.

Both ask the same function, so what one lets through the other accepts. Whether the hub exists is
for the controller alone: hubs and forms may be applied in any order.
"""

from collections.abc import Iterator

from lynq.api import FormSpec, HubSpec
from lynq.api.problems import Problem
from lynq.api.reasons import EventReason
from lynq.core.form.places import placed_resources
from lynq.core.form.resources import CheckIgnoreField, check_resource
from lynq.core.form.templates import check_templates
from lynq.core.graph.build import find_problems
from lynq.core.graph.collecting import entries_of
from lynq.core.graph.problems import GraphProblemKind as GraphProblem


def validate(
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
