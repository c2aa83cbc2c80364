"""The fields in which two versions of an object differ."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.core.plan.fields import CHANGED, FieldChange, field_changes

NAMES = st.sampled_from(["a", "b", "app.kubernetes.io/name", "name", "spec"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.fixed_dictionaries({"spec": VALUES, "metadata": st.dictionaries(NAMES, VALUES)})


def paths(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[str]:
    return [change.path for change in field_changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2}, [FieldChange("a", 1, 2)]),
        ({"a": {"b": 1}}, {"a": {}}, [FieldChange("a.b", 1, None)]),
        (None, {"a": {"b": 1}}, [FieldChange("a.b", None, 1)]),
        (
            {"a": [1, 2]},
            {"a": [1, 3, 4]},
            [FieldChange("a[1]", 2, 3), FieldChange("a[2]", None, 4)],
        ),
        (
            {"c": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]},
            {"c": [{"name": "y", "v": 2}, {"name": "x", "v": 1}]},
            [FieldChange("c[name=y].v", 1, 2)],
        ),
        (
            {"metadata": {"labels": {"a.b/c": "1"}}},
            {"metadata": {"labels": {"a.b/c": "2"}}},
            [FieldChange("metadata.labels[a.b/c]", "1", "2")],
        ),
        ({"status": {"a": 1}}, {"status": {"a": 2}}, []),
        ({"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "2"}}, []),
    ],
)
def test_changed_fields_have_path_and_values(
    before: dict[str, Any] | None, after: dict[str, Any] | None, expected: list[FieldChange]
) -> None:
    assert list(field_changes(before, after)) == expected


@given(OBJECTS)
def test_equal_objects_have_no_changes(obj: dict[str, Any]) -> None:
    assert field_changes(obj, json.loads(json.dumps(obj))) == ()


@given(OBJECTS, OBJECTS)
def test_reverse_change_has_the_same_fields(before: dict[str, Any], after: dict[str, Any]) -> None:
    forward = {
        change.path: (change.before, change.after) for change in field_changes(before, after)
    }
    back = {change.path: (change.after, change.before) for change in field_changes(after, before)}
    assert forward == back


@given(st.dictionaries(NAMES, st.text(min_size=5)), st.dictionaries(NAMES, st.text(min_size=5)))
def test_values_of_secrets_are_never_shown(old: dict[str, str], new: dict[str, str]) -> None:
    note = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(new)}}
    before = {"kind": "Secret", "data": old, "stringData": old}
    after = {"kind": "Secret", "data": new, "stringData": new, "metadata": note}
    for change in field_changes(before, after):
        assert {change.before, change.after} <= {None, CHANGED}


def test_labels_and_annotations_of_lynq_are_bookkeeping() -> None:
    annotations = {"lynq.sh/applied-hash": "1", "example.com/note": "1"}
    changes = field_changes({}, {"metadata": {"annotations": annotations}, "spec": {"a": 1}})
    assert [change.path for change in changes if change.is_bookkeeping] == [
        "metadata.annotations[lynq.sh/applied-hash]"
    ]
