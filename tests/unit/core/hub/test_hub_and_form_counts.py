"""The census: how many nodes each hub and form has, whatever order changes come in."""

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


def take(census: FleetCounts, old: LynqNode | None, new: LynqNode | None) -> None:
    node = new or old
    assert node is not None
    census.take(node.metadata.key, old, new)


def test_nodes_come_and_go() -> None:
    census, one, two = FleetCounts(), of_hub("acme-web"), of_hub("beta-web")
    take(census, None, one)
    take(census, None, two)
    assert census.of(SHOP).count() == 2
    take(census, one, None)
    assert census.of(SHOP).count() == 1


def test_a_hub_nobody_knows_has_none() -> None:
    assert FleetCounts().of(SHOP).count() == 0


def test_a_node_that_changes_its_hub_is_counted_once() -> None:
    census, before, after = FleetCounts(), of_hub("acme-web"), of_hub("acme-web", "other")
    take(census, None, before)
    take(census, before, after)
    assert census.of(SHOP).count() == 0
    assert census.of(ObjectKey("shop", "other")).count() == 1


def test_a_node_without_label_belongs_to_no_hub() -> None:
    assert hub_by_label(a_node()) is None
    assert hub_by_label(None) is None


def test_a_form_has_the_nodes_that_name_it_with_any_label_or_none() -> None:
    census, by_hand = FleetCounts(), a_node(name="by-hand")
    for node in (of_hub("acme-web"), of_hub("beta-web", "other"), by_hand):
        take(census, None, node)
    assert census.of_form(WEB).count() == 3
    assert census.of_form(ObjectKey("elsewhere", "web")).count() == 0
    take(census, by_hand, None)
    assert census.of_form(WEB).count() == 2
    assert census.of(SHOP).count() == 1


def test_a_node_that_changes_its_form_is_counted_once() -> None:
    census, before = FleetCounts(), of_hub("acme-web")
    after = replace(before, spec=replace(before.spec, template_ref="db"))
    take(census, None, before)
    take(census, before, after)
    assert census.of_form(WEB).count() == 0
    assert census.of_form(ObjectKey("shop", "db")).count() == 1
    assert census.of(SHOP).count() == 1
