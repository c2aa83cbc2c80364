"""Admit writes of nodes so that at most maxSkew nodes of a form are unavailable at a time.

A node holds a slot from its write until it is ready with that write, and whenever it is not ready
for another reason: a slot is a node whose tenant may be broken. Two numbers decide: the slots held
on any generation of the form, and the slots held on its current generation.

- A node that holds a slot on the current generation is always admitted: the write takes no further
  slot, and a changed row may repair the node.
- A node that holds a slot on an older generation is admitted while fewer than maxSkew nodes hold
  one on the current generation. If more were broken before the rollout, they are repaired maxSkew
  at a time.
- Any other node, also a new one, needs a free slot.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lynq.core.rollout.facts import NodeFacts

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Admission:
    """Nodes admitted now, and nodes that wait."""

    admitted: tuple[str, ...]
    """The nodes to write now, in this order."""
    waiting: tuple[str, ...]
    """The nodes whose writes are postponed."""
    updating: int
    """The number of slots held before the admitted writes."""
    recheck_at: datetime | None
    """When a slot may become free without an event; None if only an event can free one."""


def admit(
    pending: Collection[str],
    nodes: Iterable[NodeFacts],
    *,
    generation: int,
    max_skew: int,
    now: datetime,
) -> Admission:
    """Admit writes from `pending`, the names of nodes to create or update.

    `nodes` are all nodes of the form; a pending name that is not among them is a new node.
    """
    existing = {node.name: node for node in nodes}
    holders = {name: node for name, node in existing.items() if node.holds_slot(now)}
    queue = _in_order(pending, existing, holders)
    if max_skew == 0:
        admitted = queue
    else:
        admitted = _within_budget(queue, existing, holders, generation, max_skew)
    chosen = frozenset(admitted)
    return Admission(
        admitted=tuple(admitted),
        waiting=tuple(name for name in queue if name not in chosen),
        updating=len(holders),
        recheck_at=min(
            (ends for node in holders.values() if (ends := node.grace_ends(now))), default=None
        ),
    )


def _in_order(
    pending: Collection[str], existing: Mapping[str, NodeFacts], holders: Mapping[str, NodeFacts]
) -> list[str]:
    """Order by waiting time: holders of a slot, new nodes, then the least recently written.

    A row that changes all the time cannot starve the others.
    """

    def priority(name: str) -> tuple[bool, datetime, str]:
        node = existing.get(name)
        return name not in holders, (node and node.written_at) or _NEVER, name

    return sorted(set(pending), key=priority)


def _within_budget(
    queue: Iterable[str],
    existing: Mapping[str, NodeFacts],
    holders: Mapping[str, NodeFacts],
    generation: int,
    max_skew: int,
) -> list[str]:
    current = {name for name, node in holders.items() if node.form_generation == generation}
    # All holders come first in the queue: `held_current` is final before `held` is compared.
    held, held_current = len(holders), len(current)
    admitted = []
    for name in queue:
        if name in current:
            admitted.append(name)
        elif name in holders:
            if held_current < max_skew:
                admitted.append(name)
                held_current += 1
        # A paused node waits: otherwise all paused nodes would start at once when resumed.
        elif held < max_skew and not (name in existing and existing[name].paused):
            admitted.append(name)
            held += 1
    return admitted
