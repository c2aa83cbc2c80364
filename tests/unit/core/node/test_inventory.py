"""The inventory of a node, and which of its items are no longer desired."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import NodeStatus, ResourceState, ResourceStatus, TResource
from lynq.core.node.inventory import (
    InventoryItem,
    inventory_key,
    objects_to_read,
    parse_inventory_key,
    possible_claims,
    read_inventory,
    read_records,
    stale_items,
)
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, ObjectRef

KINDS = st.sampled_from([("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("acme.io/v1", "Widget")])
NAMES = st.sampled_from(["a", "b", "c"])
REFS = st.builds(
    lambda kind, namespace, name: ObjectRef(kind[0], kind[1], namespace, name),
    KINDS,
    st.sampled_from(["shop", "tenant", ""]),
    NAMES,
)
ITEMS = st.builds(InventoryItem, NAMES, REFS)


def status_with(*items: InventoryItem) -> NodeStatus:
    return NodeStatus(
        applied_resources=tuple(inventory_key(item, "shop") for item in items),
        resources=tuple(
            ResourceStatus(
                id=item.id,
                api_version=item.ref.api_version,
                kind=item.ref.kind,
                namespace=item.ref.namespace,
                name=item.ref.name,
                state=ResourceState.READY,
            )
            for item in items
        ),
    )


def read(*keys: str) -> tuple[InventoryItem, ...]:
    return read_inventory(NodeStatus(applied_resources=keys), "shop", {"uid": "acme"})


@pytest.mark.parametrize(
    ("item", "key"),
    [
        (
            InventoryItem("web", ObjectRef("apps/v1", "Deployment", "shop", "x")),
            "Deployment/shop/x@web",
        ),
        (InventoryItem("ns", ObjectRef("v1", "Namespace", "", "acme")), "Namespace/shop/acme@ns"),
        (InventoryItem("w", ObjectRef("a.io/v1", "Widget", "tenant", "x")), "Widget/tenant/x@w"),
    ],
)
def test_key_has_kind_namespace_name_and_id(item: InventoryItem, key: str) -> None:
    assert inventory_key(item, "shop") == key


@pytest.mark.parametrize(
    ("key", "item"),
    [
        (
            "Deployment/shop/x@web",
            InventoryItem("web", ObjectRef("apps/v1", "Deployment", "shop", "x")),
        ),
        ("Namespace/shop/acme@ns", InventoryItem("ns", ObjectRef("v1", "Namespace", "", "acme"))),
        ("Namespace/acme@ns", InventoryItem("ns", ObjectRef("v1", "Namespace", "", "acme"))),
        ("ClusterRole/x@r", InventoryItem("r", ObjectRef("", "ClusterRole", "", "x"))),
        ("Secret//x@s", InventoryItem("s", ObjectRef("v1", "Secret", "shop", "x"))),
        ("Widget/tenant/x@w", InventoryItem("w", ObjectRef("", "Widget", "tenant", "x"))),
        ("HorizontalPodAutoscaler/a/x@h",
         InventoryItem("h", ObjectRef("autoscaling/v2", "HorizontalPodAutoscaler", "a", "x"))),
        ("PodDisruptionBudget/a/x@p",
         InventoryItem("p", ObjectRef("policy/v1", "PodDisruptionBudget", "a", "x"))),
    ],
)  # fmt: skip
def test_key_of_the_go_operator_is_parsed(key: str, item: InventoryItem) -> None:
    assert parse_inventory_key(key, "shop") == item


@given(st.text("KNx/@", max_size=12) | st.text(max_size=12))
def test_any_text_parses_to_an_item_or_none(text: str) -> None:
    item = parse_inventory_key(text, "shop")
    assert item is None or (item.ref.kind and item.ref.name and "/" not in item.ref.name)


@pytest.mark.parametrize("key", ["", "x", "@", "Kind@id", "a/b/c/d@id", "Kind/@id", "/ns/name@id"])
def test_malformed_key_is_ignored(key: str) -> None:
    assert parse_inventory_key(key, "shop") is None


@given(st.lists(ITEMS, unique_by=lambda item: item.ref))
def test_inventory_of_a_status_is_complete(items: list[InventoryItem]) -> None:
    inventory = read_inventory(status_with(*items), "shop", {})
    assert sorted(inventory, key=repr) == sorted(items, key=repr)


def test_namespace_template_of_the_go_operator_is_rendered() -> None:
    (item,) = read("Secret/{{ .uid }}-ns/x@s")
    assert item.ref.namespace == "acme-ns"


def test_namespace_template_that_fails_stays_unrendered() -> None:
    (item,) = read("Secret/{{ .gone }}/x@s")
    assert item.ref.namespace == "{{ .gone }}"


def test_resource_that_was_never_rendered_is_not_in_the_inventory() -> None:
    status = NodeStatus(
        resources=(ResourceStatus(id="x", kind="Secret", name="", state=ResourceState.FAILED),)
    )
    assert read_inventory(status, "shop", {}) == ()


def test_record_says_whether_the_object_was_accepted_and_adopted() -> None:
    accepted, listed, adopted, of_go = (
        InventoryItem(name, ObjectRef("v1", "ConfigMap", "shop", name)) for name in "abcd"
    )
    written = {"a": {"fields_digest": "00ff"}, "c": {"fields_digest": "00ff", "adopted_uid": "9"}}
    status = NodeStatus(
        resources=tuple(
            msgspec.structs.replace(entry, **written.get(entry.id, {}))
            for entry in status_with(accepted, listed, adopted).resources
        )
    )
    assert read_records(status, [accepted, listed, adopted, of_go]) == {
        accepted.ref.identity: AppliedRecord(was_applied=True),
        listed.ref.identity: NOT_APPLIED,
        adopted.ref.identity: AppliedRecord(was_applied=True, adopted_uid="9"),
        of_go.ref.identity: AppliedRecord(was_applied=True),
    }


NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "since", "waiting_since", "is_read"),
    [
        (ResourceState.READY, NOW, None, True),
        (ResourceState.CONFLICTED, NOW, NOW, True),
        (ResourceState.WAITING, NOW, None, False),
        (ResourceState.SKIPPED, NOW, None, False),
        (ResourceState.WAITING, NOW, NOW - timedelta(seconds=1), False),
        (ResourceState.WAITING, NOW, NOW, True),
        (ResourceState.SKIPPED, NOW, NOW + timedelta(seconds=1), True),
        (ResourceState.WAITING, None, NOW, False),
    ],
)
def test_object_is_read_if_it_was_applied_or_has_waited_for_long(
    state: ResourceState, since: datetime | None, waiting_since: datetime | None, *, is_read: bool
) -> None:
    item = InventoryItem("a", ObjectRef("v1", "ConfigMap", "shop", "x"))
    (entry,) = status_with(item).resources
    status = NodeStatus(resources=(msgspec.structs.replace(entry, state=state, since=since),))
    read = objects_to_read(status, [item], waiting_since=waiting_since)
    assert read == ({item.ref.identity} if is_read else set())


def test_object_that_no_status_lists_is_not_read() -> None:
    item = InventoryItem("a", ObjectRef("v1", "ConfigMap", "shop", "x"), is_listed=False)
    assert objects_to_read(NodeStatus(), [item]) == set()


@given(st.lists(ITEMS), st.lists(REFS))
def test_stale_items_are_not_desired(items: list[InventoryItem], desired: list[ObjectRef]) -> None:
    stale = stale_items(items, desired)
    assert stale == tuple(item for item in items if item.ref not in desired)


def test_other_version_of_the_group_is_the_same_object() -> None:
    old = InventoryItem(
        "h", ObjectRef("autoscaling/v2beta2", "HorizontalPodAutoscaler", "shop", "x")
    )
    assert stale_items([old], [old.ref._replace(api_version="autoscaling/v2")]) == ()


def test_other_group_is_another_object() -> None:
    old = InventoryItem("i", ObjectRef("extensions/v1", "Ingress", "shop", "x"))
    assert stale_items([old], [old.ref._replace(api_version="networking.k8s.io/v1")]) == (old,)


@pytest.mark.parametrize("namespace", ["shop", ""])
def test_custom_kind_of_the_go_operator_is_not_stale_while_its_name_is_desired(
    namespace: str,
) -> None:
    desired = ObjectRef("acme.io/v1", "Widget", namespace, "x")
    assert stale_items(read("Widget/shop/x@w"), [desired]) == ()
    assert len(stale_items(read("Widget/shop/y@w"), [desired])) == 1


def unresolved_resource(kind: str = "Widget", name: str = "x") -> TResource:
    return TResource(id="renamed", spec={"kind": kind}, name_template=name)


@pytest.mark.parametrize(
    ("resource", "is_claimed"),
    [
        (unresolved_resource(), True),
        (unresolved_resource(name=""), True),
        (unresolved_resource(kind="{{ .kind }}"), True),
        (unresolved_resource(name="y"), False),
        (unresolved_resource(kind="ConfigMap"), False),
    ],
)
def test_unresolved_resource_may_claim_an_item_of_its_kind_and_name(
    resource: TResource, *, is_claimed: bool
) -> None:
    item = InventoryItem("old", ObjectRef("acme.io/v1", "Widget", "shop", "x"))
    claims = possible_claims([item], [resource])
    assert claims == ({item: "renamed"} if is_claimed else {})
