"""Search over hubs, forms, nodes and their objects by name, uid, form and namespace."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from heapq import nsmallest
from typing import Final, NamedTuple

from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.object_names import NodeObject, object_names, objects_text
from lynq.dashboard.options import MAX_HITS
from lynq.dashboard.types.common import SummaryView
from lynq.dashboard.types.lists import SearchHit, SearchResults
from lynq.dashboard.visible import Visible, form_line, hub_line, node_line

_BETWEEN_WORDS: Final = re.compile(r"[\s/]+")
"""The words of `deployment shop/acme-web` are three."""
_EXACT, _BEGINNING, _PART = range(3)
_WHOLE, _INSIDE = range(2)


class _Hit(NamedTuple):
    rank: int
    level: int
    """Hubs, forms and nodes come before their rows and objects."""
    length: int
    name: str
    namespace: str
    kind: str
    resource_id: str
    summary: Callable[[], SummaryView]

    def view(self) -> SearchHit:
        return SearchHit(
            kind=self.kind,
            namespace=self.namespace,
            name=self.name,
            resource_id=self.resource_id,
            summary=self.summary(),
        )


def search(visible: Visible, text: str) -> SearchResults:
    """Return `GET /search`: exact names first, then beginnings, then parts of names."""
    words = [word for word in _BETWEEN_WORDS.split(text.lower()) if word]
    hits = nsmallest(MAX_HITS, _hits(visible, words), key=lambda hit: hit[:7]) if words else ()
    return SearchResults(items=tuple(hit.view() for hit in hits))


def _hits(visible: Visible, words: list[str]) -> Iterator[_Hit]:
    for hub in visible.hubs():
        name, namespace = hub.metadata.name, hub.metadata.namespace
        line = partial(hub_line, hub)
        if (rank := _rank(words, (name, namespace, "hub"))) is not None:
            yield _Hit(rank, _WHOLE, len(name), name, namespace, "Hub", "", line)
        for row in hub.status.rejected_rows.rows if hub.status.rejected_rows else ():
            if (rank := _rank(words, (row.uid, namespace, name, "row"))) is not None:
                yield _Hit(rank, _INSIDE, len(row.uid), row.uid, namespace, "Row", "", line)
    for form in visible.forms():
        name, namespace = form.metadata.name, form.metadata.namespace
        line = partial(form_line, form)
        if (rank := _rank(words, (name, namespace, form.spec.hub_id, "form"))) is not None:
            yield _Hit(rank, _WHOLE, len(name), name, namespace, "Form", "", line)
    for node in visible.nodes():
        names = (node.uid, node.name, node.form, node.namespace)
        if (rank := _rank(words, names)) is not None:
            line = partial(node_line, node)
            yield _Hit(rank, _WHOLE, len(node.name), node.name, node.namespace, "Node", "", line)
        yield from _objects(node, words)


def _objects(node: NodeEntry, words: list[str]) -> Iterator[_Hit]:
    text = objects_text(node.objects, node.uid)
    lowered = text.lower()
    if not all(word in lowered for word in words):
        return
    for obj in object_names(text):
        if (rank := _object_rank(words, obj)) is not None:
            line = partial(node_line, node)
            yield _Hit(
                rank,
                _INSIDE,
                len(obj.name),
                obj.name,
                obj.namespace,
                obj.kind,
                obj.resource_id,
                line,
            )


def _rank(words: list[str], names: tuple[str, ...]) -> int | None:
    """Return how well names match, 0 is best; None if a word is in none of them."""
    lowered = [name.lower() for name in names]
    if not all(any(word in name for name in lowered) for word in words):
        return None
    first = words[0]
    if first in lowered:
        return _EXACT
    return _BEGINNING if any(name.startswith(first) for name in lowered) else _PART


def _object_rank(words: list[str], obj: NodeObject) -> int | None:
    """Return how well an object matches: its kind and namespace only narrow the search."""
    name, others = obj.name.lower(), (obj.kind.lower(), obj.namespace.lower())
    if not all(word in name or any(word in other for other in others) for word in words):
        return None
    if name in words:
        return _EXACT
    return _BEGINNING if any(name.startswith(word) for word in words) else _PART
