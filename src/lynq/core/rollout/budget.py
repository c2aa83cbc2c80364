"""Admits writes of nodes within two budgets of maxSkew slots each: the form's and the rows'.

maxSkew bounds the nodes that a form change has written and that are not settled. A node takes a
slot of the form's budget with that write, and holds it until it is settled, on any generation of
the form. The budget is never exceeded.

- A node that holds a slot on the current generation is always admitted: the write takes no further
  slot, and a changed row may repair the node.
- A node that holds a slot on an older generation is admitted while fewer than maxSkew nodes hold
  one on the current generation.
- A settled node needs a free slot.

New nodes and changes of rows take slots of the rows' budget: a rollout that is stuck does not stop
them. A node that is broken for a reason of its own holds no slot of the form's budget. A change of
its row is always admitted. A form change takes a slot of the rows' budget, because the node may
stay broken whatever the form.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from lynq.api import Rollout
from lynq.core.rollout.facts import Budget, NodeFacts

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Admission:
    """Nodes admitted now, and nodes that wait."""

    admitted: Mapping[str, Budget]
    """The nodes to write now, in this order, with the budget of the write."""
    waiting: Mapping[str, Budget]
    """The nodes whose writes are postponed, in this order, with the budget that they wait for."""
    updating: int
    """The number of slots held before the admitted writes."""
    recheck_at: datetime | None
    """When a slot may become free without an event; None if only an event can free one."""


def admit(
    pending: Collection[str],
    nodes: Iterable[NodeFacts],
    *,
    generation: int,
    rollout: Rollout,
    now: datetime,
) -> Admission:
    """Admit writes from `pending`, the names of nodes to create or update.

    `nodes` are all nodes of the form; a pending name that is not among them is a new node.
    """
    existing = {node.name: node for node in nodes}
    deadline = timedelta(seconds=rollout.progress_deadline_seconds)
    slots = {
        name: slot
        for name, node in existing.items()
        if (slot := node.slot(generation, deadline, now))
    }
    budgets = _Budgets(existing, slots, generation=generation, max_skew=rollout.max_skew, now=now)
    queue = _in_order(pending, existing, slots)
    for name in queue:
        budgets.admit(name)
    return Admission(
        admitted=budgets.admitted,
        waiting={name: budgets.of(name) for name in queue if name not in budgets.admitted},
        updating=len(slots),
        recheck_at=_recheck_at(existing, slots, deadline, now),
    )


def _in_order(
    pending: Collection[str], existing: Mapping[str, NodeFacts], slots: Mapping[str, Budget]
) -> list[str]:
    """Order by waiting time: holders of a slot, new nodes, then the least recently written.

    A row that changes all the time cannot starve the others.
    """

    def priority(name: str) -> tuple[bool, datetime, str]:
        node = existing.get(name)
        return name not in slots, (node and node.written_at) or _NEVER, name

    return sorted(set(pending), key=priority)


def _recheck_at(
    existing: Mapping[str, NodeFacts],
    slots: Mapping[str, Budget],
    deadline: timedelta,
    now: datetime,
) -> datetime | None:
    times = [existing[name].grace_ends(now) for name in slots]
    times += [existing[name].slot_ends(deadline) for name in slots if slots[name] is Budget.ROW]
    return min((time for time in times if time), default=None)


class _Budgets:
    """Counts the slots that are held while nodes are admitted, one after the other."""

    def __init__(
        self,
        existing: Mapping[str, NodeFacts],
        slots: Mapping[str, Budget],
        *,
        generation: int,
        max_skew: int,
        now: datetime,
    ) -> None:
        self.admitted: dict[str, Budget] = {}
        self._existing = existing
        self._slots = slots
        self._generation = generation
        self._max_skew = max_skew
        self._now = now
        self._held = Counter(slots.values())
        self._held_on_generation = sum(
            slot is Budget.FORM and self._is_current(name) for name, slot in slots.items()
        )

    def admit(self, name: str) -> None:
        """Admit the write of a node if its budget allows it."""
        budget = self.of(name)
        if self._max_skew and not self._is_allowed(name, budget):
            return
        self.admitted[name] = budget
        self._held[budget] += name not in self._slots
        self._held_on_generation += budget is Budget.FORM and not self._is_current(name)

    def of(self, name: str) -> Budget:
        """Return the budget that the write counts in: a slot of a rollout is kept until settled."""
        if self._slots.get(name) is Budget.FORM:
            return Budget.FORM
        is_settled = name in self._existing and not self._is_broken(name)
        return Budget.FORM if is_settled and not self._is_current(name) else Budget.ROW

    def _is_allowed(self, name: str, budget: Budget) -> bool:
        node = self._existing.get(name)
        if node is not None and node.paused:
            # Otherwise all paused nodes would start at once when they are resumed.
            return False
        if name in self._slots:
            # Holders come first in the queue, so that this count is final for the others.
            has_slot = budget is Budget.ROW or self._is_current(name)
            return has_slot or self._held_on_generation < self._max_skew
        if self._is_current(name) and self._is_broken(name):
            return True
        return self._held[budget] < self._max_skew

    def _is_current(self, name: str) -> bool:
        node = self._existing.get(name)
        return node is not None and node.form_generation == self._generation

    def _is_broken(self, name: str) -> bool:
        return self._existing[name].is_unsettled(self._now)
