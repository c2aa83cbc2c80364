"""The census: how many nodes each hub has, whatever order changes come in."""

from msgspec.structs import replace

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.census import Census, hub_of
from unit.node.nodes import a_node

SHOP = ObjectKey("shop", "hub")


def of_hub(name: str, hub: str = "hub") -> LynqNode:
    node = a_node(name=name)
    return replace(node, metadata=replace(node.metadata, labels={"lynq.sh/hub": hub}))


def take(census: Census, old: LynqNode | None, new: LynqNode | None) -> None:
    node = new or old
    assert node is not None
    census.take(node.metadata.key, old, new)


def test_nodes_come_and_go() -> None:
    census, one, two = Census(), of_hub("acme-web"), of_hub("beta-web")
    take(census, None, one)
    take(census, None, two)
    assert census.of(SHOP).count() == 2
    take(census, one, None)
    assert census.of(SHOP).count() == 1


def test_a_hub_nobody_knows_has_none() -> None:
    assert Census().of(SHOP).count() == 0


def test_a_node_that_changes_its_hub_is_counted_once() -> None:
    census, before, after = Census(), of_hub("acme-web"), of_hub("acme-web", "other")
    take(census, None, before)
    take(census, before, after)
    assert census.of(SHOP).count() == 0
    assert census.of(ObjectKey("shop", "other")).count() == 1


def test_a_node_without_label_belongs_to_no_hub() -> None:
    assert hub_of(a_node()) is None
    assert hub_of(None) is None
