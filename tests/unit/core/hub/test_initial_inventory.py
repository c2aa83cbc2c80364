"""The annotation of a new node that lists its objects, and who reads it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from lynq.api import LynqForm, LynqNode, NodeStatus, ResourceState, ResourceStatus, TResource
from lynq.api.initial_inventory import (
    MAX_LENGTH,
    InitialObject,
    initial_inventory,
    initial_objects,
)
from lynq.api.installation_key import InstallationKey
from lynq.api.names import ANNOTATION_INITIAL_INVENTORY
from lynq.api.resource import all_resources
from lynq.core.form.retained import without_unlisted
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues
from lynq.core.node.inventory import InventoryItem, inventory_of, read_records
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import variables_of
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub, resource

KEY = InstallationKey(b"k" * 32)
TEXTS = st.text("ab-.{}/ ", max_size=6) | st.text(max_size=6)
TEMPLATES = st.sampled_from(
    [
        "",
        "static",
        "{{ .uid }}",
        "{{ .x }}",
        "{{ .missing }}",
        "{{ .host }}",
        "{{ randAlpha 4 }}",
        "{{ now | date `2006` }}",
        "{{ .x",
    ]
)
LISTED = ResourceStatus(
    id="app", api_version="v1", kind="ConfigMap", name="acme", state=ResourceState.READY
)


def desired(form: LynqForm, row: ARow | None = None, refused: dict[str, str] | None = None) -> Any:
    values = RowValues.of(row or ARow("acme"))
    return DesiredNode(a_hub(), form, values, KEY, refused or {})


def objects_of(*resources: TResource, **more: Any) -> tuple[InitialObject, ...]:
    return initial_objects(desired(a_form("web", *resources), **more).new(NOON))


def config_map(**fields: Any) -> TResource:
    body = {"apiVersion": "v1", "kind": "ConfigMap"}
    return resource(**{"name_template": "{{ .uid }}", "spec": body, **fields})


def new_node() -> LynqNode:
    node: LynqNode = desired(a_form("web", config_map())).new(NOON)
    return node


def test_new_node_lists_its_objects() -> None:
    assert objects_of(config_map()) == (InitialObject("app", "v1", "ConfigMap", "prod", "acme"),)
    [moved] = objects_of(config_map(target_namespace="ns-{{ .uid }}"))
    assert moved.namespace == "ns-acme"


def test_namespace_has_no_namespace() -> None:
    body = {"apiVersion": "v1", "kind": "Namespace"}
    [namespace] = objects_of(config_map(spec=body, target_namespace="{{ .uid }}"))
    assert namespace == InitialObject("app", "v1", "Namespace", "", "acme")


@pytest.mark.parametrize(
    "fields",
    [
        {"name_template": ""},
        {"spec": {"apiVersion": "v1", "kind": "{{ .uid }}"}},
        {"spec": {"apiVersion": "apps/v1", "kind": "ConfigMap"}},
        {"spec": {"apiVersion": "example.com/v1", "kind": "Widget"}},
        {"target_namespace": "{{ randAlpha 4 }}"},
        {"target_namespace": "{{ .missing.field }}"},
        {"target_namespace": "{{ .uid"},
    ],
)
def test_object_whose_place_is_unknown_is_left_out(fields: dict[str, Any]) -> None:
    assert objects_of(config_map(**fields)) == ()


@pytest.mark.parametrize("text", ["a/b", "..", "", "A", "a b", "a" * 254, "{{"])
def test_object_that_cannot_exist_is_left_out(text: str) -> None:
    row = ARow("acme", {"x": text})
    assert objects_of(config_map(name_template="{{ .x }}."), row=row) == ()
    assert objects_of(config_map(target_namespace="{{ .x }}"), row=row) == ()
    node = new_node()
    entry = ["app", "v1", "ConfigMap", "prod", text]
    node.metadata.annotations[ANNOTATION_INITIAL_INVENTORY] = json.encode([entry]).decode()
    assert initial_objects(node) == ()


def test_namespace_has_no_dots() -> None:
    row = ARow("acme", {"x": "a.b"})
    assert objects_of(config_map(target_namespace="{{ .x }}"), row=row) == ()
    assert objects_of(config_map(name_template="{{ .x }}"), row=row) != ()
    assert objects_of(config_map(target_namespace="n" * 63)) != ()
    assert objects_of(config_map(target_namespace="n" * 64)) == ()


def test_refused_resource_is_left_out() -> None:
    assert objects_of(config_map(name_template="static"), refused={"app": "denied"}) == ()


def test_annotation_has_a_limit() -> None:
    def annotation(length: int) -> dict[str, str]:
        return initial_inventory([InitialObject("a" * length, "v1", "ConfigMap", "prod", "acme")])

    (text,) = annotation(0).values()
    longest = MAX_LENGTH - len(text)
    assert [len(text) for text in annotation(longest).values()] == [MAX_LENGTH]
    assert annotation(longest + 1) == {}
    assert initial_inventory([]) == {}


@given(st.lists(st.tuples(TEMPLATES, TEMPLATES), max_size=4), TEXTS)
def test_listed_objects_are_those_that_the_node_renders(
    templates: list[tuple[str, str]], value: str
) -> None:
    resources = [
        config_map(id=f"r{number}", name_template=f"n{number}-{name}", target_namespace=namespace)
        for number, (name, namespace) in enumerate(templates)
        if "missing" not in name and name != "{{ .x"
    ]
    form, row = a_form("web", *resources), ARow("acme", {"x": value}, host_or_url="https://h")
    node: LynqNode = desired(form, row).new(NOON)
    renderer = Renderer.of(node, variables_of(node), KEY)
    refs = {}
    for each in all_resources(node.spec):
        try:
            refs[each.id] = renderer.render(each, namespaced=True).ref
        except RenderError:
            continue
    for listed in initial_objects(node):
        assert refs[listed.id] == ObjectRef(*listed[1:])


def test_node_reads_the_annotation_until_its_status_lists_objects() -> None:
    node = new_node()
    ref = ObjectRef("v1", "ConfigMap", "prod", "acme")
    [item] = inventory_of(node, {})
    assert item == InventoryItem("app", ref, is_listed=False)
    assert read_records(node.status, [item]) == {}
    reported = replace(node, status=NodeStatus(resources=(LISTED,)))
    [item] = inventory_of(reported, {})
    assert item.is_listed
    migrated = replace(node, status=NodeStatus(applied_resources=("Secret/prod/x@s",)))
    assert [item.id for item in inventory_of(migrated, {})] == ["s"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "{}",
        "[1]",
        '[["app"]]',
        '[["app","v1","Namespace","prod","acme"]]',
        '[["app","v1","Namespace","","a/b"]]',
    ],
)
def test_edited_annotation_lists_nothing(text: str) -> None:
    node = new_node()
    node.metadata.annotations[ANNOTATION_INITIAL_INVENTORY] = text
    assert initial_objects(node) == ()


def test_update_keeps_the_annotation_until_the_status_lists_objects() -> None:
    node, update = new_node(), desired(a_form("web"))
    assert ANNOTATION_INITIAL_INVENTORY in update.updated(node, NOON).metadata.annotations
    reported = replace(node, status=NodeStatus(resources=(LISTED,)))
    assert ANNOTATION_INITIAL_INVENTORY not in update.updated(reported, NOON).metadata.annotations


def test_retained_id_stays_while_a_new_node_may_have_its_object() -> None:
    removed = replace(a_form("web").spec, config_maps=())
    assert without_unlisted(frozenset({"app"}), removed, [new_node()]) == {"app"}
    reported = replace(new_node(), status=NodeStatus(resources=(replace(LISTED, id="other"),)))
    assert without_unlisted(frozenset({"app"}), removed, [reported]) == frozenset()
