"""Build the graph from its entries, or tell everything that is wrong with them at once."""

from collections.abc import Iterable, Iterator

from lynq.core.graph.cycles import find_cycles
from lynq.core.graph.layering import layer
from lynq.core.graph.model import Edges, Entry, Graph, edges_between, reverse
from lynq.core.graph.problems import (
    GraphError,
    GraphProblem,
    cycle,
    duplicate_id,
    empty_id,
    self_dependency,
    unknown_dependency,
)


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
