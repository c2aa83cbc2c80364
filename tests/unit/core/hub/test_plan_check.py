"""A plan of all rows finds what a plan of changes, or its cache, has wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from lynq.api.naming import NodePair
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.plan_cache import Changes, PlanCache, plan_all
from lynq.core.hub.plan_check import PlanCheck, differing_nodes
from unit.core.hub.fixtures import NOON, WEB, ARow, a_hub, rows, running

UIDS = ("acme", "beta", "corp")
PRO = ARow("corp", {"plan": "pro"})


def inputs(read: list[ARow]) -> PlanInputs:
    nodes = list(running(*UIDS).nodes.values())
    return PlanInputs(hub=a_hub(), forms=[FormCandidate(WEB)], rows=read, nodes=nodes)


def check_of(read: list[ARow], overlooked: ARow | None = None) -> PlanCheck:
    """Return the check of a plan, which has overlooked the change of a row."""
    planned = inputs(rows(*UIDS))
    _, cache = plan_all(planned, NOON)
    assert cache
    if overlooked:
        cache.rows[overlooked.uid or ""] = overlooked
    planned = replace(planned, rows=read)
    changed = cache.plan_changes(planned, Changes(), NOON, carries_over=False)
    assert changed
    cache.update(changed)
    return PlanCheck(changed.plan, cache.copy(), planned, NOON)


def test_differing_writes_are_named() -> None:
    nothing = plan_hub(inputs(rows(*UIDS)), NOON)
    some = plan_hub(inputs([*rows("acme", "beta"), PRO]), NOON)
    fewer = plan_hub(inputs(rows("acme", "corp")), NOON)
    assert differing_nodes(nothing, nothing) == []
    assert differing_nodes(nothing, some) == ["corp-web"]
    assert differing_nodes(some, nothing) == ["corp-web"]
    assert differing_nodes(nothing, fewer) == ["beta-web"]


@pytest.mark.parametrize("read", [rows(*UIDS), [*rows("acme", "beta"), PRO], rows(*UIDS, "dawn")])
def test_plan_that_overlooks_nothing_agrees(read: list[ARow]) -> None:
    assert check_of(read).differing_nodes() is None


def test_overlooked_row_is_found() -> None:
    assert check_of([*rows("acme", "beta"), PRO], PRO).differing_nodes() == ["corp-web"]


def test_differing_write_is_found_in_an_equal_cache() -> None:
    other = plan_hub(inputs([*rows("acme", "beta"), PRO]), NOON)
    assert replace(check_of(rows(*UIDS)), plan=other).differing_nodes() == ["corp-web"]


def forget_node(cache: PlanCache) -> None:
    del cache.nodes["beta-web"]


def forget_pair(cache: PlanCache) -> None:
    del cache.pairs["beta-web"]


def forget_spec(cache: PlanCache) -> None:
    del cache.checked_specs["beta-web"]


def forget_row(cache: PlanCache) -> None:
    del cache.rows["beta"]


def forget_time(cache: PlanCache) -> None:
    cache.unsettled = frozenset({"beta"})


def invent_node(cache: PlanCache) -> None:
    cache.other_nodes["beta-db"] = NodePair("beta", "db")


def miscount(cache: PlanCache) -> None:
    cache.live = 7


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        (forget_node, ["beta-web"]),
        (forget_pair, ["beta-web"]),
        (forget_spec, ["beta-web"]),
        (forget_row, ["beta-web"]),
        (forget_time, ["beta-web"]),
        (invent_node, ["beta-db"]),
        (miscount, []),
    ],
)
def test_wrong_entry_of_the_cache_is_found_before_it_matters(
    edit: Callable[[PlanCache], None], names: list[str]
) -> None:
    check = check_of(rows(*UIDS))
    edit(check.cache)
    assert check.differing_nodes() == names


def test_plan_whose_rows_affect_each_other_differs() -> None:
    check = check_of(rows(*UIDS))
    rejected = replace(check.inputs, rows=rows(*UIDS, "Spoilt"))
    assert replace(check, inputs=rejected).differing_nodes() == []
