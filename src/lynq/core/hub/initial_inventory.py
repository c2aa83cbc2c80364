"""The annotation that lists the objects of a new node before it has applied any."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from lynq.api import NodeSpec, TResource
from lynq.api.initial_inventory import (
    API_VERSIONS,
    CLUSTER_SCOPED,
    InitialObject,
    initial_inventory,
)
from lynq.api.resource import all_resources
from lynq.template import Environment, TemplateError, compile_template

_FIXED: Final = Environment.fixed()
"""Templates that read the clock or draw random values are not rendered here."""


def initial_inventory_of(
    spec: NodeSpec, namespace: str, variables: Mapping[str, object], refused: Collection[str]
) -> dict[str, str]:
    """Return the annotation of a new node; `refused` are the resources that are not applied."""
    resources = [resource for resource in all_resources(spec) if resource.id not in refused]
    return initial_inventory(_objects(resources, namespace, variables))


def _objects(
    resources: Iterable[TResource], namespace: str, variables: Mapping[str, object]
) -> Iterator[InitialObject]:
    environment = _FIXED.within_one_deadline()
    for resource in resources:
        api_version, kind = str(resource.spec.get("apiVersion")), str(resource.spec.get("kind"))
        if API_VERSIONS.get(kind) != api_version:
            continue
        place: str | None = ""
        if kind not in CLUSTER_SCOPED:
            place = _namespace(resource.target_namespace, namespace, variables, environment)
        if place is not None:
            yield InitialObject(resource.id, api_version, kind, place, resource.name_template)


def _namespace(
    target: str, default: str, variables: Mapping[str, object], environment: Environment
) -> str | None:
    """Return the namespace as the node renders it; None if that is not certain."""
    if not target:
        return default
    try:
        template = compile_template(target)
        return None if template.needs else template.render(variables, environment)
    except TemplateError:
        return None
