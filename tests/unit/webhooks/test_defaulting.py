"""Defaults of hubs and forms as JSON patches."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.webhooks.defaulting import form_defaults, hub_defaults


def added(operations: Any) -> dict[str, Any]:
    patch = list(operations)
    assert {operation["op"] for operation in patch} <= {"add"}
    return {operation["path"]: operation["value"] for operation in patch}


def test_empty_hub_gets_interval_and_port() -> None:
    spec = {"source": {"syncInterval": "", "mysql": {"port": 0}}}
    assert added(hub_defaults(spec)) == {
        "/spec/source/syncInterval": "30s",
        "/spec/source/mysql/port": 3306,
    }


def test_postgresql_gets_its_own_port() -> None:
    spec = {"source": {"syncInterval": "1m", "postgresql": {}}}
    assert added(hub_defaults(spec)) == {"/spec/source/postgresql/port": 5432}


def test_complete_hub_is_unchanged() -> None:
    spec = {"source": {"syncInterval": "5m", "mysql": {"port": 3307}, "sqlite": {"path": "x"}}}
    assert added(hub_defaults(spec)) == {}


def test_resource_gets_the_defaults_of_the_go_operator() -> None:
    empty = {"creationPolicy": "", "timeoutSeconds": 0, "waitForReady": None}
    assert added(form_defaults({"services": [{"id": "a"}], "manifests": [empty]})) == {
        f"/spec/{name_of_list}/0/{name}": value
        for name_of_list in ("services", "manifests")
        for name, value in {
            "creationPolicy": "WhenNeeded",
            "deletionPolicy": "Delete",
            "conflictPolicy": "Stuck",
            "waitForReady": True,
            "timeoutSeconds": 300,
            "patchStrategy": "apply",
        }.items()
    }


def test_complete_resource_is_unchanged() -> None:
    resource = {
        "creationPolicy": "Once",
        "deletionPolicy": "Retain",
        "conflictPolicy": "Force",
        "waitForReady": False,
        "timeoutSeconds": 1,
        "patchStrategy": "merge",
    }
    assert added(form_defaults({"deployments": [resource]})) == {}


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(junk)
def test_invalid_spec_is_left_to_the_schema(value: Any) -> None:
    for spec in ({"source": value}, {"source": {"mysql": value}}):
        added(hub_defaults(spec))
    for form in ({"services": value}, {"services": [value]}):
        added(form_defaults(form))


@pytest.mark.parametrize("defaults", [hub_defaults, form_defaults])
def test_empty_spec_gets_no_patch(defaults: Any) -> None:
    assert list(defaults({})) == []
