"""The topology: hubs, forms, nodes and resources, never more than 300 shapes.

Nodes are drawn one by one while they fit. Otherwise the nodes of a form with one state are a group;
with the group as `focus` its members are drawn, and what does not fit is a group again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lynq.api import LynqNode
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.options import MAX_SHAPES
from lynq.dashboard.types.common import SummaryView
from lynq.dashboard.types.lists import Shape, ShapeEdge, TopologyView
from lynq.dashboard.visible import Visible, form_line, hub_line
from lynq.inspection.orphans import Orphan

_MAX_FORMS: Final = 200
"""Hubs and forms that are drawn."""
_MAX_ORPHANS: Final = 40
_FINE: Final = frozenset({"Ready", "Paused"})
_WORST: Final = ("Failed", "Conflicted", "Progressing", "Deleting", "Paused", "Ready")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyQuery:
    """The parameters of the topology."""

    text: str = ""
    problems: bool = False
    focus: str = ""


@dataclass(slots=True)
class _Drawing:
    shapes: list[Shape] = field(default_factory=list)
    edges: list[ShapeEdge] = field(default_factory=list)
    limit: int = MAX_SHAPES

    @property
    def free(self) -> int:
        return self.limit - len(self.shapes)

    def add(self, shape: Shape, parent: str = "") -> None:
        if self.free > 0:
            self.shapes.append(shape)
            if parent:
                self.edges.append(ShapeEdge(source=parent, target=shape.id))


def topology_view(
    visible: Visible,
    query: TopologyQuery,
    focused: LynqNode | None = None,
    orphans: Sequence[Orphan] = (),
) -> TopologyView:
    """Return `GET /topology`; `focused` is the node whose resources are drawn."""
    hubs = {f"hub:{hub.metadata.key}": hub_line(hub) for hub in visible.hubs()}
    forms = {f"form:{form.metadata.key}": form_line(form) for form in visible.forms()}
    nodes = [node for node in visible.nodes() if not query.problems or node.state not in _FINE]
    forms, nodes = _focused(query.focus, forms, nodes)
    if query.text:
        forms, nodes = _found(query.text.lower(), forms, nodes)
    hubs, forms = _relevant(query, hubs, forms, nodes)
    drawing = _Drawing()
    notes = _draw_forms(drawing, hubs, forms, nodes)
    drawing.limit = MAX_SHAPES - min(len(orphans), _MAX_ORPHANS)
    _draw_nodes(drawing, nodes, query.focus, focused)
    drawing.limit = MAX_SHAPES
    if not query.focus:
        _draw_orphans(drawing, orphans, query.text.lower())
    known = {shape.id for shape in drawing.shapes}
    edges = tuple(edge for edge in drawing.edges if edge.source in known)
    return TopologyView(
        shapes=tuple(drawing.shapes), edges=edges, denials=(*notes, *visible.denials)
    )


Lines = dict[str, SummaryView]
"""Hubs or forms by the id of their shape."""


def _form_id(node: NodeEntry) -> str:
    return f"form:{node.namespace}/{node.form}"


def _hub_id(form: SummaryView) -> str:
    return f"hub:{form.namespace}/{form.hub}"


def _focused(focus: str, forms: Lines, nodes: list[NodeEntry]) -> tuple[Lines, list[NodeEntry]]:
    kind, _, rest = focus.partition(":")
    match kind:
        case "hub":
            forms = {name: form for name, form in forms.items() if _hub_id(form) == focus}
            return forms, [node for node in nodes if _form_id(node) in forms]
        case "form":
            forms = {name: form for name, form in forms.items() if name == focus}
            return forms, [node for node in nodes if _form_id(node) == focus]
        case "nodes":
            place, _, state = rest.rpartition(":")
            form_id = f"form:{place}"
            nodes = [
                node for node in nodes if _form_id(node) == form_id and state in (node.state, "Any")
            ]
            return {name: form for name, form in forms.items() if name == form_id}, nodes
        case "node":
            nodes = [node for node in nodes if f"{node.namespace}/{node.name}" == rest]
            wanted = {_form_id(node) for node in nodes}
            return {name: form for name, form in forms.items() if name in wanted}, nodes
    return forms, nodes


def _found(text: str, forms: Lines, nodes: list[NodeEntry]) -> tuple[Lines, list[NodeEntry]]:
    named = {
        name
        for name, form in forms.items()
        if text in form.name.lower() or text in form.hub.lower()
    }
    nodes = [
        node
        for node in nodes
        if text in node.name.lower() or text in node.uid.lower() or _form_id(node) in named
    ]
    kept = named | {_form_id(node) for node in nodes}
    return {name: form for name, form in forms.items() if name in kept}, nodes


def _relevant(
    query: TopologyQuery, hubs: Lines, forms: Lines, nodes: Iterable[NodeEntry]
) -> tuple[Lines, Lines]:
    """Return the hubs and forms that lead to what is shown."""
    if query.problems:
        troubled = {_form_id(node) for node in nodes}
        forms = {
            name: form
            for name, form in forms.items()
            if name in troubled or form.state in ("Invalid", "Failed")
        }
    leading = {_hub_id(form) for form in forms.values()}
    is_all = not (query.problems or query.text or query.focus)
    text = query.text.lower()
    hubs = {
        name: hub
        for name, hub in hubs.items()
        if is_all
        or name in leading
        or name == query.focus
        or (query.problems and not query.focus and hub.state in ("Failed", "Held", "Degraded"))
        or (text and text in hub.name.lower())
    }
    return hubs, forms


def _draw_forms(
    drawing: _Drawing, hubs: Lines, forms: Lines, nodes: Iterable[NodeEntry]
) -> tuple[str, ...]:
    drawing.limit = _MAX_FORMS
    troubled = Counter(_form_id(node) for node in nodes if node.state not in _FINE)
    by_hub: Counter[str] = Counter()
    for form_id, form in forms.items():
        by_hub[_hub_id(form)] += troubled[form_id]
    for hub_id, hub in hubs.items():
        drawing.add(_shape(hub_id, "Hub", hub, by_hub[hub_id]))
    for form_id, form in forms.items():
        parent = _hub_id(form)
        drawing.add(_shape(form_id, "Form", form, troubled[form_id]), parent)
    hidden = len(hubs) + len(forms) - len(drawing.shapes)
    if hidden:
        return (f"{hidden} hubs and forms are not drawn: choose a namespace, or search.",)
    return ()


def _shape(shape_id: str, kind: Any, summary: SummaryView, problems: int) -> Shape:  # noqa: ANN401
    return Shape(
        id=shape_id,
        type=kind,
        name=summary.name,
        namespace=summary.namespace,
        state=summary.state,
        problems=problems,
    )


def _draw_nodes(
    drawing: _Drawing, nodes: list[NodeEntry], focus: str, focused: LynqNode | None
) -> None:
    nodes = sorted(nodes, key=lambda node: (_WORST.index(node.state), node.namespace, node.name))
    if len(nodes) <= drawing.free:
        for node in nodes:
            drawing.add(_node_shape(node), _form_id(node))
        if focused:
            _draw_resources(drawing, focused)
        return
    if focus.startswith("nodes:"):
        # Members one by one, and one group for what does not fit.
        shown = drawing.free - 1
        for node in nodes[:shown]:
            drawing.add(_node_shape(node), _form_id(node))
        drawing.add(_group_shape(f"{focus}:more", nodes[shown:], "more"), _form_id(nodes[0]))
        return
    groups: dict[tuple[str, str], list[NodeEntry]] = defaultdict(list)
    for node in nodes:
        groups[_form_id(node), node.state].append(node)
    if len(groups) > drawing.free:
        merged: dict[tuple[str, str], list[NodeEntry]] = defaultdict(list)
        for node in nodes:
            merged[_form_id(node), "Any"].append(node)
        groups = merged
    for (form_id, state), members in groups.items():
        group_id = f"nodes:{form_id.removeprefix('form:')}:{state}"
        drawing.add(_group_shape(group_id, members, state), form_id)


def _node_shape(node: NodeEntry) -> Shape:
    state: Any = node.state
    return Shape(
        id=f"node:{node.namespace}/{node.name}",
        type="Node",
        name=node.name,
        namespace=node.namespace,
        state=state,
        problems=int(node.state not in _FINE),
        uid=node.uid,
    )


def _group_shape(group_id: str, members: Sequence[NodeEntry], name: str) -> Shape:
    worst: Any = min((node.state for node in members), key=_WORST.index)
    return Shape(
        id=group_id,
        type="Node",
        name=f"{len(members)} nodes" if name in ("Any", "more") else f"{len(members)} {name}",
        namespace=members[0].namespace,
        state=worst,
        count=len(members),
        problems=sum(node.state not in _FINE for node in members),
    )


def _draw_resources(drawing: _Drawing, node: LynqNode) -> None:
    metadata = node.metadata
    parent = f"node:{metadata.key}"
    for entry in node.status.resources:
        state: Any = entry.state.value
        drawing.add(
            Shape(
                id=f"resource:{metadata.key}:{entry.id}:{entry.kind}/{entry.name}",
                type="Resource",
                name=f"{entry.kind}/{entry.name}" if entry.name else entry.kind,
                namespace=entry.namespace,
                state=state,
                problems=int(entry.state.value not in ("Ready", "Waiting")),
                uid=node.spec.uid,
            ),
            parent,
        )


def _draw_orphans(drawing: _Drawing, orphans: Sequence[Orphan], text: str) -> None:
    shown = [orphan for orphan in orphans if text in orphan.name.lower()]
    for orphan in shown[: _MAX_ORPHANS - 1] if len(shown) > _MAX_ORPHANS else shown:
        namespace = orphan.metadata.namespace
        drawing.add(
            Shape(
                id=f"orphan:{namespace}/{orphan.name}",
                type="Orphan",
                name=orphan.name,
                namespace=namespace,
                state="Paused",
            )
        )
    if len(shown) > _MAX_ORPHANS:
        rest = len(shown) - _MAX_ORPHANS + 1
        drawing.add(
            Shape(id="orphans", type="Orphan", name=f"{rest} more", state="Paused", count=rest)
        )
