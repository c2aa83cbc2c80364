"""Which nodes may be written now, so that never more than maxSkew are on their way.

A node holds a slot from its write until it is ready with what was written, and also whenever it is
not ready for another reason: a slot is a node that its tenant may find broken. Two numbers follow:
the slots that are held, and those of them that are held on the form's present generation.

- A node that holds a slot on the present generation may always be written again: it takes no
  further slot, and a row may be what repairs it.
- A node that holds one on an older generation may be written while fewer than maxSkew hold one on
  the present generation. If more were broken before the rollout, they are repaired maxSkew at a
  time.
- Any other node, a new one too, needs a slot that nobody holds.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from lynq.core.rollout.facts import NodeFacts

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Admission:
    """Who is written now, and who waits."""

    go: tuple[str, ...]
    """The nodes to write now, in this order."""
    wait: tuple[str, ...]
    """Those that would have to be written as well."""
    updating: int
    """How many slots are held before any of that is written."""
    look_again: datetime | None
    """When a slot may open by the passing of time; all else is told by events."""


def admit(
    pending: Collection[str],
    nodes: Iterable[NodeFacts],
    *,
    generation: int,
    max_skew: int,
    now: datetime,
) -> Admission:
    """Choose from `pending`, the names of nodes to create or update, those that go now.

    `nodes` are all nodes of the form; a pending name that is not among them is a new node.
    """
    known = {node.name: node for node in nodes}
    holders = {name: node for name, node in known.items() if node.holds_slot(now)}
    queue = _in_turn(pending, known, holders)
    go = queue if max_skew == 0 else _within(queue, known, holders, generation, max_skew)
    chosen = frozenset(go)
    return Admission(
        go=tuple(go),
        wait=tuple(name for name in queue if name not in chosen),
        updating=len(holders),
        look_again=min(
            (ends for node in holders.values() if (ends := node.grace_ends(now))), default=None
        ),
    )


def _in_turn(
    pending: Collection[str], known: Mapping[str, NodeFacts], holders: Mapping[str, NodeFacts]
) -> list[str]:
    """Order by who has waited longest: repairs, new nodes, then the least recently written.

    So a row that changes all the time cannot keep the others from their turn.
    """

    def turn(name: str) -> tuple[bool, datetime, str]:
        node = known.get(name)
        return name not in holders, (node and node.written_at) or _NEVER, name

    return sorted(set(pending), key=turn)


def _within(
    queue: Iterable[str],
    known: Mapping[str, NodeFacts],
    holders: Mapping[str, NodeFacts],
    generation: int,
    max_skew: int,
) -> list[str]:
    present = {name for name, node in holders.items() if node.form_generation == generation}
    # The queue has all holders in front: once `held` counts, `started` has done its part.
    held, started = len(holders), len(present)
    go = []
    for name in queue:
        if name in present:
            go.append(name)
        elif name in holders:
            if started < max_skew:
                go.append(name)
                started += 1
        # A paused node waits: written now, all of them would start the moment they are let go.
        elif held < max_skew and not (name in known and known[name].paused):
            go.append(name)
            held += 1
    return go
