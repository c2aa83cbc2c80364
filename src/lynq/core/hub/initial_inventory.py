"""The annotation that lists the objects of a new node before it has applied any."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from lynq.api import NodeSpec, TResource
from lynq.api.initial_inventory import (
    API_VERSIONS,
    CLUSTER_SCOPED,
    InitialObject,
    initial_inventory,
)
from lynq.api.resource import all_resources
from lynq.template import Environment, SeededRandom, TemplateError, compile_template

_FIXED: Final = Environment(now=0, random=SeededRandom(b""))
"""Templates that read the clock or draw random values are not rendered here."""


def initial_inventory_of(
    spec: NodeSpec, namespace: str, variables: Mapping[str, object], refused: Collection[str]
) -> dict[str, str]:
    """Return the annotation of a new node; `refused` are the resources that are not applied."""
    return initial_inventory(_objects(spec, namespace, variables, refused))


def _objects(
    spec: NodeSpec, namespace: str, variables: Mapping[str, object], refused: Collection[str]
) -> Iterator[InitialObject]:
    environment = _FIXED.within_one_deadline()
    for resource in all_resources(spec):
        api_version, kind = str(resource.spec.get("apiVersion")), str(resource.spec.get("kind"))
        is_known = API_VERSIONS.get(kind) == api_version
        if not is_known or not resource.name_template or resource.id in refused:
            continue
        place = "" if kind in CLUSTER_SCOPED else namespace
        if resource.target_namespace and place:
            place = _target_namespace(resource, variables, environment)
            if not place:
                continue
        yield InitialObject(resource.id, api_version, kind, place, resource.name_template)


def _target_namespace(
    resource: TResource, variables: Mapping[str, object], environment: Environment
) -> str:
    """Return the namespace as the node renders it; "" if that is not certain."""
    try:
        template = compile_template(resource.target_namespace)
        return "" if template.needs else template.render(variables, environment)
    except TemplateError:
        return ""
