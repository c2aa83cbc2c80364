"""The order of a rollout: the waves in which `admit` admits pending writes.

Every written node is assumed to settle before the next wave. A node that holds a slot and is not
written keeps it. If all slots are held like this, the rest waits.
"""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from lynq.api import Rollout
from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import Budget, NodeFacts


@dataclass(frozen=True, slots=True)
class RolloutOrder:
    """The nodes of a form in the order of their writes."""

    waves: tuple[tuple[str, ...], ...]
    """A wave is written at once, and the next one when its nodes are settled."""
    waiting: tuple[str, ...]
    """The nodes that get no slot; paused nodes are not among them."""
    holders: tuple[str, ...]
    """The nodes that hold the slots which they wait for."""


def rollout_order(
    pending: Collection[str],
    nodes: Iterable[NodeFacts],
    *,
    generation: int,
    rollout: Rollout,
    now: datetime,
) -> RolloutOrder:
    """Return the order of writes from `pending`; the arguments are those of `admit`."""
    existing = {node.name: node for node in nodes}
    deadline = timedelta(seconds=rollout.progress_deadline_seconds)
    holders = {name for name, node in existing.items() if node.slot(generation, deadline, now)}

    def admitted(names: Collection[str]) -> Admission:
        facts = [existing[name] for name in holders.union(names) if name in existing]
        return admit(names, facts, generation=generation, rollout=rollout, now=now)

    admission = admitted(pending)
    paused = {name for name, node in existing.items() if node.paused}
    queues = _queues(admission, paused)
    waves: list[tuple[str, ...]] = []
    while admission.admitted:
        waves.append(tuple(admission.admitted))
        holders.difference_update(admission.admitted)
        # A wave admits no more than this from each budget: the rest is not considered.
        size = rollout.max_skew + len(holders)
        candidates = [name for queue in queues for name in islice(queue, size)]
        admission = admitted(candidates)
        for queue in queues:
            window = [queue.popleft() for _ in range(min(size, len(queue)))]
            queue.extendleft(reversed([name for name in window if name not in admission.admitted]))
    waiting = tuple(name for queue in queues for name in queue)
    return RolloutOrder(tuple(waves), waiting, tuple(sorted(holders)) if waiting else ())


def _queues(admission: Admission, paused: Collection[str]) -> list[deque[str]]:
    """Return the waiting nodes in a queue per budget; a budget does not wait for another one."""
    return [
        deque(
            name
            for name, waits_for in admission.waiting.items()
            if waits_for is budget and name not in paused
        )
        for budget in Budget
    ]
