"""Build the dependency graph: validate ids and dependIds, sort ids into waves, order deletions.

The level of an id is one more than the highest level of its dependencies; a wave holds the ids of
one level.

Cycles are found as strongly connected components by Kosaraju's algorithm. A component can contain
many cycles, so one is reported: the shortest cycle through the component's first id in the
canonical order. Searching for the shortest cycle of all would take quadratic time, and the first
id is the same in every reconcile.

Deletion must make progress where building would fail. A node whose resources form a cycle can still
be deleted, and its inventory may contain resources that the form no longer defines.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lynq.api import ResourceLists
from lynq.api.resource import resources_by_list
from lynq.core.graph.model import Edges, Entry, Graph, Waves, edges_between, reverse
from lynq.core.graph.problems import (
    GraphError,
    GraphProblem,
    cycle,
    duplicate_id,
    empty_id,
    self_dependency,
    unknown_dependency,
)

_GRAPHS: Final = 256
"""Graphs that are kept: the nodes of a form have the same."""


def entries_of(lists: ResourceLists) -> tuple[Entry, ...]:
    """Return the graph entries of all resources of a spec, in the canonical order."""
    return tuple(
        Entry(resource.id, resource.depend_ids, f"{list_name}[{position}]")
        for list_name, resources in resources_by_list(lists)
        for position, resource in enumerate(resources)
    )


def build_graph(entries: Iterable[Entry]) -> Graph:
    """Return the graph of entries in the canonical order; raises GraphError with all problems."""
    return _build_graph(tuple(entries))


@lru_cache(maxsize=_GRAPHS)
def _build_graph(entries: tuple[Entry, ...]) -> Graph:
    if problems := find_problems(entries):
        raise GraphError(problems)
    dependencies = edges_between(entries)
    return Graph(dependencies, _sort_into_levels(dependencies).waves)


def find_problems(entries: Iterable[Entry]) -> tuple[GraphProblem, ...]:
    """Return all problems of ids and dependIds; empty if the graph can be built."""
    entries = tuple(entries)
    paths = _paths_by_id(entries)
    return (
        *(empty_id(path) for path in paths.pop("", ())),
        *(duplicate_id(name, found_at) for name, found_at in paths.items() if len(found_at) > 1),
        *_dependency_problems(entries, paths),
        *_cycle_problems(
            edges_between(entry for entry in entries if len(paths.get(entry.id, ())) == 1)
        ),
    )


def removal_waves(entries: Iterable[Entry], present: Iterable[str]) -> Waves:
    """Return the ids of the inventory in deletion order, dependents before dependencies.

    Ids without an entry come first: their own dependencies are unknown, and no entry can depend on
    them. Ids in cycles, or dependent on a cycle, come second: no sorted id depends on them. Entries
    that are not present still determine the order of the others.
    """
    dependencies = edges_between(entries)
    inventory = dict.fromkeys(present)
    unknown = tuple(resource_id for resource_id in inventory if resource_id not in dependencies)
    levels = _sort_into_levels(dependencies)
    ordered = (unknown, levels.unsorted, *reversed(levels.waves))
    waves = (tuple(name for name in wave if name in inventory) for wave in ordered)
    return tuple(wave for wave in waves if wave)


def _paths_by_id(entries: tuple[Entry, ...]) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for position, entry in enumerate(entries, start=1):
        paths.setdefault(entry.id, []).append(entry.path or f"resource {position}")
    return paths


def _dependency_problems(
    entries: tuple[Entry, ...], ids: Collection[str]
) -> Iterator[GraphProblem]:
    for entry in entries:
        for dependency in dict.fromkeys(entry.depend_ids):
            if dependency not in ids:
                yield unknown_dependency(entry.id, dependency)
            elif dependency == entry.id:
                yield self_dependency(entry.id)


def _cycle_problems(dependencies: Edges) -> Iterator[GraphProblem]:
    """Yield the cycles among unique ids.

    A dependency on a duplicate id is ambiguous: a cycle through it may disappear once ids are
    unique.
    """
    if _sort_into_levels(dependencies).unsorted:
        yield from map(cycle, _find_cycles(dependencies))


@dataclass(frozen=True, slots=True)
class _Levels:
    """Ids by level, in the canonical order within a level."""

    waves: Waves
    unsorted: tuple[str, ...]
    """Ids without a level: members of cycles, and everything that depends on a cycle."""


def _sort_into_levels(dependencies: Edges) -> _Levels:
    levels = _levels(dependencies)
    waves: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    unsorted: list[str] = []
    # Filled in the canonical order, so that no wave has to be sorted.
    for resource_id in dependencies:
        target = waves[levels[resource_id]] if resource_id in levels else unsorted
        target.append(resource_id)
    return _Levels(tuple(map(tuple, waves)), tuple(unsorted))


def _levels(dependencies: Edges) -> dict[str, int]:
    dependents = reverse(dependencies)
    missing = {resource_id: len(depend_ids) for resource_id, depend_ids in dependencies.items()}
    levels: dict[str, int] = {}
    wave = [resource_id for resource_id, count in missing.items() if count == 0]
    level = 0
    while wave:
        next_wave: list[str] = []
        for resource_id in wave:
            levels[resource_id] = level
            for dependent in dependents[resource_id]:
                missing[dependent] -= 1
                if missing[dependent] == 0:
                    next_wave.append(dependent)
        wave = next_wave
        level += 1
    return levels


def _find_cycles(dependencies: Edges) -> Iterator[tuple[str, ...]]:
    """Yield one cycle per component: every id depends on the next, the last id on the first."""
    for component in _components(dependencies):
        if len(component) > 1:
            yield _cycle_in(dependencies, component[0], set(component))


def _components(dependencies: Edges) -> Iterator[list[str]]:
    """Yield the components in the order of their first ids, each in the canonical order."""
    dependents = reverse(dependencies)
    root_of: dict[str, str] = {}
    for root in reversed(_in_finish_order(dependencies)):
        stack = [root]
        while stack:
            resource_id = stack.pop()
            if resource_id not in root_of:
                root_of[resource_id] = root
                stack += dependents[resource_id]
    components: dict[str, list[str]] = {}
    for resource_id in dependencies:
        components.setdefault(root_of[resource_id], []).append(resource_id)
    yield from components.values()


def _in_finish_order(edges: Edges) -> list[str]:
    """Return the ids in the order in which a depth-first search finishes them."""
    finished: list[str] = []
    visited: set[str] = set()
    for root in edges:
        if root in visited:
            continue
        visited.add(root)
        stack = [(root, iter(edges[root]))]
        while stack:
            resource_id, targets = stack[-1]
            unvisited = next((target for target in targets if target not in visited), None)
            if unvisited is None:
                stack.pop()
                finished.append(resource_id)
            else:
                visited.add(unvisited)
                stack.append((unvisited, iter(edges[unvisited])))
    return finished


def _cycle_in(edges: Edges, first: str, component: Collection[str]) -> tuple[str, ...]:
    """Return the shortest path from `first` back to itself, by breadth-first search."""
    reached_from: dict[str, str] = {}
    queue = deque([first])
    while first not in reached_from:
        resource_id = queue.popleft()
        for target in edges[resource_id]:
            if target in component and target not in reached_from:
                reached_from[target] = resource_id
                queue.append(target)
    path = [reached_from[first]]
    while path[-1] != first:
        path.append(reached_from[path[-1]])
    return tuple(reversed(path))
