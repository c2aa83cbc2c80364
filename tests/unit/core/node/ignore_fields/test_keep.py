"""How the live values of ignored fields get into the wanted object."""

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
TOLD_APART = st.dictionaries(
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


def kept(path: str, wanted: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    return keep_live(wanted, live, [parse_path(path)])


@pytest.mark.parametrize(
    ("path", "wanted", "live", "result"),
    [
        pytest.param("$.a.b", {"a": {"b": 1}}, {"a": {"b": 5}}, {"a": {"b": 5}}, id="copied"),
        pytest.param("a.b", {"a": {"b": 1}}, {"a": {}}, {"a": {}}, id="not live, not wanted"),
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
def test_plain_fields(
    path: str, wanted: dict[str, Any], live: dict[str, Any], result: dict[str, Any]
) -> None:
    assert kept(path, wanted, live) == result


def pod(**images: Any) -> dict[str, Any]:
    return {"containers": [{"name": name, "resources": value} for name, value in images.items()]}


def test_each_container_keeps_its_own_value() -> None:
    wanted, live = pod(web=1, log=2), pod(web=10, log=20)
    assert kept("$.containers[*].resources", wanted, live) == live


def test_items_are_matched_by_name_wherever_they_are() -> None:
    wanted, live = pod(web=1, log=2), pod(injected=9, log=20, web=10)
    assert kept("containers[*].resources", wanted, live) == pod(web=10, log=20)
    assert kept("containers[0].resources", wanted, live) == pod(web=10, log=2)


def test_a_container_that_is_not_live_yet_is_created_as_its_manifest_says() -> None:
    wanted, live = pod(web=1, new=2), pod(web=10)
    assert kept("containers[*].resources", wanted, live) == pod(web=10, new=2)


def test_a_filter_names_one_item() -> None:
    wanted, live = pod(web=1, log=2), pod(log=20, web=10)
    assert kept("containers[?(@.name=='log')].resources", wanted, live) == pod(web=1, log=20)


def test_a_whole_item_named_by_a_filter_comes_and_goes_with_the_live_one() -> None:
    path = "containers[?(@.name=='side')]"
    assert kept(path, pod(web=1), pod(web=10, side=5)) == pod(web=1, side=5)
    assert kept(path, pod(web=1, side=5), pod(web=10)) == pod(web=1)


def test_ports_are_matched_by_number_and_protocol() -> None:
    wanted = {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}
    live = {
        "ports": [
            {"port": 80, "protocol": "UDP", "nodePort": 2},
            {"port": 80, "protocol": "TCP", "nodePort": 1},
        ]
    }
    assert kept("ports[*].nodePort", wanted, live) == {
        "ports": [{"port": 80, "nodePort": 1}, {"port": 80, "protocol": "UDP", "nodePort": 2}]
    }


def test_items_without_distinct_keys_are_matched_by_position() -> None:
    wanted = {"env": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]}
    live = {"env": [{"name": "b", "v": 5}, {"name": "a", "v": 6}]}
    assert kept("env[*].v", wanted, live) == {"env": [{"name": "a", "v": 5}, {"name": "a", "v": 6}]}


@given(OBJECTS, OBJECTS, PATHS)
def test_neither_input_is_touched_nor_shared(
    wanted: dict[str, Any], live: dict[str, Any], path: str
) -> None:
    before = deepcopy((wanted, live))
    result = kept(path, wanted, live)
    for value in result.values():
        if isinstance(value, dict | list):
            value.clear()
    assert (wanted, live) == before


@given(TOLD_APART, TOLD_APART, BY_KEY)
def test_keeping_again_changes_nothing(
    wanted: dict[str, Any], live: dict[str, Any], path: str
) -> None:
    once = kept(path, wanted, live)
    assert kept(path, once, live) == once


@given(OBJECTS, PATHS)
def test_what_is_live_as_wanted_stays(wanted: dict[str, Any], path: str) -> None:
    assert kept(path, wanted, wanted) == wanted
