"""The applied-hash of a desired object, and the annotations of its write."""

import json
import math
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import CreationPolicy, DeletionPolicy
from lynq.core.node.desired_object import applied_hash, go_json, with_apply_metadata, with_policies
from lynq.core.node.objects import LiveObject
from lynq.core.readiness.rules import evaluate_readiness
from unit.core.node.nodes import NOW, a_resource

HASH = "lynq.sh/applied-hash"
START = "lynq.sh/apply-start-time"

# Python reads whole numbers exactly, Go's shortest form of larger ones has other last digits.
FLOATS = st.floats(min_value=-(2.0**53), max_value=2.0**53)
SCALARS = st.none() | st.booleans() | st.integers() | FLOATS
JSON = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=5)


def golden() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "acme-cfg",
            "namespace": "demo",
            "annotations": {"lynq.sh/deletion-policy": "Delete"},
        },
        "data": {"a": "x<y&z>", "b": "é"},
        "n": 3,
        "f": 1.5,
        "g": 2.0,
        "t": True,
        "z": None,
    }


def written(before: LiveObject | None, now: datetime) -> dict[str, Any]:
    return with_apply_metadata(golden(), applied_hash(golden()), before, now)


def test_hash_equals_the_go_operators() -> None:
    assert applied_hash(golden()) == "ce7bb9564c98dbe5"


def test_hash_with_an_owner_equals_the_go_operators() -> None:
    obj = golden()
    obj["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "operator.lynq.sh/v1",
            "kind": "LynqNode",
            "name": "acme-web",
            "uid": "11111111-2222-3333-4444-555555555555",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert applied_hash(obj) == "72d2bbecf3671483"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [], "é": {}}, '{"a":[],"b":1,"é":{}}'),
        (
            "<&>\u2028\u2029\x7f\x01\n\b\f",
            '"\\u003c\\u0026\\u003e\\u2028\\u2029\x7f\\u0001\\n\\b\\f"',
        ),
        ('"\\/', '"\\"\\\\/"'),
        ("\ud800", '"\\ufffd"'),
        (2.0, "2"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (2.0**67, "147573952589676410000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (5e-324, "5e-324"),
    ],
)
def test_json_is_encoded_as_go_encodes_it(value: object, text: str) -> None:
    assert go_json(value) == text


@given(JSON)
def test_encoded_json_decodes_to_the_same_value(value: object) -> None:
    assert json.loads(go_json(value)) == value


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_infinity_and_nan_are_rejected(value: float) -> None:
    with pytest.raises(ValueError, match="JSON has no"):
        go_json(value)


@given(OBJECTS, st.randoms())
def test_hash_ignores_the_order_of_keys(obj: dict[str, Any], random: Any) -> None:
    keys = list(obj)
    random.shuffle(keys)
    assert applied_hash({key: obj[key] for key in keys}) == applied_hash(obj)


@given(OBJECTS, st.text(), st.text())
def test_hash_ignores_the_annotations_of_the_write(
    obj: dict[str, Any], one: str, other: str
) -> None:
    annotated = {**obj, "metadata": {"annotations": {HASH: one, START: other}}}
    assert applied_hash(annotated) == applied_hash({**obj, "metadata": {}})


@given(OBJECTS, st.text(max_size=5))
def test_hash_changes_with_a_value(obj: dict[str, Any], key: str) -> None:
    assert applied_hash({**obj, key: "another"}) != applied_hash({**obj, key: "value"})


def live(**annotations: str) -> LiveObject:
    prefixed = {f"lynq.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return LiveObject(uid="1", readiness=evaluate_readiness({}), annotations=prefixed)


def test_new_object_starts_its_readiness_timeout() -> None:
    annotations = written(None, NOW)["metadata"]["annotations"]
    assert annotations[HASH] == "ce7bb9564c98dbe5"
    assert annotations[START] == "2026-03-01T12:00:00Z"
    assert annotations["lynq.sh/deletion-policy"] == "Delete"


def test_same_content_keeps_its_start_time() -> None:
    before = live(applied_hash="ce7bb9564c98dbe5", apply_start_time="2026-02-01T00:00:00Z")
    assert written(before, NOW)["metadata"]["annotations"][START] == "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    "before", [live(apply_start_time="then"), live(applied_hash="x", apply_start_time="then")]
)
def test_changed_content_or_lost_hash_restarts_the_timeout(before: LiveObject) -> None:
    later = NOW + timedelta(microseconds=250)
    annotations = written(before, later)["metadata"]["annotations"]
    assert annotations[START] == "2026-03-01T12:00:00.000250Z"


def test_lost_start_time_restarts_the_timeout() -> None:
    before = live(applied_hash="ce7bb9564c98dbe5")
    assert written(before, NOW)["metadata"]["annotations"][START] == "2026-03-01T12:00:00Z"


def test_hash_of_a_written_object_is_unchanged() -> None:
    once = written(None, NOW)
    assert applied_hash(once) == applied_hash(golden())


def test_policies_become_annotations() -> None:
    retained = with_policies(golden(), a_resource(deletion_policy=DeletionPolicy.RETAIN))
    assert retained["metadata"]["annotations"] == {"lynq.sh/deletion-policy": "Retain"}
    once = with_policies(golden(), a_resource(creation_policy=CreationPolicy.ONCE))
    assert once["metadata"]["annotations"]["lynq.sh/created-once"] == "true"
