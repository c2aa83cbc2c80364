"""The types decode and encode every object that the schema allows."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lynq.api import (
    Condition,
    ConditionStatus,
    CreationPolicy,
    HubStatus,
    LynqForm,
    LynqHub,
    LynqNode,
    NodeStatus,
    PatchStrategy,
    ResourceState,
    ResourceStatus,
)
from lynq.api.crds import KINDS, CustomKind, definition
from unit.api.documents import Document, defaulted, documents

SCHEMAS = {
    kind: definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for kind in KINDS
}
# No field of a spec starts with "x".
UNKNOWN = st.text(st.characters(categories=["L"]), min_size=3, max_size=8).map("x{}".format)

generous = settings(suppress_health_check=list(HealthCheck), max_examples=25)


def body(kind: CustomKind) -> st.SearchStrategy[Document]:
    parts = {name: SCHEMAS[kind]["properties"][name] for name in ("spec", "status")}
    schema = {"type": "object", "properties": parts, "required": ["spec"]}
    return documents(schema)


BODIES = {kind: body(kind) for kind in KINDS}


def read(kind: CustomKind, document: Document) -> LynqHub | LynqForm | LynqNode:
    return msgspec.json.decode(msgspec.json.encode(document), type=kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.definition.kind)
@generous
@given(data=st.data())
def test_valid_objects_round_trip(kind: CustomKind, data: st.DataObject) -> None:
    first = read(kind, data.draw(BODIES[kind]))
    written = msgspec.json.encode(first)
    assert msgspec.json.decode(written, type=kind) == first


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.definition.kind)
@generous
@given(data=st.data())
def test_crd_defaults_match_the_types(kind: CustomKind, data: st.DataObject) -> None:
    document = data.draw(BODIES[kind])
    assert read(kind, defaulted(document, SCHEMAS[kind])) == read(kind, document)


@generous
@given(unknown=st.dictionaries(UNKNOWN, st.integers() | st.lists(st.none()), max_size=3))
def test_unknown_fields_are_ignored(unknown: dict[str, Any]) -> None:
    minimal = {"uid": "acme", "templateRef": "web"}
    document = {"spec": unknown | minimal, "status": unknown, "metadata": unknown}
    assert read(LynqNode, unknown | document) == read(LynqNode, {"spec": minimal})


def test_minimal_resource_has_documented_defaults() -> None:
    form = msgspec.convert(
        {"spec": {"hubId": "hub", "jobs": [{"id": "seed", "spec": {}}]}}, type=LynqForm
    )
    (job,) = form.spec.jobs
    assert (job.creation_policy, job.patch_strategy) == (
        CreationPolicy.WHEN_NEEDED,
        PatchStrategy.APPLY,
    )
    assert (job.deletion_policy, job.conflict_policy) == ("Delete", "Stuck")
    assert (job.wait_for_ready, job.skip_on_dependency_failure) == (True, True)
    assert job.timeout_seconds == 300


def test_deletion_guard_is_enabled_by_default() -> None:
    hub = msgspec.convert(
        {
            "spec": {
                "source": {"type": "sqlite", "sqlite": {"path": "a.db", "table": "tenants"}},
                "valueMappings": {"uid": "id", "activate": "active"},
            }
        },
        type=LynqHub,
    )
    guard = hub.spec.deletion_guard
    assert (guard.max_count, guard.max_percent) == (10, 30)
    assert (guard.window, guard.confirm_after) == ("10m", "5s")
    assert not guard.disabled
    assert (hub.spec.source.sync_interval, hub.spec.source.changes) == ("30s", "Poll")


def test_encoded_object_omits_defaults_except_list_keys() -> None:
    node = msgspec.convert(
        {"metadata": {"name": "acme-web"}, "spec": {"uid": "acme", "templateRef": "web"}},
        type=LynqNode,
    )
    assert msgspec.to_builtins(node) == {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {"name": "acme-web"},
        "spec": {"uid": "acme", "templateRef": "web"},
        "status": {},
    }


def test_zero_counters_are_omitted() -> None:
    assert msgspec.to_builtins(HubStatus(desired=3, ready=0)) == {"desired": 3}


def test_times_are_encoded_as_rfc3339() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    status = NodeStatus(
        last_full_reconcile_at=at,
        resources=(
            ResourceStatus(id="web", kind="Job", name="x", state=ResourceState.FAILED, since=at),
        ),
        conditions=(
            Condition(
                type="Ready",
                status=ConditionStatus.FALSE,
                reason="ResourcesFailed",
                message="Job x failed",
                last_transition_time=at,
            ),
        ),
    )
    written = msgspec.to_builtins(status)
    assert written["lastFullReconcileAt"] == "2026-01-02T03:04:05Z"
    assert written["resources"][0]["since"] == "2026-01-02T03:04:05Z"
    assert written["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_value_out_of_range_is_rejected_with_its_path() -> None:
    document = {"spec": {"hubId": "hub", "rollout": {"progressDeadlineSeconds": 5}}}
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.rollout\.progressDeadline"):
        read(LynqForm, document)
