"""The status of a form's rollout, and when to recheck it.

A rollout starts with a new generation of the form, or when a node becomes unsettled after a
completed rollout. It fails when nodes are unsettled and none became ready within
progressDeadlineSeconds. A failed rollout continues as soon as a node becomes ready.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.api.text import and_more
from lynq.core.rollout.facts import Budget, NodeFacts


@dataclass(frozen=True, slots=True)
class RolloutAssessment:
    """The current state of a rollout."""

    status: RolloutStatus | None
    """None if the form does not limit its rollouts."""
    recheck_at: datetime | None
    """When the state may change without an event; None if only an event can change it."""


@dataclass(frozen=True, slots=True)
class _NodesByProgress:
    """The nodes of a form by their progress in the rollout."""

    total: int
    updated: int
    """Nodes written with the current generation."""
    updating: int
    """Number of nodes that the current generation has written and that hold a slot."""
    settled: Sequence[NodeFacts]
    """Nodes of the current generation that are ready."""
    unsettled: Sequence[NodeFacts]
    """Nodes of any generation that are not ready with their last write."""

    @classmethod
    def of(
        cls, nodes: Iterable[NodeFacts], generation: int, deadline: timedelta, now: datetime
    ) -> "_NodesByProgress":
        by_name = sorted(nodes, key=lambda node: node.name)
        updated = [node for node in by_name if node.form_generation == generation]
        return cls(
            total=len(by_name),
            updated=len(updated),
            updating=sum(node.slot(generation, deadline, now) is Budget.FORM for node in updated),
            settled=[node for node in updated if node.has_settled(now)],
            unsettled=[node for node in by_name if node.is_unsettled(now)],
        )


def assess(
    nodes: Iterable[NodeFacts],
    previous: RolloutStatus | None,
    *,
    generation: int,
    rollout: Rollout | None,
    now: datetime,
) -> RolloutAssessment:
    """Return the state of the rollout of `generation`; `previous` is the last written status."""
    if rollout is None or rollout.max_skew == 0:
        return RolloutAssessment(None, None)
    allowed = timedelta(seconds=rollout.progress_deadline_seconds)
    by_progress = _NodesByProgress.of(nodes, generation, allowed, now)
    start = _start_time(by_progress, previous, generation, now)
    deadline = _deadline(by_progress, start, allowed)
    phase = _phase(by_progress, has_failed=deadline is not None and deadline <= now)
    status = RolloutStatus(
        phase=phase,
        target_generation=generation,
        total_nodes=by_progress.total,
        updated_nodes=by_progress.updated,
        updating_nodes=by_progress.updating,
        ready_updated_nodes=len(by_progress.settled),
        start_time=start if by_progress.total else None,
        completion_time=_completion_time(phase, previous, start, now),
    )
    message = _message(status, [node.name for node in by_progress.unsettled], rollout)
    return RolloutAssessment(
        replace(status, message=message), _recheck_at(by_progress, deadline, now)
    )


def _phase(nodes: _NodesByProgress, *, has_failed: bool) -> RolloutPhase:
    if nodes.total and len(nodes.settled) == nodes.total:
        return RolloutPhase.COMPLETE
    if has_failed:
        return RolloutPhase.FAILED
    return RolloutPhase.IN_PROGRESS if nodes.updated else RolloutPhase.IDLE


def _start_time(
    nodes: _NodesByProgress, previous: RolloutStatus | None, generation: int, now: datetime
) -> datetime:
    """Return when this rollout started: now, unless the previous status is of the same rollout."""
    if previous is None or previous.target_generation != generation:
        return now
    resumed = previous.phase is RolloutPhase.COMPLETE and len(nodes.settled) < nodes.total
    return now if resumed else previous.start_time or now


def _completion_time(
    phase: RolloutPhase, previous: RolloutStatus | None, start: datetime, now: datetime
) -> datetime | None:
    if phase is not RolloutPhase.COMPLETE:
        return None
    # A rollout is identified by its start time, and its first completion counts.
    same = previous if previous is not None and previous.start_time == start else None
    return (same and same.completion_time) or now


def _deadline(nodes: _NodesByProgress, start: datetime, allowed: timedelta) -> datetime | None:
    """Return when the rollout fails unless a node becomes ready before; None if all are settled.

    While nodes wait to be updated, every node that becomes ready restarts the deadline. Once all
    are updated, the node that is unsettled longest decides: otherwise changes of other rows could
    postpone the deadline forever.
    """
    if not nodes.unsettled:
        return None
    since = [start, min(node.unsettled_since() or start for node in nodes.unsettled)]
    if nodes.updated < nodes.total:
        since += [time for node in nodes.settled if (time := node.settled_at())]
    return max(since) + allowed


def _recheck_at(
    nodes: _NodesByProgress, deadline: datetime | None, now: datetime
) -> datetime | None:
    times = [ends for node in nodes.unsettled if (ends := node.grace_ends(now))]
    if deadline is not None:
        times.append(deadline)
    return min((time for time in times if time > now), default=None)


def _message(status: RolloutStatus, unsettled: Sequence[str], rollout: Rollout) -> str:
    """Return the message of the status.

    It contains no elapsed time: an unchanged state must give an equal status.
    """
    match status.phase:
        case RolloutPhase.COMPLETE:
            return f"all nodes are ready with generation {status.target_generation}"
        case RolloutPhase.FAILED:
            return (
                f"{_ready_count(status)}; no progress for {rollout.progress_deadline_seconds} s; "
                f"correct the form or the rows of {and_more(unsettled)}"
            )
        case RolloutPhase.IDLE if not status.total_nodes:
            return "form has no nodes"
        case _:
            updating = f"; not ready yet: {and_more(unsettled)}" if unsettled else ""
            return _ready_count(status) + updating


def _ready_count(status: RolloutStatus) -> str:
    return (
        f"{status.ready_updated_nodes} of {status.total_nodes} nodes are ready with generation "
        f"{status.target_generation}"
    )
