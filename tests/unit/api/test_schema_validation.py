"""Values against the structural schemas of the CRDs."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import FormSpec, HubSpec
from lynq.api.schema import structural_schema
from lynq.api.schema_validation import schema_problems
from lynq.api.wire import Wire

_HUB: dict[str, Any] = {
    "source": {"type": "sqlite", "sqlite": {"path": "t.db", "table": "t"}},
    "valueMappings": {"uid": "id", "activate": "on"},
}


def _problems(kind: type[Wire], value: object) -> list[str]:
    return [str(problem) for problem in schema_problems(value, structural_schema(kind), "spec")]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"source": None}, "spec.source: required"),
        ({"paused": "yes"}, "spec.paused: must be of type boolean, not string"),
        ({"paused": 1}, "spec.paused: must be of type boolean, not integer"),
        ({"pausd": True}, "spec.pausd: unknown field: did you mean paused?"),
        ({"extraValueMappings": {"a": 1}}, "spec.extraValueMappings.a: must be of type string"),
        ({"deletionGuard": {"maxPercent": 101}}, "spec.deletionGuard.maxPercent: must be at most"),
        ({"deletionGuard": {"maxCount": -1}}, "spec.deletionGuard.maxCount: must be at least 0"),
        ({"deletionGuard": {"maxCount": 1.5}}, "spec.deletionGuard.maxCount: must be of type int"),
        ({"deletionGuard": {"window": "10"}}, "spec.deletionGuard.window: must match ^[1-9]"),
        ({"valueMappings": []}, "spec.valueMappings: must be of type object, not array"),
    ],
)
def test_problem_has_the_path_of_its_field(change: dict[str, Any], problem: str) -> None:
    assert [text[: len(problem)] for text in _problems(HubSpec, _HUB | change)] == [problem]


def test_null_is_an_absent_field() -> None:
    assert _problems(HubSpec, {**_HUB, "deletionGuard": None}) == []


def test_manifest_of_a_resource_is_not_checked() -> None:
    form = {"hubId": "h", "manifests": [{"id": "a", "spec": {"anything": [1, {"b": None}]}}]}
    assert _problems(FormSpec, form) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5000) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_RESOURCE = st.fixed_dictionaries(
    {"id": st.just("a") | _JSON, "spec": st.just({}) | _JSON},
    optional={
        "creationPolicy": st.just("Once") | _JSON,
        "timeoutSeconds": st.integers(-1, 4000) | _JSON,
        "labelsTemplate": _JSON,
        "dependIds": _JSON,
        "waitForReady": _JSON,
    },
)


def _has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return value is None or (isinstance(value, list) and any(map(_has_null, value)))


@given(st.fixed_dictionaries({"hubId": st.just("h"), "jobs": st.lists(_RESOURCE, max_size=2)}))
def test_value_that_fits_the_schema_can_be_decoded(value: dict[str, Any]) -> None:
    # The API server drops a null before it is decoded.
    if _problems(FormSpec, value) == [] and not _has_null(value):
        msgspec.convert(value, FormSpec)
