"""The state of a rollout in words, with the nodes that hold it up."""

from collections.abc import Sequence

from msgspec.structs import replace

from lynq.api import Rollout, RolloutPhase, RolloutStatus

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
