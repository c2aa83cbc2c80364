"""Resources and graph entries come in the canonical order, that of the lists in lynq.api."""

from lynq.api import FormSpec, NodeSpec, ResourceLists, TResource
from lynq.api.resource import all_resources
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.graph.model import Entry


def resource(name: str, *depend_ids: str) -> TResource:
    return TResource(id=name, spec={}, depend_ids=depend_ids)


def test_resources_come_in_list_order_independent_of_ids() -> None:
    lists = ResourceLists(
        manifests=(resource("a"),),
        deployments=(resource("c"), resource("b")),
        service_accounts=(resource("z"),),
    )
    assert [item.id for item in all_resources(lists)] == ["z", "c", "b", "a"]


def test_resources_of_all_sixteen_lists_are_returned() -> None:
    lists_by_name = {name: (resource(name),) for name in ResourceLists.__struct_fields__}
    assert [item.id for item in all_resources(ResourceLists(**lists_by_name))] == list(
        lists_by_name
    )
    assert len(lists_by_name) == 16


def test_entry_has_path_in_spec() -> None:
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


def test_form_spec_builds_graph() -> None:
    spec = FormSpec(
        hub_id="hub", deployments=(resource("web", "config"),), config_maps=(resource("config"),)
    )
    assert build_graph(entries_of(spec)).waves == (("config",), ("web",))
