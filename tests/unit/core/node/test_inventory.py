"""Every object that a node answers for, and which of them nobody wants any more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import NodeStatus, ResourceState, ResourceStatus
from lynq.core.node.inventory import InventoryItem, key_of, orphans, parse_key, read_inventory
from lynq.core.node.objects import ObjectRef

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
        applied_resources=tuple(key_of(item, "shop") for item in items),
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
def test_how_a_key_is_written(item: InventoryItem, key: str) -> None:
    assert key_of(item, "shop") == key


@pytest.mark.parametrize(
    ("key", "item"),
    [
        (
            "Deployment/shop/x@web",
            InventoryItem("web", ObjectRef("apps/v1", "Deployment", "shop", "x")),
        ),
        ("Namespace/shop/acme@ns", InventoryItem("ns", ObjectRef("v1", "Namespace", "", "acme"))),
        ("Namespace/acme@ns", InventoryItem("ns", ObjectRef("v1", "Namespace", "", "acme"))),
        ("Widget/tenant/x@w", InventoryItem("w", ObjectRef("", "Widget", "tenant", "x"))),
        ("HorizontalPodAutoscaler/a/x@h",
         InventoryItem("h", ObjectRef("autoscaling/v2", "HorizontalPodAutoscaler", "a", "x"))),
        ("PodDisruptionBudget/a/x@p",
         InventoryItem("p", ObjectRef("policy/v1", "PodDisruptionBudget", "a", "x"))),
    ],
)  # fmt: skip
def test_what_a_key_of_the_go_operator_means(key: str, item: InventoryItem) -> None:
    assert parse_key(key, "shop") == item


@given(st.text("KNx/@", max_size=12) | st.text(max_size=12))
def test_any_text_is_a_key_or_none(text: str) -> None:
    item = parse_key(text, "shop")
    assert item is None or (item.ref.kind and item.ref.name and "/" not in item.ref.name)


@pytest.mark.parametrize("key", ["", "x", "@", "Kind@id", "a/b/c/d@id", "Kind/@id", "/ns/name@id"])
def test_what_is_no_key(key: str) -> None:
    assert parse_key(key, "shop") is None


@given(st.lists(ITEMS, unique_by=lambda item: item.ref))
def test_what_a_status_says_is_read_back_in_full(items: list[InventoryItem]) -> None:
    known = read_inventory(status_with(*items), "shop", {})
    assert sorted(known, key=repr) == sorted(items, key=repr)


def test_the_namespace_that_the_go_operator_left_unrendered_is_rendered() -> None:
    (item,) = read("Secret/{{ .uid }}-ns/x@s")
    assert item.ref.namespace == "acme-ns"


def test_a_namespace_that_cannot_be_rendered_stays_as_it_is() -> None:
    (item,) = read("Secret/{{ .gone }}/x@s")
    assert item.ref.namespace == "{{ .gone }}"


def test_a_resource_that_was_never_rendered_is_no_object() -> None:
    status = NodeStatus(
        resources=(ResourceStatus(id="x", kind="Secret", name="", state=ResourceState.FAILED),)
    )
    assert read_inventory(status, "shop", {}) == ()


@given(st.lists(ITEMS), st.lists(REFS), st.sets(NAMES))
def test_orphans_are_what_is_not_wanted_by_an_entry_that_could_be_rendered(
    items: list[InventoryItem], wanted: list[ObjectRef], unrendered: set[str]
) -> None:
    found = orphans(items, wanted, unrendered)
    assert found == tuple(i for i in items if i.ref not in wanted and i.id not in unrendered)


def test_another_version_of_the_group_is_the_same_object() -> None:
    old = InventoryItem(
        "h", ObjectRef("autoscaling/v2beta2", "HorizontalPodAutoscaler", "shop", "x")
    )
    assert orphans([old], [old.ref._replace(api_version="autoscaling/v2")], ()) == ()


def test_another_group_is_another_object() -> None:
    old = InventoryItem("i", ObjectRef("extensions/v1", "Ingress", "shop", "x"))
    assert orphans([old], [old.ref._replace(api_version="networking.k8s.io/v1")], ()) == (old,)


@pytest.mark.parametrize("namespace", ["shop", ""])
def test_a_custom_kind_of_the_go_operator_is_kept_while_its_name_is_wanted(namespace: str) -> None:
    wanted = ObjectRef("acme.io/v1", "Widget", namespace, "x")
    assert orphans(read("Widget/shop/x@w"), [wanted], ()) == ()
    assert len(orphans(read("Widget/shop/y@w"), [wanted], ())) == 1
