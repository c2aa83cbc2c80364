"""The data types of the dependency graph: entries, edges and waves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Struct

Edges: TypeAlias = Mapping[str, tuple[str, ...]]
"""The targets of the edges of each id; targets are unique, and every target is also a key."""

Waves: TypeAlias = tuple[tuple[str, ...], ...]
"""Ids in processing order: the ids of one wave are independent, waves follow one another."""


class Entry(Struct, frozen=True):
    """One resource as a vertex of the graph."""

    id: str
    depend_ids: tuple[str, ...] = ()
    path: str = ""
    """The path in the spec, for example `deployments[0]`: it locates an empty or duplicate id."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A valid dependency graph; created by `build_graph`."""

    dependencies: Edges
    """The direct dependencies of each id, in the order of its dependIds."""
    waves: Waves
    """Dependencies before dependents; each id is in the earliest possible wave."""


def reverse(edges: Edges) -> Edges:
    """Return the edges with their direction reversed, keys and targets in the canonical order."""
    sources: dict[str, list[str]] = {resource_id: [] for resource_id in edges}
    for resource_id, targets in edges.items():
        for target in targets:
            sources[target].append(resource_id)
    return {resource_id: tuple(ids) for resource_id, ids in sources.items()}


def edges_between(entries: Iterable[Entry]) -> Edges:
    """Return the dependencies among these entries.

    Dependencies on unknown ids and self-dependencies are left out. Repeated dependencies count
    once. Entries with the same id are merged.
    """
    targets: dict[str, dict[str, None]] = {}
    for entry in entries:
        targets.setdefault(entry.id, {}).update(dict.fromkeys(entry.depend_ids))
    return {
        resource_id: tuple(
            dependency
            for dependency in depend_ids
            if dependency in targets and dependency != resource_id
        )
        for resource_id, depend_ids in targets.items()
    }
