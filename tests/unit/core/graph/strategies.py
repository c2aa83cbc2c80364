"""Forms drawn by chance, and a graph theory too simple to be wrong."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from lynq.core.graph.model import Entry

_IDS = tuple("abcdefgh")


def entries(ids: Sequence[str] = _IDS) -> st.SearchStrategy[list[Entry]]:
    """Unique ids, dependencies on any of them but itself: circles are likely."""

    def drawn(names: list[str]) -> st.SearchStrategy[list[Entry]]:
        return st.tuples(
            *(st.lists(st.sampled_from(names), max_size=2).map(_entry(name)) for name in names)
        ).map(list)

    return st.lists(st.sampled_from(ids), unique=True, min_size=1).flatmap(drawn)


def sound_entries() -> st.SearchStrategy[list[Entry]]:
    """Entries that make a graph: dependencies point one way in some order, shown in another."""

    def drawn(names: list[str]) -> st.SearchStrategy[list[Entry]]:
        rows = [
            st.lists(st.sampled_from(names[:position] or [""]), max_size=4).map(_entry(name))
            for position, name in enumerate(names)
        ]
        return st.tuples(*rows).flatmap(st.permutations)

    return st.lists(st.sampled_from(_IDS), unique=True).flatmap(drawn)


def _entry(name: str) -> Callable[[list[str]], Entry]:
    return lambda ends: Entry(name, tuple(end for end in ends if end not in ("", name)))


def reachable(given: Sequence[Entry]) -> set[tuple[str, str]]:
    """All pairs of an id and what it depends on, directly or not: repeated until nothing is new."""
    pairs = {(entry.id, end) for entry in given for end in entry.depend_ids}
    while True:
        more = {(start, end) for start, via in pairs for then, end in pairs if via == then}
        if more <= pairs:
            return pairs
        pairs |= more
