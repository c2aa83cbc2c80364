"""The current hub and form stop the deletions of a plan that was made with older ones."""

import dataclasses
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from lynq.api import DeletionGuard, DeletionGuardStatus, HubStatus, LynqForm, LynqHub
from lynq.api.conditions import new_condition
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.absence import Absences
from lynq.core.guard.approval import digest_of
from lynq.core.hub.confirm import is_outdated, may_delete
from lynq.core.hub.diff import DeletionCause
from lynq.core.hub.plan import HubPlan
from lynq.core.hub.prune import Observation
from unit.core.hub.fixtures import NOON, WEB, ARow, a_hub, an_unguarded_hub, planned, rows, running

TENANTS = tuple(f"t{number:02}" for number in range(12))
DIGEST = digest_of(f"{uid}-web" for uid in TENANTS)
GUARD = DeletionGuard()
APPROVED_HUB = a_hub(deletion_guard=GUARD, annotations={"lynq.sh/approve-deletion": DIGEST})
HUB = a_hub(deletion_guard=GUARD)
HELD = HubStatus(
    conditions=(
        new_condition(
            ConditionType.DELETION_HELD,
            ConditionReason.DELETION_GUARD_EXCEEDED,
            "",
            holds=True,
            generation=2,
            now=NOON,
        ),
    )
)


def approved_plan() -> HubPlan:
    plan = planned(running(*TENANTS), (), WEB, hub=APPROVED_HUB)
    assert len(plan.deletes) == 12
    return plan


def small_plan(hub: LynqHub = HUB) -> HubPlan:
    plan = planned(running("a", "b", "c", "d"), rows("a", "b", "c"), WEB, hub=hub)
    assert len(plan.deletes) == 1
    return plan


def sent(plan: HubPlan, hub: LynqHub, form: LynqForm | None = WEB) -> int:
    return sum(may_delete(deletion, plan, hub, form) for deletion in plan.deletes)


def test_unchanged_hub_and_form_allow_every_deletion() -> None:
    assert sent(approved_plan(), APPROVED_HUB) == 12
    assert sent(approved_plan(), replace(APPROVED_HUB, status=HELD)) == 12
    assert sent(small_plan(), HUB) == 1
    assert sent(small_plan(), HUB, None) == 1


def test_withdrawn_or_replaced_approval_allows_no_deletion() -> None:
    assert sent(approved_plan(), HUB) == 0
    other = a_hub(deletion_guard=GUARD, annotations={"lynq.sh/approve-deletion": "0" * 16})
    assert sent(approved_plan(), other) == 0


def test_approval_that_another_leader_spent_allows_no_deletion() -> None:
    spent = HubStatus(deletion_guard=DeletionGuardStatus(spent_approvals=(DIGEST,)))
    assert sent(approved_plan(), replace(APPROVED_HUB, status=spent)) == 0


def test_hold_of_another_leader_allows_no_deletion() -> None:
    assert sent(small_plan(), replace(HUB, status=HELD)) == 0


def test_disabled_guard_ignores_a_hold() -> None:
    disabled = an_unguarded_hub()
    assert sent(small_plan(disabled), replace(disabled, status=HELD)) == 1


def test_deletion_of_a_doubtful_node_depends_on_its_approval() -> None:
    digest = digest_of(["d-web"])
    hub = a_hub(deletion_guard=GUARD, annotations={"lynq.sh/approve-deletion": digest})
    plan = small_plan(hub)
    changed = dataclasses.replace(plan.absent, changed=frozenset({"d-web"}))
    approval = dataclasses.replace(plan.approval, digest=digest, nodes=frozenset({"d-web"}))
    plan = dataclasses.replace(plan, absent=changed, approval=approval)
    assert sent(plan, hub) == 1
    assert sent(plan, HUB) == 0


def deleting(form: LynqForm, *, protected: bool) -> LynqForm:
    annotations = {"lynq.sh/protect": "true"} if protected else {}
    metadata = replace(form.metadata, deletion_timestamp=NOON, annotations=annotations)
    return replace(form, metadata=metadata)


PAUSED = replace(WEB, spec=replace(WEB.spec, paused=True))


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        pytest.param(PAUSED, 0, id="paused"),
        pytest.param(deleting(WEB, protected=True), 0, id="protected and deleted"),
        pytest.param(deleting(WEB, protected=False), 1, id="deleted"),
        pytest.param(deleting(PAUSED, protected=False), 1, id="paused and deleted"),
    ],
)
def test_form_that_leaves_its_nodes_unchanged_stops_deletions(
    form: LynqForm, expected: int
) -> None:
    assert sent(small_plan(), HUB, form) == expected


def test_nodes_of_a_deleted_form_are_deleted_during_a_hold() -> None:
    plan = planned(running("a"), rows("a"), hub=HUB)
    assert [deletion.cause for deletion in plan.deletes] == [DeletionCause.FORM_GONE]
    assert sent(plan, replace(HUB, status=HELD), None) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda hub: hub, False, id="unchanged"),
        pytest.param(lambda hub: replace(hub, status=HELD), False, id="status"),
        pytest.param(lambda _: None, True, id="gone"),
        pytest.param(
            lambda hub: replace(hub, metadata=replace(hub.metadata, uid="x")), True, id="re-created"
        ),
        pytest.param(
            lambda hub: replace(hub, metadata=replace(hub.metadata, generation=3)), True, id="spec"
        ),
        pytest.param(
            lambda hub: replace(hub, metadata=replace(hub.metadata, deletion_timestamp=NOON)),
            True,
            id="deleted",
        ),
    ],
)
def test_changed_hub_makes_a_plan_outdated(
    change: Callable[[LynqHub], LynqHub | None],
    expected: bool,  # noqa: FBT001
) -> None:
    assert is_outdated(HUB, change(HUB)) is expected


def doubtful_plan(hub: LynqHub) -> HubPlan:
    """Return a plan for a spoilt uid, in doubt, and a deactivated row, which is not."""
    inactive = frozenset({"d"})
    observation = Observation(inactive=inactive, last=Absences(tracked=inactive))
    table = [ARow(None), *rows("b", "c")]
    return planned(running("a", "b", "c", "d"), table, WEB, hub=hub, observation=observation)


def test_withdrawn_approval_of_doubtful_nodes_allows_no_deletion() -> None:
    approval = {"lynq.sh/approve-deletion": digest_of(["a-web"])}
    approved = a_hub(deletion_guard=GUARD, annotations=approval)
    assert sent(doubtful_plan(approved), approved) == 2
    # The deactivated row needs no approval.
    assert sent(doubtful_plan(approved), HUB) == 1


def test_hold_stops_a_plan_that_has_unapproved_doubtful_nodes() -> None:
    assert sent(doubtful_plan(HUB), HUB) == 1
    assert sent(doubtful_plan(HUB), replace(HUB, status=HELD)) == 0


def test_approval_that_the_plan_did_not_need_may_be_withdrawn() -> None:
    assert sent(small_plan(APPROVED_HUB), HUB) == 1
