"""Invariants of every plan, for any rows, forms and nodes."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionGuard, LynqForm
from lynq.api.naming import node_name
from lynq.api.node_metadata import pair_of
from lynq.core.guard.hold import HoldCause
from lynq.core.hub.diff import DeletionCause
from lynq.core.hub.plan import HubPlan
from unit.core.hub.fixtures import (
    ARow,
    Cluster,
    a_form,
    a_hub,
    an_unguarded_hub,
    at,
    is_empty,
    planned,
    resource,
    synced,
)

UNGUARDED = an_unguarded_hub()
LARGE = "x" * 210_000
ROWS = st.lists(
    st.builds(
        ARow,
        # Few uids, so that they collide; some are invalid, some pairs of uid and form share a name.
        st.sampled_from(["a", "a-b", "b", "c", "A_", "", None, "."]),
        st.dictionaries(
            st.just("plan"), st.sampled_from(["x", "y", "", "{{ .uid }}", LARGE]), max_size=1
        ),
    ),
    max_size=8,
)
TEMPLATES = st.sampled_from(
    ["{{ .uid }}", "{{ .plan }}", '{{ index . "plan" }}', "{{ randAlpha 5 }}", "n"]
)


@st.composite
def forms(draw: st.DrawFn) -> list[LynqForm]:
    names = draw(st.lists(st.sampled_from(["c", "b-c", "web"]), unique=True, max_size=3))
    return [
        a_form(
            name,
            resource(name_template=draw(TEMPLATES)),
            generation=draw(st.integers(1, 3)),
            max_skew=draw(st.sampled_from([0, 0, 1, 2])),
            paused=draw(st.sampled_from([False, False, True])),
        )
        for name in names
    ]


@st.composite
def histories(draw: st.DrawFn) -> Cluster:
    """Draw a cluster after a few syncs."""
    cluster = Cluster()
    for number in range(draw(st.integers(0, 3))):
        synced(cluster, draw(ROWS), *draw(forms()), hub=UNGUARDED, now=at(100 * number - 1000))
        cluster.settle(at(100 * number - 990), ready=draw(st.booleans()))
    return cluster


def settled(cluster: Cluster, rows: Sequence[ARow], given_forms: Sequence[LynqForm]) -> HubPlan:
    """Sync until nothing is written and no node waits."""
    for number in range(100):
        plan = synced(cluster, rows, *given_forms, hub=UNGUARDED, now=at(10 * number))
        if is_empty(plan) and not plan.throttled:
            return plan
        cluster.settle(at(10 * number + 5))
    raise AssertionError("the hub never converges")


@given(histories(), ROWS, forms(), st.randoms())
def test_plan_does_not_depend_on_the_order_of_its_inputs(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm], rng: random.Random
) -> None:
    first = planned(cluster, rows, *given_forms, hub=UNGUARDED)
    nodes = list(cluster.nodes.items())
    for items in (rows, given_forms, nodes):
        rng.shuffle(items)
    cluster.nodes = dict(nodes)
    second = planned(cluster, rows, *given_forms, hub=UNGUARDED)
    assert (second.creates, second.updates, second.deletes) == (
        first.creates,
        first.updates,
        first.deletes,
    )
    assert (second.kept, second.missing, second.throttled) == (
        first.kept,
        first.missing,
        first.throttled,
    )


@given(histories(), ROWS, forms())
def test_hub_converges_and_stays_converged(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    last = settled(cluster, rows, given_forms)
    again = planned(
        cluster,
        rows,
        *given_forms,
        hub=UNGUARDED,
        now=at(5000),
        checked_specs=last.checked_specs,
    )
    assert is_empty(again)
    assert again.checked_specs == last.checked_specs


@given(histories(), ROWS, forms())
def test_converged_hub_has_a_node_for_every_usable_pair(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    last = settled(cluster, rows, given_forms)
    active = {form.metadata.name for form in given_forms if not form.spec.paused}
    failed = {node_name(failure.pair) for failure in last.failures}
    desired = {name for name, pair in last.screened.nodes.items() if pair.form in active}
    assert desired - failed <= cluster.nodes.keys()
    extra = cluster.nodes.keys() - last.screened.nodes.keys() - last.kept
    assert active.isdisjoint(pair.form for name in extra if (pair := pair_of(cluster.nodes[name])))


@given(histories(), ROWS, forms())
def test_node_with_a_row_and_a_form_is_never_deleted(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    plan = planned(cluster, rows, *given_forms, hub=UNGUARDED)
    uids = {row.uid for row in rows}
    names = {form.metadata.name for form in given_forms}
    for deletion in plan.deletes:
        assert deletion.pair.uid not in uids or deletion.pair.form not in names


@given(histories(), ROWS, forms())
def test_node_is_written_at_most_once_per_plan(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    plan = planned(cluster, rows, *given_forms, hub=UNGUARDED)
    written = [
        *(creation.node.metadata.name for creation in plan.creates),
        *(update.before.metadata.name for update in plan.updates),
        *(deletion.name for deletion in plan.deletes),
    ]
    assert len(written) == len(set(written))
    assert not plan.kept & set(written)


@given(histories(), ROWS, forms())
def test_guard_allows_all_deletions_or_none(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    strict = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    unguarded = planned(cluster, rows, *given_forms, hub=UNGUARDED)
    guarded = planned(cluster, rows, *given_forms, hub=strict)
    deletes = {deletion.name for deletion in unguarded.deletes}
    # Nodes of a paused form are held as well, and are not deleted without the guard either.
    assert {deletion.name for deletion in guarded.deletes} == deletes - {*guarded.held}
    if guarded.hold_cause is HoldCause.GUARD:
        assert len(guarded.held) > 1
        assert not any(deletion.cause is DeletionCause.ROW_GONE for deletion in guarded.deletes)


@given(histories(), ROWS, forms())
def test_row_value_is_never_rendered_as_a_template(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    settled(cluster, rows, given_forms)
    for node in cluster.nodes.values():
        for config_map in node.spec.config_maps:
            assert config_map.name_template != "{{ .plan }}"
