"""When a node's status is written, when the node is applied by force, and when it is requeued.

A workload that becomes ready passes through several stages within a second. A status write per
stage would cost more requests than the resources themselves, so such a status is debounced. A
status that others act upon is written at once.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import Condition, LynqNode, NodeStatus, ResourceState, ResourceStatus
from lynq.api.conditions import is_true
from lynq.api.names import ANNOTATION_FORCE_RECONCILE
from lynq.api.reasons import ConditionType
from lynq.core.node.state import earliest

_STATUS_DEBOUNCE: Final = timedelta(seconds=5)
_URGENT_STATES: Final = frozenset(
    {ResourceState.FAILED, ResourceState.CONFLICTED, ResourceState.SKIPPED, ResourceState.DELETING}
)
_PROGRESS_STATES: Final = frozenset(
    {ResourceState.READY, ResourceState.PROGRESSING, ResourceState.WAITING}
)
_FORCE_SPREAD: Final = 0.1
"""Share of the force-reapply interval over which the nodes are spread."""


DEFERRED_RETRY: Final = timedelta(minutes=5)
"""A deferred write is tried again after this time, if nothing requeues the node before. The slow
kind of a large hub defers the writes of thousands of nodes, and each retry costs a reconcile."""


class ForcedApply(Enum):
    """Whether a reconcile has applied all resources, changed or not."""

    NOT_DUE = auto()
    COMPLETED = auto()
    DEFERRED = auto()
    """It is due, and writes of a kind of the node are slow."""


def debounce_status(
    before: NodeStatus, after: NodeStatus, since_last_write: timedelta
) -> timedelta | None:
    """Return for how long a new status may still wait; None if it must be written now.

    A negative `since_last_write` means that the clock was set back, and then the time since the
    last write is unknown.
    """
    may_wait = timedelta(0) <= since_last_write < _STATUS_DEBOUNCE and not is_urgent(before, after)
    return _STATUS_DEBOUNCE - since_last_write if may_wait else None


def postpone_progress(before: NodeStatus, after: NodeStatus, waited: timedelta) -> timedelta | None:
    """Return for how long the first status of a node may wait for other writes; None: not at all.

    The initial inventory lists the objects meanwhile. A status that a later decision depends on
    does not wait: it records a failure, a policy, an adopted object, a completed Job or a forced
    reconcile. Nor does the result.
    """
    is_first = not (before.conditions or before.resources)
    is_forced = after.last_handled_force_reconcile != before.last_handled_force_reconcile
    is_progress = not is_true(after.conditions, ConditionType.READY) and all(
        entry.state in _PROGRESS_STATES and not (_is_recorded(entry) or entry.adopted_uid)
        for entry in after.resources
    )
    is_first_progress = is_first and is_progress and not is_forced
    may_wait = timedelta(0) <= waited < _STATUS_DEBOUNCE and is_first_progress
    return _STATUS_DEBOUNCE - waited if may_wait else None


def is_urgent(before: NodeStatus, after: NodeStatus) -> bool:
    """Return whether more than the progress of resources that are not ready yet differs."""
    return _urgent_part(before) != _urgent_part(after)


def _urgent_part(status: NodeStatus) -> tuple[Any, ...]:
    # The end of a reconcile shows in its outcome, so Progressing alone is not urgent.
    conditions = tuple(
        _condition_key(condition)
        for condition in status.conditions
        if condition.type != ConditionType.PROGRESSING
    )
    failures = tuple(
        (entry.id, entry.name, entry.state)
        for entry in status.resources
        if entry.state in _URGENT_STATES
    )
    recorded = tuple(
        (entry.id, entry.name, entry.deletion_policy, entry.completed)
        for entry in status.resources
        if _is_recorded(entry)
    )
    rest = replace(status, resources=(), conditions=(), ready_resources=0)
    return rest, conditions, failures, recorded


def _is_recorded(entry: ResourceStatus) -> bool:
    """Return whether only the status keeps what a later decision depends on.

    An entry to retain may leave the form in the next moment, and a completed Job may be deleted.
    """
    return entry.deletion_policy is not None or entry.completed


def _condition_key(condition: Condition) -> tuple[str, str, str]:
    return condition.type, condition.status, condition.reason


def force_due_at(last_full: datetime | None, interval: timedelta, node_uid: str) -> datetime | None:
    """Return when the next forced reconcile of a node is due; None without a baseline.

    Nodes that got their baseline together, after a restart, must not come due together: each waits
    up to a tenth of the interval longer, by a share that is derived from its uid.
    """
    if last_full is None:
        return None
    drawn = hashlib.sha256(node_uid.encode()).digest()[:4]
    share = int.from_bytes(drawn, "big") / 2**32
    return last_full + interval * (1 + _FORCE_SPREAD * share)


def is_force_requested(node: LynqNode) -> bool:
    """Return whether a user requests that all resources are applied."""
    requested = node.metadata.annotations.get(ANNOTATION_FORCE_RECONCILE, "")
    return bool(requested) and requested != node.status.last_handled_force_reconcile


def is_force_due(node: LynqNode, interval: timedelta, now: datetime) -> bool:
    """Return whether all resources are applied now, changed or not.

    The annotation `lynq.sh/force-reconcile` requests it, and so does the force-reapply interval,
    the backstop against undetected drift.
    """
    if is_force_requested(node):
        return True
    due = force_due_at(node.status.last_full_reconcile_at, interval, node.metadata.uid)
    return due is not None and due <= now


def requeue_at(
    status: NodeStatus,
    deadlines: Iterable[datetime | None],
    now: datetime,
    not_ready_requeue: timedelta,
    *,
    has_deferred_writes: bool = False,
) -> datetime | None:
    """Return when the node is reconciled next without a watch event; None if never.

    A node that is not ready, or still prunes objects, is reconciled at a fixed interval: a watch
    event may have been lost. One whose writes are deferred is requeued when they can be sent.
    """
    if has_deferred_writes:
        not_ready_requeue = max(not_ready_requeue, DEFERRED_RETRY)
    is_pruning = len(status.resources) > status.desired_resources
    is_ready = status.ready_resources == status.desired_resources and not is_pruning
    return earliest((*deadlines, None if is_ready else now + not_ready_requeue))
