"""The list of nodes: filtered, sorted and paged."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from aiohttp import web

from lynq.core.explain.groups import group_key
from lynq.core.explain.summary import FilterError, parse_filter
from lynq.dashboard import query
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.query import BadQuery
from lynq.dashboard.types.lists import NodePage
from lynq.dashboard.views.problems import problem_nodes
from lynq.dashboard.visible import Visible, count, counted_as, node_line

_SORTS: Final[dict[str, Callable[[NodeEntry], Any]]] = {
    "name": lambda _: "",
    "uid": lambda node: node.uid,
    "form": lambda node: node.form,
    "hub": lambda node: node.hub,
    "state": lambda node: node.state,
    "cause": lambda node: node.cause,
    "since": lambda node: node.since,
    "created": lambda node: node.created,
    "ready": lambda node: node.ready - node.desired,
}


def node_page(visible: Visible, request: web.Request, now: datetime, grace: float) -> NodePage:
    """Return `GET /nodes`; raises BadQuery."""
    sort = query.text(request, "sort") or "name"
    descending, sort = sort.startswith("-"), sort.removeprefix("-")
    if sort not in _SORTS:
        raise BadQuery(f"sort must be one of {', '.join(_SORTS)}, with - for the reverse order.")
    nodes: Iterable[NodeEntry] = visible.nodes()
    if group := query.text(request, "group"):
        nodes = [node for node in problem_nodes(nodes, now, grace) if _is_of(node, group)]
    nodes = list(_matching(nodes, query.text(request, "where"), query.text(request, "q")))
    counts = count(nodes)
    if state := query.text(request, "state"):
        nodes = [node for node in nodes if counted_as(node) == state]
    value = _SORTS[sort]

    def key(node: NodeEntry) -> tuple[Any, ...]:
        return (value(node), node.namespace, node.name)

    size = query.limit(request)
    page = query.page(nodes, key, query.text(request, "after"), size, descending=descending)
    return NodePage(
        items=tuple(map(node_line, page.items)),
        total=len(nodes),
        counts=counts,
        next=page.next,
    )


def _is_of(node: NodeEntry, group: str) -> bool:
    return str(group_key(node)) == group


def _matching(nodes: Iterable[NodeEntry], where: str, text: str) -> Iterable[NodeEntry]:
    if where:
        try:
            nodes = filter(parse_filter(where), nodes)
        except FilterError as error:
            raise BadQuery(f"where: {error}.") from None
    if text:
        wanted = text.lower()
        nodes = (node for node in nodes if contains(node, wanted))
    return nodes


def contains(node: NodeEntry, wanted: str) -> bool:
    """Return whether a name of the node contains a text in lower case."""
    return (
        wanted in node.name.lower()
        or wanted in node.uid.lower()
        or wanted in node.form.lower()
        or wanted in node.namespace.lower()
        or wanted in node.message.lower()
    )
