"""Take the resources out of their sixteen lists, in the canonical order."""

from collections.abc import Iterator

from msgspec.structs import fields

from lynq.api import ResourceLists, TResource
from lynq.core.graph.model import Entry

# The order of the fields is the canonical order: lynq.api.lists says so.
_LISTS = tuple((field.name, field.encode_name) for field in fields(ResourceLists))


def collect(lists: ResourceLists) -> tuple[TResource, ...]:
    """Return all resources of a form's or node's spec in the canonical order."""
    return tuple(resource for _, resource in _placed(lists))


def entries_of(lists: ResourceLists) -> tuple[Entry, ...]:
    """Return what the graph has to know of each resource, in the canonical order."""
    return tuple(
        Entry(resource.id, resource.depend_ids, place) for place, resource in _placed(lists)
    )


def _placed(lists: ResourceLists) -> Iterator[tuple[str, TResource]]:
    for name, json_name in _LISTS:
        resources: tuple[TResource, ...] = getattr(lists, name)
        for position, resource in enumerate(resources):
            yield f"{json_name}[{position}]", resource
