"""keep_live copies the live values of ignored fields into the desired object."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.ignore_fields.keep import keep_live
from lynq.core.node.ignore_fields.parse import parse_path

KEYS = st.sampled_from(["a", "b", "name", "ports"])
JSON = st.recursive(
    st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=15,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)
NAMES = st.sampled_from(["x", "y", "z"])
# Not by position: an item that is taken out makes another one the first.
WITH_UNIQUE_KEYS = st.dictionaries(
    st.sampled_from(["a", "b", "name"]),
    st.recursive(
        st.integers(0, 3),
        lambda inner: (
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=3)
            | st.lists(
                st.fixed_dictionaries({"name": NAMES}, optional={"a": inner, "b": inner}),
                max_size=3,
                unique_by=lambda item: str(item["name"]),
            )
        ),
        max_leaves=15,
    ),
    max_size=3,
)
BY_KEY = st.sampled_from(
    [
        "$.a",
        "$.a.b",
        "a.b.name",
        "$..name",
        "$.a[*]",
        "$.a[*].b",
        "$.*",
        "$.a[?(@.name=='x')]",
        "$.a[?(@.name=='x')].b",
    ]
)
PATHS = BY_KEY | st.sampled_from(
    ["$..[0]", "$..*", "a[0]", "a[1:]", "$.*[?@==1]", "$['a','b'][-1]"]
)


def kept(path: str, desired: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    return keep_live(desired, live, [parse_path(path)])


@pytest.mark.parametrize(
    ("path", "desired", "live", "result"),
    [
        pytest.param("$.a.b", {"a": {"b": 1}}, {"a": {"b": 5}}, {"a": {"b": 5}}, id="copied"),
        pytest.param("a.b", {"a": {"b": 1}}, {"a": {}}, {"a": {}}, id="absent live field"),
        pytest.param("a.b", {"a": {"b": 1}}, {}, {"a": {}}, id="its parent is not live"),
        pytest.param("a.b", {}, {"a": {"b": 5, "c": 1}}, {"a": {"b": 5}}, id="path is created"),
        pytest.param("a.b.c", {}, {"a": {"d": 5}}, {}, id="no empty path is created"),
        pytest.param("a", {"a": 1}, {"a": None}, {"a": None}, id="null is a value"),
        pytest.param("a.b", {"a": 7}, {"a": {"b": 5}}, {"a": 7}, id="other shape is left"),
        pytest.param("", {"a": 1}, {"a": 2}, {"a": 1}, id="the empty path names nothing"),
        pytest.param(
            "$..b", {"b": 1, "a": {"b": 1, "c": 1}}, {"b": 2, "a": {"b": 3}},
            {"b": 2, "a": {"b": 3, "c": 1}}, id="at every depth",
        ),
        pytest.param("a.*", {"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"y": 2}}, id="all keys"),
        pytest.param("a[1]", {"a": [1, 2]}, {"a": [5, 6, 7]}, {"a": [1, 6]}, id="an index"),
        pytest.param("a[-1]", {"a": [1, 2]}, {"a": [5, 6, 7]}, {"a": [1, 6]}, id="from the end"),
        pytest.param("a[1]", {"a": [1, 2]}, {"a": [5]}, {"a": [1]}, id="live list is shorter"),
        pytest.param("a[5].b", {"a": [{}]}, {"a": [{}] * 9}, {"a": [{}]}, id="no nulls"),
        pytest.param("a[5]", {"a": [1]}, {"a": list(range(9))}, {"a": [1]}, id="nor at the end"),
        pytest.param("a[:1]", {"a": [1, 2]}, {"a": [5, 6]}, {"a": [5, 2]}, id="a slice"),
        pytest.param("a[*]", {"a": [1, 2]}, {"a": [5, 6, 7]}, {"a": [5, 6, 7]}, id="all items"),
        pytest.param("a[*].b", {}, {"a": [{"b": 1}]}, {}, id="no list is created"),
    ],
)  # fmt: skip
def test_field_gets_its_live_value(
    path: str, desired: dict[str, Any], live: dict[str, Any], result: dict[str, Any]
) -> None:
    assert kept(path, desired, live) == result


def pod(**images: Any) -> dict[str, Any]:
    return {"containers": [{"name": name, "resources": value} for name, value in images.items()]}


def test_every_container_gets_its_own_live_value() -> None:
    desired, live = pod(web=1, log=2), pod(web=10, log=20)
    assert kept("$.containers[*].resources", desired, live) == live


def test_items_are_matched_by_name_at_any_position() -> None:
    desired, live = pod(web=1, log=2), pod(injected=9, log=20, web=10)
    assert kept("containers[*].resources", desired, live) == pod(web=10, log=20)
    assert kept("containers[0].resources", desired, live) == pod(web=10, log=2)


def test_container_that_is_not_live_is_created_from_the_manifest() -> None:
    desired, live = pod(web=1, new=2), pod(web=10)
    assert kept("containers[*].resources", desired, live) == pod(web=10, new=2)


def test_filter_selects_one_item() -> None:
    desired, live = pod(web=1, log=2), pod(log=20, web=10)
    assert kept("containers[?(@.name=='log')].resources", desired, live) == pod(web=1, log=20)


def test_item_selected_as_a_whole_follows_the_live_one() -> None:
    path = "containers[?(@.name=='side')]"
    assert kept(path, pod(web=1), pod(web=10, side=5)) == pod(web=1, side=5)
    assert kept(path, pod(web=1, side=5), pod(web=10)) == pod(web=1)


def test_ports_are_matched_by_number_and_protocol() -> None:
    desired = {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}
    live = {
        "ports": [
            {"port": 80, "protocol": "UDP", "nodePort": 2},
            {"port": 80, "protocol": "TCP", "nodePort": 1},
        ]
    }
    assert kept("ports[*].nodePort", desired, live) == {
        "ports": [{"port": 80, "nodePort": 1}, {"port": 80, "protocol": "UDP", "nodePort": 2}]
    }


def test_items_without_distinct_keys_are_matched_by_position() -> None:
    desired = {"env": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}
    live = {"env": [{"name": "b", "v": 5}, {"name": "a", "v": 6}]}
    assert kept("env[*].v", desired, live) == {
        "env": [{"name": "a", "v": 5}, {"name": "a", "v": 6}]
    }


@given(OBJECTS, OBJECTS, PATHS)
def test_inputs_are_neither_modified_nor_shared(
    desired: dict[str, Any], live: dict[str, Any], path: str
) -> None:
    before = deepcopy((desired, live))
    result = kept(path, desired, live)
    for value in result.values():
        if isinstance(value, dict | list):
            value.clear()
    assert (desired, live) == before


@given(WITH_UNIQUE_KEYS, WITH_UNIQUE_KEYS, BY_KEY)
def test_keep_live_is_idempotent(desired: dict[str, Any], live: dict[str, Any], path: str) -> None:
    once = kept(path, desired, live)
    assert kept(path, once, live) == once


@given(OBJECTS, PATHS)
def test_equal_live_object_changes_nothing(desired: dict[str, Any], path: str) -> None:
    assert kept(path, desired, desired) == desired
