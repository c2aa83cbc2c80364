"""Hypothesis strategies for graph entries, and a naive reachability to check against."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from lynq.core.graph.model import Entry

_IDS = tuple("abcdefgh")


def entries(ids: Sequence[str] = _IDS) -> st.SearchStrategy[list[Entry]]:
    """Draw unique ids with dependencies on any other id: cycles are likely."""

    def drawn(names: list[str]) -> st.SearchStrategy[list[Entry]]:
        return st.tuples(
            *(st.lists(st.sampled_from(names), max_size=2).map(_entry(name)) for name in names)
        ).map(list)

    return st.lists(st.sampled_from(ids), unique=True, min_size=1).flatmap(drawn)


def acyclic_entries() -> st.SearchStrategy[list[Entry]]:
    """Draw entries without cycles, in an order that is independent of their dependencies."""

    def drawn(names: list[str]) -> st.SearchStrategy[list[Entry]]:
        rows = [
            st.lists(st.sampled_from(names[:position] or [""]), max_size=4).map(_entry(name))
            for position, name in enumerate(names)
        ]
        return st.tuples(*rows).flatmap(st.permutations)

    return st.lists(st.sampled_from(_IDS), unique=True).flatmap(drawn)


def _entry(name: str) -> Callable[[list[str]], Entry]:
    return lambda depend_ids: Entry(
        name, tuple(dependency for dependency in depend_ids if dependency not in ("", name))
    )


def transitive_dependencies(entries: Sequence[Entry]) -> set[tuple[str, str]]:
    """Return all pairs of an id and an id that it depends on, directly or not."""
    pairs = {(entry.id, dependency) for entry in entries for dependency in entry.depend_ids}
    while True:
        more = {(start, end) for start, via in pairs for then, end in pairs if via == then}
        if more <= pairs:
            return pairs
        pairs |= more
