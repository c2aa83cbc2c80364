"""Compares a plan of changes, and what it has recorded, with a plan of all rows of the same state.

The plan of changes is carried out meanwhile. It deletes nothing, and a difference is a bug of
`lynq.core.hub.plan_cache`: then the cache is dropped, so that all rows are planned at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from lynq.core.hub.plan import HubPlan, PlanInputs
from lynq.core.hub.plan_cache import PlanCache, plan_all

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """A plan of changes that is compared with a plan of all rows."""

    plan: HubPlan
    """Made without writes of earlier plans."""
    cache: PlanCache
    """A copy of the cache after the plan."""
    inputs: PlanInputs
    """All rows and nodes at the time of the plan."""
    now: datetime

    def differing_nodes(self) -> list[str] | None:
        """Return the names of the nodes that a plan of all rows finds otherwise; None if it agrees.

        Empty if the plans differ in something else than nodes.
        """
        plan, cache = plan_all(self.inputs, self.now)
        names = differing_nodes(self.plan, plan)
        if cache is None:
            return names
        if not names and _entries(self.cache) == _entries(cache):
            return None
        return sorted({*names, *_differing_entries(self.cache, cache)})


def differing_nodes(changes: HubPlan, full: HubPlan) -> list[str]:
    """Return the names of the nodes that two plans of one state write differently."""
    names = _differing_keys(_writes(changes), _writes(full))
    return sorted(names.union(full.held, full.kept))


def _writes(plan: HubPlan) -> dict[str, object]:
    return {
        **{creation.name: creation for creation in plan.creates},
        **{update.name: update for update in plan.updates},
        **{deletion.name: deletion for deletion in plan.deletes},
    }


def _entries(cache: PlanCache) -> tuple[object, ...]:
    # Compared as a whole, which does not look into the rows and nodes that are the same objects.
    return (
        cache.rows,
        cache.nodes,
        cache.other_nodes,
        cache.pairs,
        cache.checked_specs,
        cache.live,
        cache.unsettled,
    )


def _differing_entries(first: PlanCache, second: PlanCache) -> set[str]:
    uids = _differing_keys(first.rows, second.rows) | (first.unsettled ^ second.unsettled)
    return {
        *(name for name, pair in (first.pairs | second.pairs).items() if pair.uid in uids),
        *_differing_keys(first.nodes, second.nodes),
        *_differing_keys(first.other_nodes, second.other_nodes),
        *_differing_keys(first.pairs, second.pairs),
        *_differing_keys(first.checked_specs, second.checked_specs),
    }


def _differing_keys(first: Mapping[str, T], second: Mapping[str, T]) -> set[str]:
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
