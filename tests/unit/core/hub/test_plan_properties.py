"""What holds for every sync, whatever the rows, forms and nodes."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lynq.api import DeletionGuard, LynqForm
from lynq.api.naming import node_name
from lynq.api.node_metadata import pair_of
from lynq.core.hub.plan import HubPlan
from unit.core.hub.fixtures import ARow, Cluster, a_form, a_hub, at, planned, resource, synced

LARGE = "x" * 210_000
ROWS = st.lists(
    st.builds(
        ARow,
        # Few uids, so that they meet; some are bad, and some pairs of uid and form share a name.
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
    """Draw a cluster that has seen a few syncs."""
    cluster = Cluster()
    for number in range(draw(st.integers(0, 3))):
        synced(cluster, draw(ROWS), *draw(forms()), now=at(100 * number - 1000))
        cluster.settle(at(100 * number - 990), ready=draw(st.booleans()))
    return cluster


def settled(cluster: Cluster, rows: Sequence[ARow], given_forms: Sequence[LynqForm]) -> HubPlan:
    """Sync until nothing is written and nobody waits any more."""
    for number in range(100):
        order = synced(cluster, rows, *given_forms, now=at(10 * number))
        if order.is_empty and not order.throttled:
            return order
        cluster.settle(at(10 * number + 5))
    raise AssertionError("the hub never comes to rest")


@given(histories(), ROWS, forms(), st.randoms())
def test_the_order_of_rows_nodes_and_forms_never_matters(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm], chance: random.Random
) -> None:
    first = planned(cluster, rows, *given_forms)
    nodes = list(cluster.nodes.items())
    for items in (rows, given_forms, nodes):
        chance.shuffle(items)
    cluster.nodes = dict(nodes)
    second = planned(cluster, rows, *given_forms)
    assert (second.creates, second.updates, second.deletes) == (
        first.creates,
        first.updates,
        first.deletes,
    )
    assert (second.kept, second.unmade, second.throttled) == (
        first.kept,
        first.unmade,
        first.throttled,
    )


@given(histories(), ROWS, forms())
def test_the_hub_comes_to_rest_and_stays_there(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    last = settled(cluster, rows, given_forms)
    again = planned(cluster, rows, *given_forms, now=at(5000), marks=last.marks)
    assert again.is_empty
    assert again.marks == last.marks


@given(histories(), ROWS, forms())
def test_at_rest_there_is_a_node_for_every_pair_that_can_have_one(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    last = settled(cluster, rows, given_forms)
    moving = {form.metadata.name for form in given_forms if not form.spec.paused}
    failed = {node_name(each.pair) for each in last.failures}
    wanted = {name for name, pair in last.judgement.nodes.items() if pair.form in moving}
    assert wanted - failed <= cluster.nodes.keys()
    extra = cluster.nodes.keys() - last.judgement.nodes.keys() - last.kept
    assert moving.isdisjoint(pair.form for name in extra if (pair := pair_of(cluster.nodes[name])))


@given(histories(), ROWS, forms())
def test_nothing_goes_that_a_row_stands_for(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    order = planned(cluster, rows, *given_forms)
    uids = {row.uid for row in rows}
    names = {form.metadata.name for form in given_forms}
    for removal in order.deletes:
        assert removal.pair.uid not in uids or removal.pair.form not in names


@given(histories(), ROWS, forms())
def test_a_node_is_made_changed_or_removed_and_only_one_of_these(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    order = planned(cluster, rows, *given_forms)
    written = [
        *(each.node.metadata.name for each in order.creates),
        *(each.before.metadata.name for each in order.updates),
        *(each.name for each in order.deletes),
    ]
    assert len(written) == len(set(written))
    assert not order.kept & set(written)


@given(histories(), ROWS, forms())
def test_the_guard_lets_all_go_or_none(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    strict = a_hub(deletion_guard=DeletionGuard(max_count=1, max_percent=0))
    free = planned(cluster, rows, *given_forms)
    guarded = planned(cluster, rows, *given_forms, hub=strict)
    assert {each.name for each in guarded.deletes} | {*guarded.held} == {
        each.name for each in free.deletes
    }
    assert not guarded.held or len(guarded.held) > 1


@given(histories(), ROWS, forms())
def test_no_value_of_a_row_is_taken_for_a_template(
    cluster: Cluster, rows: list[ARow], given_forms: list[LynqForm]
) -> None:
    settled(cluster, rows, given_forms)
    for node in cluster.nodes.values():
        for each in node.spec.config_maps:
            assert each.name_template != "{{ .plan }}"
