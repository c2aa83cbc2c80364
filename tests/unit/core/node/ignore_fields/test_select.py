"""Fields that paths select: left out of an object, and named as in managedFields."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.node.ignore_fields.keep import keep_live
from lynq.core.node.ignore_fields.parse import parse_path
from lynq.core.node.ignore_fields.select import (
    selected_fields,
    subtract_fields,
    without_fields,
)
from unit.core.node.ignore_fields.test_keep import BY_KEY, OBJECTS, PATHS, WITH_UNIQUE_KEYS

POD: dict[str, Any] = {
    "replicas": 1,
    "containers": [
        {"name": "main", "image": "a", "ports": [{"containerPort": 80}]},
        {"name": "side", "image": "b", "args": ["x", "y"]},
    ],
}
MAIN, SIDE = 'k:{"name":"main"}', 'k:{"name":"side"}'
FIELD_NAMES = st.sampled_from([".", "f:a", "f:b", MAIN])
TREES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(FIELD_NAMES, inner, max_size=3), max_leaves=10
)


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        ("$.replicas", {"containers": POD["containers"]}),
        ("$.absent.field", POD),
        ("$.replicas.field", POD),
        ("$.containers[*]", {"replicas": 1, "containers": []}),
        ("$.containers[0]", {"replicas": 1, "containers": [POD["containers"][1]]}),
        ("$.containers[-1:]", {"replicas": 1, "containers": [POD["containers"][0]]}),
        ("$.containers[?(@.name=='side')]", {"replicas": 1, "containers": [POD["containers"][0]]}),
        ("$..*", {}),
        ("$", POD),
    ],
)
def test_selected_fields_are_left_out(path: str, rest: dict[str, Any]) -> None:
    assert without_fields(POD, [parse_path(path)]) == rest


@pytest.mark.parametrize(
    ("path", "tree"),
    [
        ("$.replicas", {"f:replicas": {}}),
        ("$.absent", {"f:absent": {}}),
        ("$.absent.field", {}),
        ("$.containers[*].image", {"f:containers": {MAIN: {"f:image": {}}, SIDE: {"f:image": {}}}}),
        ("$.containers[1].image", {"f:containers": {SIDE: {"f:image": {}}}}),
        ("$.containers[?(@.name=='main')]", {"f:containers": {MAIN: {}}}),
        (
            "$.containers[0].ports[0].name",
            {
                "f:containers": {
                    MAIN: {"f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:name": {}}}}
                }
            },
        ),
        ("$.containers[1].args[0]", {}),
        ("$['replicas','containers']", {"f:replicas": {}, "f:containers": {}}),
    ],
)
def test_selected_fields_are_named_as_in_managed_fields(path: str, tree: dict[str, Any]) -> None:
    assert selected_fields(POD, [parse_path(path)]) == tree


def test_whole_field_covers_its_inner_fields() -> None:
    for texts in (("$.a", "$.a.b"), ("$.a.b", "$.a")):
        paths = [parse_path(text) for text in texts]
        assert selected_fields({"a": {"b": 1}}, paths) == {"f:a": {}}


@pytest.mark.parametrize(
    ("owned", "ignored", "rest"),
    [
        ({"f:a": {}, "f:b": {}}, {"f:a": {}}, {"f:b": {}}),
        ({"f:a": {"f:b": {}, "f:c": {}}}, {"f:a": {"f:b": {}}}, {"f:a": {"f:c": {}}}),
        # The map itself is owned only as long as it has a field of ours.
        ({"f:a": {".": {}, "f:b": {}}}, {"f:a": {"f:b": {}}}, {}),
        # A list or map that is owned as a whole is more than its ignored part.
        ({"f:a": {}}, {"f:a": {"f:b": {}}}, {"f:a": {}}),
    ],
)
def test_ignored_fields_are_subtracted(
    owned: dict[str, Any], ignored: dict[str, Any], rest: dict[str, Any]
) -> None:
    assert subtract_fields(owned, ignored) == rest


@given(TREES, TREES)
def test_subtraction_is_complete_and_adds_nothing(
    owned: dict[str, Any], ignored: dict[str, Any]
) -> None:
    rest = subtract_fields(owned, ignored)
    assert subtract_fields(rest, ignored) == rest
    assert subtract_fields(owned, {}) == owned
    assert rest.keys() <= owned.keys()
    assert not rest.keys() & {name for name, inner in ignored.items() if not inner}


@given(OBJECTS, st.lists(PATHS, max_size=2))
def test_object_is_not_modified(obj: dict[str, Any], texts: list[str]) -> None:
    before, paths = deepcopy(obj), [parse_path(text) for text in texts]
    without_fields(obj, paths)
    selected_fields(obj, paths)
    assert obj == before


NAMED = st.sampled_from(["$.a", "$.a.b", "a.b.name", "$.*", "$['a','b']"])


@given(WITH_UNIQUE_KEYS, WITH_UNIQUE_KEYS, NAMED)
def test_live_values_of_ignored_fields_do_not_change_the_rest(
    desired: dict[str, Any], live: dict[str, Any], text: str
) -> None:
    paths = [parse_path(text)]
    kept = without_fields(keep_live(desired, live, paths), paths)
    expected = without_fields(desired, paths)
    # A map that only the live object has is created for its ignored fields.
    assert {key: value for key, value in kept.items() if value != {}} == {
        key: value for key, value in expected.items() if value != {}
    }


@given(WITH_UNIQUE_KEYS, BY_KEY)
def test_object_without_ignored_fields_stays_the_same(obj: dict[str, Any], text: str) -> None:
    paths = [parse_path(text)]
    once = without_fields(obj, paths)
    assert without_fields(once, paths) == once
