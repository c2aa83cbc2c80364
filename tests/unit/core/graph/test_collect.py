"""The canonical order is that of the lists in lynq.api."""

from lynq.api import FormSpec, NodeSpec, ResourceLists, TResource
from lynq.core.graph.build import build, collect, entries_of
from lynq.core.graph.model import Entry


def resource(name: str, *depend_ids: str) -> TResource:
    return TResource(id=name, spec={}, depend_ids=depend_ids)


def test_resources_come_list_by_list_whatever_their_names() -> None:
    lists = ResourceLists(
        manifests=(resource("a"),),
        deployments=(resource("c"), resource("b")),
        service_accounts=(resource("z"),),
    )
    assert [found.id for found in collect(lists)] == ["z", "c", "b", "a"]


def test_all_sixteen_lists_are_looked_at() -> None:
    every = {name: (resource(name),) for name in ResourceLists.__struct_fields__}
    assert [found.id for found in collect(ResourceLists(**every))] == list(every)
    assert len(every) == 16


def test_an_entry_knows_where_a_person_finds_it() -> None:
    spec = NodeSpec(
        uid="acme",
        template_ref="shop",
        network_policies=(resource("wall"),),
        stateful_sets=(resource("db"), resource("web", "db", "wall")),
    )
    assert entries_of(spec) == (
        Entry("db", (), "statefulSets[0]"),
        Entry("web", ("db", "wall"), "statefulSets[1]"),
        Entry("wall", (), "networkPolicies[0]"),
    )


def test_a_form_makes_a_graph_as_a_node_does() -> None:
    spec = FormSpec(
        hub_id="hub", deployments=(resource("web", "config"),), config_maps=(resource("config"),)
    )
    assert build(entries_of(spec)).waves == (("config",), ("web",))
