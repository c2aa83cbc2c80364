"""Search over hubs, forms and nodes by name, uid, form and namespace."""

from collections.abc import Callable, Iterator
from functools import partial
from heapq import nsmallest
from typing import NamedTuple

from lynq.dashboard.options import MAX_HITS
from lynq.dashboard.types.common import SummaryView
from lynq.dashboard.types.lists import SearchResults
from lynq.dashboard.visible import Visible, form_line, hub_line, node_line


class _Hit(NamedTuple):
    rank: int
    length: int
    name: str
    namespace: str
    view: Callable[[], SummaryView]


def search(visible: Visible, text: str) -> SearchResults:
    """Return `GET /search`: exact names first, then beginnings, then parts of names."""
    words = text.lower().split()
    hits = nsmallest(MAX_HITS, _hits(visible, words), key=lambda hit: hit[:4]) if words else ()
    return SearchResults(items=tuple(hit.view() for hit in hits))


def _hits(visible: Visible, words: list[str]) -> Iterator[_Hit]:
    for hub in visible.hubs():
        name, namespace = hub.metadata.name, hub.metadata.namespace
        if (rank := _rank(words, (name, namespace, "hub"))) is not None:
            yield _Hit(rank, len(name), name, namespace, partial(hub_line, hub))
    for form in visible.forms():
        name, namespace = form.metadata.name, form.metadata.namespace
        if (rank := _rank(words, (name, namespace, form.spec.hub_id, "form"))) is not None:
            yield _Hit(rank, len(name), name, namespace, partial(form_line, form))
    for node in visible.nodes():
        names = (node.uid, node.name, node.form, node.namespace)
        if (rank := _rank(words, names)) is not None:
            yield _Hit(rank, len(node.name), node.name, node.namespace, partial(node_line, node))


def _rank(words: list[str], names: tuple[str, ...]) -> int | None:
    """Return how well names match, 0 is best; None if a word is in none of them."""
    lowered = [name.lower() for name in names]
    if not all(any(word in name for name in lowered) for word in words):
        return None
    first = words[0]
    if first in lowered:
        return 0
    return 1 if any(name.startswith(first) for name in lowered) else 2
