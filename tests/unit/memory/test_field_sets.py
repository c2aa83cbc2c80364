"""The arithmetic of field ownership, where the contract with the real server is too coarse."""

from typing import Any

import pytest

from memory.field_sets import compare, decoded, fields_of, merged, named_members, without
from memory.field_types import built_in_type, custom_type

DEPLOYMENT = built_in_type("Deployment")
CONFIG_MAP = built_in_type("ConfigMap")
FREE = custom_type({"properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}})


def pod(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


def test_inner_fields_of_a_schema_are_no_members() -> None:
    assert fields_of({"data": {"a": "1"}}, CONFIG_MAP).encoded() == {"f:data": {"f:a": {}}}


def test_inner_fields_without_a_schema_are_members() -> None:
    fields = fields_of({"spec": {"a": {"b": 1}}}, FREE)
    assert fields.encoded() == {"f:spec": {"f:a": {".": {}, "f:b": {}}}}


def test_items_are_identified_by_keys_with_defaults() -> None:
    fields = fields_of(pod({"name": "web", "ports": [{"containerPort": 80}]}), DEPLOYMENT)
    (port,) = [path for path in fields.paths() if path.endswith('"TCP"]')]
    assert port == (
        '.spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]'
    )


def test_encoded_fields_are_decoded() -> None:
    fields = fields_of(pod({"name": "web", "image": "nginx"}), DEPLOYMENT)
    assert decoded(fields.encoded()) == fields


def test_field_that_appears_is_added_with_its_inner_fields() -> None:
    change = compare({}, {"data": {"a": "1"}}, CONFIG_MAP)
    assert change.added.encoded() == {"f:data": {".": {}, "f:a": {}}}
    assert not change.modified
    assert not change.removed


def test_only_the_difference_is_modified() -> None:
    change = compare({"data": {"a": "1", "b": "1"}}, {"data": {"a": "2", "c": "1"}}, CONFIG_MAP)
    assert list(change.modified.paths()) == [".data.a"]
    assert list(change.added.paths()) == [".data.c"]
    assert list(change.removed.paths()) == [".data.b"]


def test_atomic_map_is_one_field() -> None:
    before = {"spec": {"selector": {"matchLabels": {"app": "a"}}}}
    after = {"spec": {"selector": {"matchLabels": {"app": "b"}}}}
    assert list(compare(before, after, DEPLOYMENT).modified.paths()) == [".spec.selector"]


def test_removed_item_takes_its_unowned_fields() -> None:
    obj = pod({"name": "web", "image": "nginx", "resources": {}}, {"name": "beside"})
    fields = fields_of(pod({"name": "web", "image": "nginx"}), DEPLOYMENT)
    item = decoded(
        {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}}}}}}}
    )
    assert without(obj, fields & item, DEPLOYMENT) == pod({"name": "beside"})


def test_named_inner_fields_become_members() -> None:
    fields = named_members(fields_of({"data": {"a": "1"}}, CONFIG_MAP), CONFIG_MAP)
    assert fields.encoded() == {"f:data": {".": {}, "f:a": {}}}


@pytest.mark.parametrize(
    ("live", "config", "result"),
    [
        ("AB", "BA", "BA"),
        ("AB", "C", "ABC"),
        ("ABC", "CA", "BCA"),
        ("AB", "CB", "ACB"),
        ("", "BA", "BA"),
    ],
)
def test_order_of_the_manifest_wins(live: str, config: str, result: str) -> None:
    def items(names: str) -> dict[str, Any]:
        return pod(*({"name": name} for name in names))

    assert merged(items(live), items(config), DEPLOYMENT) == items(result)
