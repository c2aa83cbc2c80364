"""The nodes that a plan deletes: restarts of an approved deletion, pauses, and unnamed nodes."""

from typing import Any

import pytest
from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, OwnerReference
from lynq.core.guard.absence import NO_ABSENCES, Absences, ReadTime
from lynq.core.hub.diff import DeletionCause
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import NOON, ARow, Cluster, a_form, a_hub, planned, rows, synced

WEB = a_form("web")
GUARDED = a_hub()


def running(*uids: str) -> Cluster:
    cluster = Cluster()
    synced(cluster, rows(*uids), WEB)
    return cluster


def approved(digest: str) -> LynqHub:
    return a_hub(annotations={"lynq.sh/approve-deletion": digest})


def test_operator_that_restarts_half_way_completes_an_approved_deletion() -> None:
    uids = [f"a{number:02}" for number in range(60)]
    cluster, kept = running(*uids), rows(*uids[:10])
    hub = approved(planned(cluster, kept, WEB, hub=GUARDED).verdict.digest)
    for uid in uids[10:30]:
        cluster.edit(f"{uid}-web", deletion_timestamp=NOON)
    plan = planned(cluster, kept, WEB, hub=hub)
    assert [deletion.pair.uid for deletion in plan.deletes] == uids[30:]


def test_operator_that_restarts_half_way_completes_an_approved_doubtful_deletion() -> None:
    cluster = running("a", "b", "c", "d")
    spoilt = [ARow(None), ARow("c")]
    held = planned(cluster, [*spoilt, ARow("d")], WEB, hub=GUARDED)
    assert held.held == ("a-web", "b-web")
    hub = approved(held.held_message(GUARDED).rpartition(", ")[2])
    cluster.edit("b-web", deletion_timestamp=NOON)
    # The row of d is deactivated after the first read of the new process, which is not in doubt.
    inactive = frozenset({"d"})
    observation = Observation(inactive=inactive, last=Absences(tracked=inactive))
    plan = planned(cluster, spoilt, WEB, hub=hub, observation=observation)
    assert [deletion.name for deletion in plan.deletes] == ["a-web", "d-web"]


@pytest.mark.parametrize(("settled", "superseded"), [({"a"}, {"a"}), (set(), set())])
def test_inactive_row_beside_an_active_one_that_is_not_planned_is_history(
    settled: set[str], superseded: set[str]
) -> None:
    last = Absences(tracked=frozenset({"a"}))
    observation = Observation(inactive=frozenset({"a"}), settled_uids=settled, last=last)
    plan = planned(Cluster(), [], WEB, observation=observation)
    assert plan.absent.absences.superseded == superseded


PROTECTED = {"lynq.sh/protect": "true"}


def kept_by_protection(plan: HubPlan) -> dict[str, DeletionCause]:
    return {deletion.name: deletion.cause for deletion in plan.protected}


def test_protected_nodes_without_row_or_form_are_named() -> None:
    cluster = running("a", "b", "c")
    for uid in ("a", "b"):
        cluster.edit(f"{uid}-web", annotations=PROTECTED)
    plan = planned(cluster, rows("a"), WEB)
    assert kept_by_protection(plan) == {"b-web": DeletionCause.ROW_GONE}
    assert [deletion.name for deletion in plan.deletes] == ["c-web"]
    plan = planned(cluster, rows("a", "b", "c"))
    assert kept_by_protection(plan) == dict.fromkeys(["a-web", "b-web"], DeletionCause.FORM_GONE)


@pytest.mark.parametrize(
    ("annotations", "form", "hub"),
    [
        pytest.param({"lynq.sh/paused": "true"}, WEB, a_hub(), id="paused node"),
        pytest.param({}, a_form("web", paused=True), a_hub(), id="paused form"),
        pytest.param({}, WEB, a_hub(paused=True), id="paused hub"),
    ],
)
def test_protected_node_that_is_kept_for_another_reason_is_not_named(
    annotations: dict[str, str], form: LynqForm, hub: LynqHub
) -> None:
    cluster = running("a")
    cluster.edit("a-web", annotations=PROTECTED | annotations)
    assert planned(cluster, [], form, hub=hub).protected == ()


def test_protected_node_is_named_when_its_absence_is_confirmed() -> None:
    cluster = running("a", "b")
    for uid in ("a", "b"):
        cluster.edit(f"{uid}-web", annotations=PROTECTED)

    def observed(last: Absences, time: float, **parts: Any) -> HubPlan:
        read = ReadTime(time, time)
        observation = Observation(read=read, now=time, last=last, confirm_after=5, **parts)
        return planned(cluster, [], WEB, hub=GUARDED, observation=observation)

    tracked = Absences(tracked=frozenset({"b"}))
    first = observed(tracked, 10, inactive=frozenset({"b"}))
    assert list(kept_by_protection(first)) == ["b-web"]
    # Another read is made for deletions only.
    assert (first.absent.next_read, first.absent.unconfirmed) == (None, frozenset())
    assert list(kept_by_protection(observed(first.absent.absences, 14))) == []
    second = observed(first.absent.absences, 15)
    assert list(kept_by_protection(second)) == ["a-web"]
    # The row may be back since the last read: the absence is confirmed again.
    cluster.edit("a-web", annotations={})
    unprotected = observed(second.absent.absences, 16)
    assert unprotected.deletes == ()
    assert unprotected.absent.unconfirmed == {"a-web"}


def test_protected_node_of_a_deleted_form_is_named_when_the_form_stays_away() -> None:
    cluster = running("a")
    cluster.edit("a-web", annotations=PROTECTED)

    def observed(last: Absences, time: float) -> HubPlan:
        observation = Observation(read=ReadTime(time, time), now=time, last=last, confirm_after=5)
        return planned(cluster, rows("a"), observation=observation)

    first = observed(NO_ABSENCES, 10)
    assert first.protected == ()
    second = observed(first.absent.absences, 15)
    assert kept_by_protection(second) == {"a-web": DeletionCause.FORM_GONE}


@pytest.mark.parametrize(
    ("hub", "owner", "is_deleted"),
    [
        pytest.param(a_hub(), "hub-uid", True, id="controlled by the hub"),
        pytest.param(a_hub(), "another-uid", False, id="controlled by another owner"),
        pytest.param(a_hub(paused=True), "hub-uid", False, id="of a paused hub"),
    ],
)
def test_node_whose_name_fits_no_row_is_deleted_by_its_controller(
    hub: LynqHub, owner: str, *, is_deleted: bool
) -> None:
    cluster = running("a")
    node = cluster.nodes.pop("a-web")
    owners = [OwnerReference(kind="LynqHub", name="shop", uid=owner, controller=True)]
    metadata = replace(node.metadata, name="pet", owner_references=owners)
    cluster.nodes["pet"] = replace(node, metadata=metadata)
    deletes = planned(cluster, [], WEB, hub=hub).deletes
    assert [deletion.name for deletion in deletes] == (["pet"] if is_deleted else [])
