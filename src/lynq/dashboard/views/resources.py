"""The resources of a form or node, in their places of the dependency graph."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import fields

from lynq.api import ResourceLists, ResourceStatus, TResource
from lynq.api.resource import all_resources
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.graph.problems import GraphError
from lynq.dashboard.types.common import ResourceView

_DEFAULTS = {item.name: item.default for item in fields(TResource)}
_POLICIES = (
    "creation_policy",
    "deletion_policy",
    "conflict_policy",
    "adoption_policy",
    "patch_strategy",
    "wait_for_ready",
    "timeout_seconds",
    "skip_on_dependency_failure",
)


def form_resources(spec: ResourceLists) -> tuple[ResourceView, ...]:
    """Return the resources of a form, dependencies first."""
    levels = levels_of(spec)
    views = [_view(resource, None, levels) for resource in all_resources(spec)]
    return tuple(sorted(views, key=lambda view: view.level))


def node_resources(
    spec: ResourceLists, entries: tuple[ResourceStatus, ...]
) -> tuple[ResourceView, ...]:
    """Return the objects of a node, and the resources that have none yet, dependencies first."""
    levels = levels_of(spec)
    resources = {resource.id: resource for resource in all_resources(spec)}
    views = [_view(resources.get(entry.id), entry, levels) for entry in entries]
    reported = {entry.id for entry in entries}
    views += [
        _view(resource, None, levels, state="Waiting")
        for resource in resources.values()
        if resource.id not in reported
    ]
    return tuple(sorted(views, key=lambda view: view.level))


def levels_of(spec: ResourceLists) -> dict[str, int]:
    """Return the longest path of dependencies below each id; empty if the graph is invalid."""
    try:
        waves = build_graph(entries_of(spec)).waves
    except GraphError:
        return {}
    return {name: level for level, wave in enumerate(waves) for name in wave}


def _view(
    resource: TResource | None,
    entry: ResourceStatus | None,
    levels: dict[str, int],
    state: Any = None,  # noqa: ANN401 - a ResourceStateName
) -> ResourceView:
    manifest = resource.spec if resource else {}
    resource_id = entry.id if entry else resource.id if resource else ""
    reported: Any = entry.state.value if entry else state
    return ResourceView(
        id=resource_id,
        api_version=entry.api_version if entry else str(manifest.get("apiVersion", "")),
        kind=entry.kind if entry else str(manifest.get("kind", "")),
        namespace=entry.namespace if entry else resource.target_namespace if resource else "",
        name=entry.name if entry else resource.name_template if resource else "",
        state=reported,
        reason=entry.reason if entry else "",
        message=entry.message if entry else "",
        since=entry.since if entry else None,
        level=levels.get(resource_id, 0),
        depends_on=resource.depend_ids if resource else (),
        policies=dict(_policies(resource)) if resource else {},
    )


def _policies(resource: TResource) -> Iterator[tuple[str, str]]:
    for name in _POLICIES:
        value = getattr(resource, name, None)
        if value is not None and value != _DEFAULTS.get(name):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield name.removesuffix("_policy").replace("_", " "), text
