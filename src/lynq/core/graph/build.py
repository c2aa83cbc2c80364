"""Build the graph from its entries, or tell everything that is wrong with them at once.

Sort ids into waves: the level of an id is one more than the highest of its dependencies.

Find the circles in a graph: one for every knot of ids that all depend on each other.

A knot (a strongly connected component) can hold more circles than anyone wants to read, so one
stands for it: the shortest through the knot's first id in the canonical order. To find the
shortest of all would take quadratic time, and which id comes first does not change from one look
to the next.

Knots are found by Kosaraju's two walks: what a walk along the dependencies leaves last, and can
be reached against them, is one knot.

Take the resources out of their sixteen lists, in the canonical order.

In which order what is there goes, whatever has become of the form in the meantime.

Deletion must come to an end also where building would fail: a node whose resources go round in a
circle can still be deleted, and its inventory may hold resources that left the form long ago.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import fields

from lynq.api import ResourceLists, TResource
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


@dataclass(frozen=True, slots=True)
class Layers:
    """Ids by level, in the canonical order within one."""

    waves: Waves
    rest: tuple[str, ...]
    """What has no level: the members of circles, and everything that depends on one."""


def layer(dependencies: Edges) -> Layers:
    """Give every id the lowest level that is above all of its dependencies."""
    levels = _levels(dependencies)
    waves: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    rest: list[str] = []
    # Filled in the canonical order, so that no wave has to be sorted.
    for this in dependencies:
        place = waves[levels[this]] if this in levels else rest
        place.append(this)
    return Layers(tuple(map(tuple, waves)), tuple(rest))


def _levels(dependencies: Edges) -> dict[str, int]:
    dependents = reverse(dependencies)
    missing = {this: len(ends) for this, ends in dependencies.items()}
    levels: dict[str, int] = {}
    wave = [this for this, count in missing.items() if count == 0]
    level = 0
    while wave:
        following: list[str] = []
        for this in wave:
            levels[this] = level
            for dependent in dependents[this]:
                missing[dependent] -= 1
                if missing[dependent] == 0:
                    following.append(dependent)
        wave = following
        level += 1
    return levels


def find_cycles(dependencies: Edges) -> Iterator[tuple[str, ...]]:
    """Yield a circle per knot, each id once: every id depends on the next, the last on the first.

    An id that depends on itself alone makes no knot.
    """
    for knot in _components(dependencies):
        if len(knot) > 1:
            yield _cycle_in(dependencies, knot[0], set(knot))


def _components(dependencies: Edges) -> Iterator[list[str]]:
    """Yield the knots in the order of their first ids, each in the canonical order."""
    dependents = reverse(dependencies)
    knot_of: dict[str, str] = {}
    for root in reversed(_in_finish_order(dependencies)):
        ahead = [root]
        while ahead:
            this = ahead.pop()
            if this not in knot_of:
                knot_of[this] = root
                ahead += dependents[this]
    knots: dict[str, list[str]] = {}
    for this in dependencies:
        knots.setdefault(knot_of[this], []).append(this)
    yield from knots.values()


def _in_finish_order(edges: Edges) -> list[str]:
    """Walk depth-first, and return the ids as the walk leaves them for good."""
    left: list[str] = []
    seen: set[str] = set()
    for root in edges:
        if root in seen:
            continue
        seen.add(root)
        trail = [(root, iter(edges[root]))]
        while trail:
            this, ahead = trail[-1]
            step = next((end for end in ahead if end not in seen), None)
            if step is None:
                trail.pop()
                left.append(this)
            else:
                seen.add(step)
                trail.append((step, iter(edges[step])))
    return left


def _cycle_in(edges: Edges, first: str, knot: Collection[str]) -> tuple[str, ...]:
    """Return the shortest way from `first` back to it, breadth-first."""
    came_from: dict[str, str] = {}
    ahead = deque([first])
    while first not in came_from:
        this = ahead.popleft()
        for end in edges[this]:
            if end in knot and end not in came_from:
                came_from[end] = this
                ahead.append(end)
    way = [came_from[first]]
    while way[-1] != first:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def build(entries: Iterable[Entry]) -> Graph:
    """Return the graph of entries in the canonical order; raises GraphError with all problems."""
    entries = tuple(entries)
    if problems := find_problems(entries):
        raise GraphError(problems)
    dependencies = edges_between(entries)
    return Graph(dependencies, reverse(dependencies), layer(dependencies).waves)


def find_problems(entries: Iterable[Entry]) -> tuple[GraphProblem, ...]:
    """Return what keeps the entries from making a graph; nothing, if they do make one."""
    entries = tuple(entries)
    places = _places(entries)
    return (
        *(empty_id(place) for place in places.pop("", ())),
        *(duplicate_id(this, where) for this, where in places.items() if len(where) > 1),
        *_bad_dependencies(entries, places),
        *_cycle_problems(
            edges_between(entry for entry in entries if len(places.get(entry.id, ())) == 1)
        ),
    )


def _places(entries: tuple[Entry, ...]) -> dict[str, list[str]]:
    """Return where each id is used."""
    places: dict[str, list[str]] = {}
    for position, entry in enumerate(entries, start=1):
        places.setdefault(entry.id, []).append(entry.place or f"resource {position}")
    return places


def _bad_dependencies(
    entries: tuple[Entry, ...], known: dict[str, list[str]]
) -> Iterator[GraphProblem]:
    for entry in entries:
        for dependency in dict.fromkeys(entry.depend_ids):
            if dependency not in known:
                yield unknown_dependency(entry.id, dependency)
            elif dependency == entry.id:
                yield self_dependency(entry.id)


def _cycle_problems(dependencies: Edges) -> Iterator[GraphProblem]:
    """Yield the circles among ids that are used once.

    Whom a doubled id means is open, so a circle through it may be none once the ids are right.
    """
    if layer(dependencies).rest:
        yield from map(cycle, find_cycles(dependencies))


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


def removal_waves(entries: Iterable[Entry], present: Iterable[str]) -> Waves:
    """Return the ids of the inventory in waves, dependents before dependencies.

    First go those that no entry knows. What they depended on is forgotten; but nothing that is
    known can depend on them, while they may still need anything that is. Then go the ones without
    an order, in circles or behind them: nothing that has an order depends on those. What is absent
    still counts for the order of the others.
    """
    known = edges_between(entries)
    wanted = dict.fromkeys(present)
    unknown = tuple(this for this in wanted if this not in known)
    layers = layer(known)
    ordered = (unknown, layers.rest, *reversed(layers.waves))
    waves = (tuple(this for this in wave if this in wanted) for wave in ordered)
    return tuple(wave for wave in waves if wave)
