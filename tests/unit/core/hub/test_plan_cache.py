"""Which changes are planned alone, and when all rows are planned."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lynq.api import HubStatus, LynqHub, Rollout
from lynq.api.conditions import new_condition
from lynq.api.installation_key import InstallationKey
from lynq.api.names import ANNOTATION_EXTRA
from lynq.api.naming import NodePair
from lynq.api.reasons import ConditionReason, ConditionType
from lynq.core.guard.absence import Absences
from lynq.core.hub.diff import NodeCreation, Throttle
from lynq.core.hub.plan import FormCandidate, HubPlan, PlanInputs, plan_hub
from lynq.core.hub.plan_cache import Changes, PlanCache, plan_all
from lynq.core.hub.prune import Observation
from lynq.core.hub.row_values import RenderFailure
from lynq.core.hub.selected_rows import IndexedRows
from unit.core.hub.fixtures import (
    DB,
    NOON,
    WEB,
    ARow,
    Cluster,
    a_form,
    a_hub,
    an_unguarded_hub,
    at,
    created,
    is_empty,
    resource,
    rows,
    running,
    updated,
)

UIDS = ("acme", "beta", "corp")


def inputs(cluster: Cluster, read: list[ARow], *forms: Any, **parts: Any) -> PlanInputs:
    candidates = [
        form if isinstance(form, FormCandidate) else FormCandidate(form) for form in forms or (WEB,)
    ]
    parts.setdefault("hub", a_hub())
    return PlanInputs(forms=candidates, rows=read, nodes=cluster.nodes.values(), **parts)


def cache_of(cluster: Cluster, *forms: Any, **parts: Any) -> PlanCache:
    _, cache = plan_all(inputs(cluster, rows(*UIDS), *forms, **parts), NOON)
    assert cache
    return cache


def changed_nodes(cluster: Cluster, *names: str) -> Changes:
    nodes = {name: cluster.nodes[name] for name in names if name in cluster.nodes}
    return Changes(names=names, nodes=nodes)


def test_unchanged_rows_need_no_write() -> None:
    cluster = running(*UIDS)
    planned = cache_of(cluster).plan_changes(inputs(cluster, rows(*UIDS)), Changes(), NOON)
    assert planned
    assert is_empty(planned.plan)
    assert (planned.plan.screened.desired, planned.plan.verdict.total) == (3, 3)
    assert planned.planned == set()


def test_only_changed_and_new_rows_are_planned() -> None:
    cluster = running(*UIDS)
    read = [*rows("acme", "beta"), *rows("corp", plan="pro"), *rows("dawn")]
    planned = cache_of(cluster).plan_changes(inputs(cluster, read), Changes(), NOON)
    assert planned
    assert list(updated(planned.plan)) == ["corp-web"]
    assert created(planned.plan) == ["dawn-web"]
    assert planned.planned == {"corp-web", "dawn-web"}
    assert planned.plan.screened.desired == 4


def test_write_is_carried_over_until_its_node_is_as_desired() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    read = rows(*UIDS, "dawn")
    planned = cache.plan_changes(inputs(cluster, read), Changes(), NOON)
    assert planned
    cache.update(planned)
    assert cache.pending.keys() == {"dawn-web"}
    assert cache.plans == 1
    # The write failed, or was not sent: no node has changed, and the plan has the same write.
    again = cache.plan_changes(inputs(cluster, read), Changes(uids=frozenset()), at(60))
    assert again
    assert again.plan.creates == planned.plan.creates
    assert (again.planned, again.carried) == (set(), {"dawn-web"})
    cluster.apply(again.plan)
    cache.update(again)
    settled = cache.plan_changes(inputs(cluster, read), changed_nodes(cluster, "dawn-web"), NOON)
    assert settled
    assert is_empty(settled.plan)
    cache.update(settled)
    assert (cache.pending, cache.live) == ({}, 4)
    assert "dawn-web" in cache.checked_specs


def test_update_is_carried_over_after_the_writes_of_later_changes() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    for plan, expected in (("free", ["acme-web"]), ("pro", ["beta-web", "acme-web"])):
        changed = rows("acme", plan="free") + rows("beta", plan=plan) * (plan == "pro")
        read = changed + [row for row in rows(*UIDS) if row.uid not in {r.uid for r in changed}]
        planned = cache.plan_changes(inputs(cluster, read), Changes(), NOON)
        assert planned
        assert list(updated(planned.plan)) == expected
        cache.update(planned)


def test_pending_write_of_a_changed_row_is_planned_again() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    for plan in ("free", "pro"):
        read = [*rows(*UIDS), *rows("dawn", plan=plan)]
        planned = cache.plan_changes(inputs(cluster, read), Changes(), NOON)
        assert planned
        cache.update(planned)
        assert planned.carried == frozenset()
    (creation,) = cache.pending.values()
    assert isinstance(creation, NodeCreation)
    assert '"pro"' in creation.node.metadata.annotations[ANNOTATION_EXTRA]


def test_pending_write_of_another_generation_of_the_form_is_not_carried_over() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    planned = cache.plan_changes(inputs(cluster, rows(*UIDS, "dawn")), Changes(), NOON)
    assert planned
    cache.update(planned)
    changed = inputs(cluster, rows(*UIDS, "dawn"), a_form("web", generation=2))
    assert cache.plan_changes(changed, Changes(), NOON) is None


def test_pending_writes_are_planned_again_to_be_checked() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    read = inputs(cluster, rows(*UIDS, "dawn"))
    planned = cache.plan_changes(read, Changes(), NOON)
    assert planned
    cache.update(planned)
    again = cache.plan_changes(read, Changes(), at(60), carries_over=False)
    assert again
    assert again.plan.creates == plan_hub(read, at(60)).creates != planned.plan.creates


def test_deleted_node_is_created_again() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    del cluster.nodes["beta-web"]
    changes = changed_nodes(cluster, "beta-web")
    planned = cache.plan_changes(inputs(cluster, rows(*UIDS)), changes, NOON)
    assert planned
    assert created(planned.plan) == ["beta-web"]
    assert planned.plan.verdict.total == 2
    cache.update(planned)
    assert "beta-web" not in cache.nodes
    assert "beta-web" not in cache.checked_specs


def test_edited_node_is_restored() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    cluster.edit("beta-web", labels={})
    changes = changed_nodes(cluster, "beta-web")
    planned = cache.plan_changes(inputs(cluster, rows(*UIDS)), changes, NOON)
    assert planned
    assert list(updated(planned.plan)) == ["beta-web"]


HELD = new_condition(
    ConditionType.DELETION_HELD,
    ConditionReason.DELETION_GUARD_EXCEEDED,
    "",
    holds=True,
    generation=1,
    now=NOON,
)
MISSING = Observation(last=Absences(rows_missing_since={"gone-web": 1.0}))
MISSING_FORM = Observation(last=Absences(forms_missing_since={"gone": 1.0}))
UNIDENTIFIABLE = Observation(last=Absences(unidentifiable={"acme-web": 1}))
DELETED = msgspec.structs.replace(
    DB, metadata=msgspec.structs.replace(DB.metadata, deletion_timestamp=NOON)
)
LIMITED = a_form("web", max_skew=1)


def with_status(status: HubStatus) -> LynqHub:
    return msgspec.structs.replace(a_hub(), status=status)


@pytest.mark.parametrize(
    ("read", "forms", "parts"),
    [
        (rows("acme", "beta"), (WEB,), {}),
        (rows(*UIDS, "corp"), (WEB,), {}),
        (rows(*UIDS, "Spoilt"), (WEB,), {}),
        (rows(*UIDS, ""), (WEB,), {}),
        ([*rows(*UIDS), ARow(None)], (WEB,), {}),
        (rows(*UIDS), (WEB, DB), {}),
        (rows(*UIDS), (), {}),
        (rows(*UIDS), (a_form("web", generation=2),), {}),
        (rows(*UIDS), (a_form("web", paused=True),), {}),
        (rows(*UIDS), (FormCandidate(WEB, valid=False),), {}),
        (rows(*UIDS), (FormCandidate(WEB, refused={"app": "no"}),), {}),
        (rows(*UIDS), (WEB,), {"hub": a_hub(paused=True)}),
        (rows(*UIDS), (WEB,), {"hub": a_hub(annotations={"lynq.sh/approve-deletion": "1"})}),
        (rows(*UIDS), (WEB,), {"hub": with_status(HubStatus(conditions=(HELD,)))}),
        (rows(*UIDS), (WEB,), {"key": InstallationKey(b"k" * 32)}),
        (rows(*UIDS), (WEB,), {"unreadable_forms": ["web"]}),
        (rows(*UIDS), (WEB,), {"source_changed": True}),
        (rows(*UIDS), (WEB,), {"last_held": True}),
        (rows(*UIDS), (WEB,), {"observation": MISSING}),
        (rows(*UIDS), (WEB,), {"observation": MISSING_FORM}),
        (rows(*UIDS), (WEB,), {"observation": UNIDENTIFIABLE}),
    ],
)
def test_all_rows_are_planned_if_they_affect_each_other(
    read: list[ARow], forms: tuple[Any, ...], parts: dict[str, Any]
) -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    changed = replace(inputs(cluster, read, WEB, **parts), forms=inputs(cluster, [], *forms).forms)
    if not forms:
        changed = replace(changed, forms=[])
    assert cache.plan_changes(changed, Changes(), NOON) is None


def test_write_under_max_skew_plans_all_rows() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster, LIMITED)
    assert cache.plan_changes(inputs(cluster, rows(*UIDS), LIMITED), Changes(), NOON)
    changed = rows(*UIDS, plan="pro")
    assert cache.plan_changes(inputs(cluster, changed, LIMITED), Changes(), NOON) is None
    unlimited = a_form("web", rollout=Rollout(max_skew=0))
    cache = cache_of(cluster, unlimited)
    assert cache.plan_changes(inputs(cluster, changed, unlimited), Changes(), NOON)


def test_row_that_cannot_be_rendered_plans_all_rows() -> None:
    form = a_form("web", resource(name_template='{{ if eq .plan "pro" }}{{ fail "no" }}{{ end }}n'))
    cluster = Cluster()
    cluster.apply(plan_hub(inputs(cluster, rows(*UIDS, plan="free"), form), NOON))
    _, cache = plan_all(inputs(cluster, rows(*UIDS, plan="free"), form), NOON)
    assert cache
    read = [*rows("acme", "beta", plan="free"), *rows("corp", plan="pro")]
    assert cache.plan_changes(inputs(cluster, read, form), Changes(), NOON) is None


def test_new_node_without_row_plans_all_rows() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    cluster.nodes["gone-web"] = msgspec.structs.replace(
        cluster.nodes["acme-web"],
        metadata=msgspec.structs.replace(cluster.nodes["acme-web"].metadata, name="gone-web"),
    )
    changes = changed_nodes(cluster, "gone-web")
    assert cache.plan_changes(inputs(cluster, rows(*UIDS)), changes, NOON) is None


def test_name_of_another_hubs_node_plans_all_rows() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    # The node of another hub's form `b-web` has the name that the row `a-b` needs.
    taken = Changes(names={"a-b-web"}, other_nodes={"a-b-web": NodePair("a", "b-web")})
    planned = cache.plan_changes(inputs(cluster, rows(*UIDS)), taken, NOON)
    assert planned
    cache.update(planned)
    read = rows(*UIDS, "a-b")
    assert cache.plan_changes(inputs(cluster, read), Changes(), NOON) is None
    freed = Changes(names={"a-b-web"})
    planned = cache.plan_changes(inputs(cluster, read), freed, NOON)
    assert planned
    assert created(planned.plan) == ["a-b-web"]


@pytest.mark.parametrize(
    ("read", "parts"),
    [
        (rows("acme", "beta"), {}),
        (rows(*UIDS, "corp"), {}),
        (rows(*UIDS, "Spoilt"), {}),
        (rows(*UIDS), {"hub": a_hub(paused=True)}),
    ],
)
def test_plan_whose_rows_affect_each_other_is_not_cached(
    read: list[ARow], parts: dict[str, Any]
) -> None:
    cluster = running(*UIDS)
    _, cache = plan_all(inputs(cluster, read, **parts), NOON)
    assert cache is None


@pytest.mark.parametrize(
    "form",
    [
        FormCandidate(DB, valid=False),
        a_form("db", paused=True),
        a_form("db", hub_id="another"),
        DELETED,
    ],
)
def test_plan_with_a_form_that_may_leave_nodes_is_not_cached(form: Any) -> None:
    cluster = running(*UIDS)
    assert plan_all(inputs(cluster, rows(*UIDS), WEB, form), NOON)[1] is None


@pytest.mark.parametrize("annotation", ["lynq.sh/protect", "lynq.sh/paused"])
def test_plan_with_a_kept_node_without_row_is_not_cached(annotation: str) -> None:
    cluster = running(*UIDS)
    cluster.edit("corp-web", annotations={annotation: "true"})
    plan, cache = plan_all(inputs(cluster, rows("acme", "beta")), NOON)
    assert is_empty(plan)
    assert cache is None


def settled_plan(cluster: Cluster) -> HubPlan:
    return plan_hub(inputs(cluster, rows(*UIDS)), NOON)


def other_plan(cluster: Cluster) -> HubPlan:
    """Return a plan that deletes one node, and has a rejected row and an approval."""
    hub = an_unguarded_hub(annotations={"lynq.sh/approve-deletion": "1"})
    return plan_hub(inputs(cluster, rows("acme", "beta", "Spoilt"), hub=hub), NOON)


def test_one_effect_between_rows_is_enough_to_cache_nothing() -> None:
    cluster = running(*UIDS)
    plan, other = settled_plan(cluster), other_plan(cluster)
    screened, absent = plan.screened, plan.absent
    failure = RenderFailure(NodePair("acme", "web"), "app", "nameTemplate", 1, "", "no")
    affected = [
        replace(plan, deletes=other.deletes),
        replace(plan, throttled=(Throttle("web", ("acme-web",), 1, 1),)),
        replace(plan, failures=(failure,)),
        replace(plan, screened=replace(screened, rejections=other.screened.rejections)),
        replace(plan, verdict=other.verdict),
        replace(plan, approval=other.approval),
        replace(plan, absent=replace(absent, absences=other.absent.absences)),
    ]
    read = inputs(cluster, rows(*UIDS))
    assert PlanCache.of(read, plan, NOON)
    assert [PlanCache.of(read, each, NOON) for each in affected] == [None] * len(affected)


PRO = ARow("corp", {"plan": "pro"})


def test_named_rows_are_found_in_an_index() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    read = IndexedRows([*rows("acme", "beta"), PRO, *rows("dawn")])
    named = Changes(uids=frozenset({"corp", "dawn", "gone"}))
    planned = cache.plan_changes(replace(inputs(cluster, []), rows=read), named, NOON)
    assert planned
    assert list(updated(planned.plan)) == ["corp-web"]
    assert created(planned.plan) == ["dawn-web"]
    cache.update(planned)
    assert cache.rows == {row.uid: row for row in read}


@pytest.mark.parametrize(
    "read",
    [
        pytest.param([*rows("acme", "beta"), PRO, *rows("corp")], id="uid of two rows"),
        pytest.param([*rows(*UIDS, "dawn"), *rows("dawn", plan="pro")], id="new uid of two rows"),
        pytest.param(rows("acme", "corp", "dawn"), id="missing row"),
    ],
)
def test_named_rows_that_are_not_one_per_uid_plan_all_rows(read: list[ARow]) -> None:
    cluster = running(*UIDS)
    named = Changes(uids=frozenset({"acme", "beta", "corp", "dawn"}))
    changed = replace(inputs(cluster, []), rows=IndexedRows(read))
    assert cache_of(cluster).plan_changes(changed, named, NOON) is None


def test_named_rows_without_an_index_are_compared_with_all() -> None:
    cluster = running(*UIDS)
    read = [*rows("acme", "beta"), PRO]
    named = Changes(uids=frozenset({"acme"}))
    planned = cache_of(cluster).plan_changes(inputs(cluster, read), named, NOON)
    assert planned
    assert list(updated(planned.plan)) == ["corp-web"]


def test_name_of_two_pairs_plans_all_rows() -> None:
    forms = (a_form("web"), a_form("b-web"))
    cluster = Cluster()
    cluster.apply(plan_hub(inputs(cluster, rows("a"), *forms), NOON))
    _, cache = plan_all(inputs(cluster, rows("a"), *forms), NOON)
    assert cache
    # `a-b-web` is the name of the row `a` in the form `b-web`.
    assert cache.plan_changes(inputs(cluster, rows("a", "a-b"), *forms), Changes(), NOON) is None
    read = rows("a", "c", "c-b")
    assert cache.plan_changes(inputs(cluster, read, *forms), Changes(), NOON) is None


def test_name_of_a_pending_write_plans_all_rows() -> None:
    cluster, forms = Cluster(), (a_form("web"), a_form("b-web"))
    _, cache = plan_all(inputs(cluster, rows("a"), *forms), NOON)
    assert cache
    assert "a-b-web" in cache.pending
    assert cache.plan_changes(inputs(cluster, rows("a", "a-b"), *forms), Changes(), NOON) is None


def test_write_under_max_skew_is_not_carried_over() -> None:
    cluster, limited = running("acme", "beta"), a_form("web", max_skew=9)
    cache = cache_of(cluster, limited)
    assert cache.pending == {}
    assert cache.unsettled == {"corp"}
    assert cache.plan_changes(inputs(cluster, rows(*UIDS), limited), Changes(), NOON) is None


def test_wrong_cache_plans_all_rows() -> None:
    cluster = running(*UIDS)
    cache = cache_of(cluster)
    cache.is_wrong = True
    assert cache.plan_changes(inputs(cluster, rows(*UIDS)), Changes(), NOON) is None


ALL_ROWS = Changes()
PUSHED = Changes(frozenset({"acme"}))


@pytest.mark.parametrize(
    ("plans", "changes", "now", "due"),
    [
        (0, ALL_ROWS, NOON, False),
        (18, ALL_ROWS, NOON, False),
        (19, ALL_ROWS, NOON, True),
        (19, PUSHED, NOON, False),
        (0, ALL_ROWS, NOON + timedelta(minutes=9), False),
        (0, ALL_ROWS, NOON + timedelta(minutes=10), True),
        (0, PUSHED, NOON + timedelta(minutes=10), True),
        (0, ALL_ROWS, NOON - timedelta(minutes=10), True),
    ],
)
def test_check_is_due_at_a_full_read_after_twenty_plans_or_after_ten_minutes(
    plans: int, changes: Changes, now: datetime, *, due: bool
) -> None:
    cache = cache_of(running(*UIDS))
    cache.plans = plans
    assert cache.must_check(changes, now) is due


def test_check_waits_for_pending_writes_for_ten_minutes() -> None:
    cache = cache_of(running("acme", "beta"))
    assert cache.pending.keys() == {"corp-web"}
    cache.plans = 19
    assert not cache.must_check(ALL_ROWS, NOON)
    assert cache.must_check(ALL_ROWS, at(600))
    cache.record_check(at(600))
    assert not cache.must_check(ALL_ROWS, at(600))
    assert (cache.plans, cache.full_plan_at) == (0, at(600))
