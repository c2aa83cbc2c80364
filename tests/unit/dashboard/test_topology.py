"""The topology has at most 300 shapes, whatever the cluster has."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import (
    FormSpec,
    HubSource,
    HubSpec,
    LynqForm,
    LynqHub,
    Metadata,
    SourceType,
    ValueMappings,
)
from lynq.api.source import SQLite
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.rights import Scope
from lynq.dashboard.views.topology import TopologyQuery, topology_view
from lynq.dashboard.visible import Visible

STATES = ("Ready", "Failed", "Progressing", "Conflicted", "Paused", "Deleting")


def node(number: int, form: str, state: str) -> NodeEntry:
    name = f"n{number}-{form}"
    return NodeEntry("ns", name, f"n{number}", form, "hub", state, 1, 1, "", "", "", "", 0, 0, 0.0)


class FakeProjection:
    """Hubs, forms and nodes without a cluster."""

    problems = ()

    def __init__(self, forms: int, nodes: list[NodeEntry], hubs: int = 1) -> None:
        source = HubSource(type=SourceType.SQLITE, sqlite=SQLite(path="a", table="b"))
        spec = HubSpec(source=source, value_mappings=ValueMappings(uid="a", activate="b"))
        names = ["hub", *(f"hub{number}" for number in range(1, hubs))]
        self._hubs = [LynqHub(metadata=_metadata(name), spec=spec) for name in names]
        self._forms = [
            LynqForm(metadata=_metadata(f"f{number}"), spec=FormSpec(hub_id="hub"))
            for number in range(forms)
        ]
        self._nodes = nodes

    def hubs(self) -> list[LynqHub]:
        return self._hubs

    def forms(self) -> list[LynqForm]:
        return self._forms

    def nodes(self) -> list[NodeEntry]:
        return self._nodes


def _metadata(name: str) -> Metadata:
    return Metadata(name=name, namespace="ns")


def visible(projection: FakeProjection) -> Visible:
    everything = Scope(None)
    return Visible(cast("Any", projection), everything, everything, everything)


@given(
    forms=st.integers(0, 400),
    hubs=st.integers(1, 400),
    nodes=st.integers(0, 700),
    query=st.builds(
        TopologyQuery,
        text=st.sampled_from(["", "n1", "f2", "hub"]),
        problems=st.booleans(),
        focus=st.sampled_from(
            ["", "form:ns/f0", "hub:ns/hub", "nodes:ns/f0:Ready", "node:ns/n0-f0"]
        ),
    ),
)
def test_topology_never_has_more_than_300_shapes(
    forms: int, hubs: int, nodes: int, query: TopologyQuery
) -> None:
    entries = [
        node(number, f"f{number % max(1, forms)}", STATES[number % len(STATES)])
        for number in range(nodes)
    ]
    drawn = topology_view(visible(FakeProjection(forms, entries, hubs)), query)
    assert len(drawn.shapes) <= 300
    ids = {shape.id for shape in drawn.shapes}
    assert len(ids) == len(drawn.shapes)
    assert all(edge.source in ids and edge.target in ids for edge in drawn.edges)


def test_groups_have_all_nodes_and_a_focused_group_shows_its_members() -> None:
    entries = [node(number, "f0", "Ready" if number % 10 else "Failed") for number in range(1000)]
    projection = FakeProjection(1, entries)
    drawn = topology_view(visible(projection), TopologyQuery())
    groups = [shape for shape in drawn.shapes if shape.type == "Node"]
    assert {(group.state, group.count, group.problems) for group in groups} == {
        ("Ready", 900, 0),
        ("Failed", 100, 100),
    }
    failed = next(group.id for group in groups if group.state == "Failed")
    focused = topology_view(visible(projection), TopologyQuery(focus=failed))
    assert sum(shape.type == "Node" for shape in focused.shapes) == 100
