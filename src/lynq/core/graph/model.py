"""The graph as plain data: entries go in, waves come out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Edges: TypeAlias = Mapping[str, tuple[str, ...]]
"""Each id with the ids at the other end of its edges; no end twice, and every end is a key."""

Waves: TypeAlias = tuple[tuple[str, ...], ...]
"""Ids in steps: those of one wave can be worked on in parallel, the waves one after the other."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the graph has to know of one resource."""

    id: str
    depend_ids: tuple[str, ...] = ()
    place: str = ""
    """Where a person finds it, for example `deployments[0]`: an empty or doubled id tells less."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Resources without any problem between them; made by `lynq.graph.build`."""

    dependencies: Edges
    """Each id with what it depends on, in the order of its dependIds."""
    dependents: Edges
    """Each id with what depends on it directly, in the canonical order."""
    waves: Waves
    """Dependencies before dependents; an id is in the first wave that it can be in."""

    @property
    def reverse_waves(self) -> Waves:
        """The waves from the last to the first: dependents before dependencies, for deletion."""
        return self.waves[::-1]

    def all_dependents(self, origin: str) -> tuple[str, ...]:
        """Return what depends on `origin`, directly or through others, in the canonical order."""
        found: set[str] = set()
        ahead = list(self.dependents.get(origin, ()))
        while ahead:
            this = ahead.pop()
            if this not in found:
                found.add(this)
                ahead += self.dependents[this]
        return tuple(this for this in self.dependents if this in found)


def reverse(edges: Edges) -> Edges:
    """Return the edges seen from their other ends, keys and ends in the canonical order."""
    reversed_: dict[str, list[str]] = {this: [] for this in edges}
    for this, ends in edges.items():
        for end in ends:
            reversed_[end].append(this)
    return {this: tuple(ends) for this, ends in reversed_.items()}


def edges_between(entries: Iterable[Entry]) -> Edges:
    """Return the dependencies among these entries; those on anything else are left out.

    A dependency named twice is one, and entries of one id add up. One on itself is left out too:
    it orders nothing.
    """
    ends: dict[str, dict[str, None]] = {}
    for entry in entries:
        ends.setdefault(entry.id, {}).update(dict.fromkeys(entry.depend_ids))
    return {
        this: tuple(end for end in those if end in ends and end != this)
        for this, those in ends.items()
    }
