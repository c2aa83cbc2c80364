"""Node counts of hubs and forms follow changes of nodes."""

from msgspec.structs import replace

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import hub_by_label
from lynq.core.hub.node_counts import FleetCounts
from unit.core.node.nodes import a_node

SHOP = ObjectKey("shop", "hub")
WEB = ObjectKey("shop", "web")


def of_hub(name: str, hub: str = "hub") -> LynqNode:
    node = a_node(name=name)
    return replace(node, metadata=replace(node.metadata, labels={"lynq.sh/hub": hub}))


def update(counts: FleetCounts, old: LynqNode | None, new: LynqNode | None) -> None:
    node = new or old
    assert node is not None
    counts.update(node.metadata.key, old, new)


def test_created_and_deleted_nodes_are_counted() -> None:
    counts, one, two = FleetCounts(), of_hub("acme-web"), of_hub("beta-web")
    update(counts, None, one)
    update(counts, None, two)
    assert counts.of(SHOP).count() == 2
    update(counts, one, None)
    assert counts.of(SHOP).count() == 1


def test_unknown_hub_has_no_nodes() -> None:
    assert FleetCounts().of(SHOP).count() == 0


def test_node_that_changes_its_hub_is_counted_once() -> None:
    counts, before, after = FleetCounts(), of_hub("acme-web"), of_hub("acme-web", "other")
    update(counts, None, before)
    update(counts, before, after)
    assert counts.of(SHOP).count() == 0
    assert counts.of(ObjectKey("shop", "other")).count() == 1


def test_node_without_label_belongs_to_no_hub() -> None:
    assert hub_by_label(a_node()) is None
    assert hub_by_label(None) is None


def test_form_counts_nodes_of_all_hubs_and_manual_ones() -> None:
    counts, manual = FleetCounts(), a_node(name="manual")
    for node in (of_hub("acme-web"), of_hub("beta-web", "other"), manual):
        update(counts, None, node)
    assert counts.of_form(WEB).count() == 3
    assert counts.of_form(ObjectKey("elsewhere", "web")).count() == 0
    update(counts, manual, None)
    assert counts.of_form(WEB).count() == 2
    assert counts.of(SHOP).count() == 1


def test_node_that_changes_its_form_is_counted_once() -> None:
    counts, before = FleetCounts(), of_hub("acme-web")
    after = replace(before, spec=replace(before.spec, template_ref="db"))
    update(counts, None, before)
    update(counts, before, after)
    assert counts.of_form(WEB).count() == 0
    assert counts.of_form(ObjectKey("shop", "db")).count() == 1
    assert counts.of(SHOP).count() == 1
