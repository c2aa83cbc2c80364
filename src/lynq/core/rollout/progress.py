"""How far a form's rollout has come: its status, and when to look at it again.

A rollout begins when the form has a new generation, or when there is something to do again after
all was done. It has failed when nodes are on their way and nothing came of it for
progressDeadlineSeconds; that is no end, and any node that becomes ready lets it go on.

The state of a rollout in words, with the nodes that hold it up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.core.rollout.facts import NodeFacts

_NAMED = 3


def describe(status: RolloutStatus, holders: Sequence[str], rollout: Rollout) -> RolloutStatus:
    """Return the status with its message.

    Nothing in it counts seconds: the same state gives the same words, and no write of the status.
    """
    return replace(status, message=_message(status, holders, rollout))


def _message(status: RolloutStatus, holders: Sequence[str], rollout: Rollout) -> str:
    match status.phase:
        case RolloutPhase.COMPLETE:
            return f"all nodes are ready with generation {status.target_generation}"
        case RolloutPhase.FAILED:
            return (
                f"{_count(status)}, none more for {rollout.progress_deadline_seconds} s; "
                f"correct the form or the rows of {_names(holders)}"
            )
        case RolloutPhase.IDLE if not status.total_nodes:
            return "the form has no nodes"
        case _:
            on_their_way = f"; on the way: {_names(holders)}" if holders else ""
            return _count(status) + on_their_way


def _count(status: RolloutStatus) -> str:
    return (
        f"{status.ready_updated_nodes} of {status.total_nodes} nodes are ready with generation "
        f"{status.target_generation}"
    )


def _names(holders: Sequence[str]) -> str:
    further = f" and {len(holders) - _NAMED} more" if len(holders) > _NAMED else ""
    return ", ".join(holders[:_NAMED]) + further


@dataclass(frozen=True, slots=True)
class RolloutAssessment:
    """The rollout's state now."""

    status: RolloutStatus | None
    """None if the form does not limit its rollouts: then there is nothing to tell."""
    look_again: datetime | None
    """When the state may change by the passing of time; all else is told by events."""


@dataclass(frozen=True, slots=True)
class _RolloutCounts:
    """A form's nodes by how far they have come."""

    total: int
    updated: int
    updating: Sequence[NodeFacts]
    """Have the present generation, and are on their way."""
    settled: Sequence[NodeFacts]
    """Have the present generation, and are ready."""
    holders: Sequence[NodeFacts]
    """Hold a slot, on whichever generation."""

    @classmethod
    def of(cls, nodes: Iterable[NodeFacts], generation: int, now: datetime) -> "_RolloutCounts":
        known = sorted(nodes, key=lambda node: node.name)
        updated = [node for node in known if node.form_generation == generation]
        return cls(
            total=len(known),
            updated=len(updated),
            updating=[node for node in updated if node.holds_slot(now)],
            settled=[node for node in updated if node.has_settled(now)],
            holders=[node for node in known if node.holds_slot(now)],
        )


def assess(
    nodes: Iterable[NodeFacts],
    previous: RolloutStatus | None,
    *,
    generation: int,
    rollout: Rollout | None,
    now: datetime,
) -> RolloutAssessment:
    """Return the state of the rollout of `generation`, given the status that was last written."""
    if rollout is None or rollout.max_skew == 0:
        return RolloutAssessment(None, None)
    tally = _RolloutCounts.of(nodes, generation, now)
    began = _began(tally, previous, generation, now)
    deadline = _deadline(tally, began, timedelta(seconds=rollout.progress_deadline_seconds))
    phase = _phase(tally, has_failed=deadline is not None and deadline <= now)
    status = RolloutStatus(
        phase=phase,
        target_generation=generation,
        total_nodes=tally.total,
        updated_nodes=tally.updated,
        updating_nodes=len(tally.updating),
        ready_updated_nodes=len(tally.settled),
        start_time=began if tally.total else None,
        completion_time=_completed(phase, previous, began, now),
    )
    return RolloutAssessment(
        describe(status, [node.name for node in tally.holders], rollout),
        _recheck_at(tally, deadline, now),
    )


def _phase(tally: _RolloutCounts, *, has_failed: bool) -> RolloutPhase:
    if tally.total and len(tally.settled) == tally.total:
        return RolloutPhase.COMPLETE
    if has_failed:
        return RolloutPhase.FAILED
    return RolloutPhase.IN_PROGRESS if tally.updated else RolloutPhase.IDLE


def _began(
    tally: _RolloutCounts, previous: RolloutStatus | None, generation: int, now: datetime
) -> datetime:
    """Return when this rollout began: now, unless the last status speaks about the same one."""
    if previous is None or previous.target_generation != generation:
        return now
    resumed = previous.phase is RolloutPhase.COMPLETE and len(tally.settled) < tally.total
    return now if resumed else previous.start_time or now


def _completed(
    phase: RolloutPhase, previous: RolloutStatus | None, began: datetime, now: datetime
) -> datetime | None:
    if phase is not RolloutPhase.COMPLETE:
        return None
    # The same start is the same rollout, and that was completed once.
    known = previous if previous is not None and previous.start_time == began else None
    return (known and known.completion_time) or now


def _deadline(tally: _RolloutCounts, began: datetime, allowed: timedelta) -> datetime | None:
    """Return when the rollout counts as failed, unless a node becomes ready before.

    While nodes still wait for their turn, any that becomes ready starts the clock anew. When none
    is left to start, the oldest on its way is given its time and no more: otherwise the daily
    changes of other rows would hide it for ever.
    """
    if not tally.holders:
        return None
    since = [began, min(node.on_its_way_since() or began for node in tally.holders)]
    if tally.updated < tally.total:
        since += [moment for node in tally.settled if (moment := node.settled_at())]
    return max(since) + allowed


def _recheck_at(tally: _RolloutCounts, deadline: datetime | None, now: datetime) -> datetime | None:
    moments = [ends for node in tally.holders if (ends := node.grace_ends(now))]
    if deadline is not None:
        moments.append(deadline)
    return min((moment for moment in moments if moment > now), default=None)
