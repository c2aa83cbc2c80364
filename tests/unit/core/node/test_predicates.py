"""Which changes of an object need a reconcile of its node."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lynq.core.node.objects import LiveObject
from lynq.core.node.predicates import ObjectEffect, object_changed
from lynq.core.readiness.verdict import Readiness, ReadinessState
from unit.core.node.owned_objects import tracked

NOT_READY = Readiness(ReadinessState.NOT_READY, "Progressing", "0 of 3 replicas are available")
STAGES = [
    Readiness(ReadinessState.NOT_READY, "Progressing", "1 of 3 replicas is available"),
    Readiness(ReadinessState.NOT_READY, "GenerationNotObserved", ""),
]
RESULTS = [
    Readiness(ReadinessState.READY, "Ready", ""),
    Readiness(ReadinessState.FAILED, "Stalled", "the quota is exhausted"),
]
FOREIGN_NAMES = st.dictionaries(
    st.text(min_size=1).filter(lambda name: not name.startswith("lynq.sh/")), st.text()
)
RELEVANT_CHANGES: list[dict[str, Any]] = [
    {"uid": "another"},
    {"owner_uids": ()},
    {"is_deleting": True},
    {"digest": b"another"},
    {"labels": {}},
    {"annotations": {"lynq.sh/applied-hash": "another"}},
]


def waiting() -> LiveObject:
    return replace(tracked(), readiness=NOT_READY, owner_uids=("77",))


@given(FOREIGN_NAMES, FOREIGN_NAMES)
def test_labels_and_annotations_of_others_need_no_reconcile(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    live = waiting()
    changed = replace(
        live, labels={**live.labels, **labels}, annotations={**live.annotations, **annotations}
    )
    assert object_changed(live, changed) is ObjectEffect.NONE
    assert object_changed(changed, live) is ObjectEffect.NONE


@pytest.mark.parametrize("readiness", STAGES)
def test_stage_of_an_object_that_is_not_ready_is_progress(readiness: Readiness) -> None:
    after = replace(waiting(), readiness=readiness)
    assert object_changed(waiting(), after) is ObjectEffect.PROGRESS


@pytest.mark.parametrize("readiness", RESULTS)
def test_gained_and_lost_readiness_needs_a_reconcile(readiness: Readiness) -> None:
    after = replace(waiting(), readiness=readiness)
    assert object_changed(waiting(), after) is ObjectEffect.RECONCILE
    assert object_changed(after, waiting()) is ObjectEffect.RECONCILE


@given(st.sampled_from(RELEVANT_CHANGES), st.sampled_from([NOT_READY, *STAGES, *RESULTS]))
def test_change_that_a_decision_depends_on_is_never_mere_progress(
    change: dict[str, Any], readiness: Readiness
) -> None:
    after = replace(waiting(), readiness=readiness, **change)
    assert object_changed(waiting(), after) is ObjectEffect.RECONCILE


def test_created_and_deleted_object_needs_a_reconcile() -> None:
    assert object_changed(None, waiting()) is ObjectEffect.RECONCILE
    assert object_changed(waiting(), None) is ObjectEffect.RECONCILE
