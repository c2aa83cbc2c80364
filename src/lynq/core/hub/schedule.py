"""Decides when a hub reads its rows, when it plans, and when it is reconciled again.

The rules:

- Rows are read when the sync interval has passed; when a user requests it (a new spec,
  `force-sync`, an approval); when they may have changed (a push notification, a change of the hub
  or one of its forms); and after a failed read when its back-off has passed.
- Rows are read again when the absence of a row has to be confirmed.
- A push notification that names the changed rows triggers a read of these rows only
  (`lynq.core.hub.selected_rows`), unless a read of all rows is due.
- Two reads start at least `min_interval` apart, whatever their reason: many changes cause one read.
  The pause before a pushed read follows the duration of the last read instead: reads take a small
  part of the time.
- A pushed read also waits while planning pauses: planning ten thousand nodes is slow.
- Everything else plans with the rows of the last read. They must not be older than one interval,
  and not older than a request: an approval must not delete a tenant that has come back since.
- Rows that were not planned with yet are used at any age. Otherwise hubs that wait for their turn
  longer than an interval would only read. `rows_allow_deletion` restricts their deletions.
- The rest of a plan is executed at once. A new plan replaces it when one is due, but not before
  `PlanState.not_before`, even with new rows: thousands of writes take many turns. A rest that
  deletes nodes of vanished rows is replaced as soon as there are new rows: they may be back.
- Writes make way for a read that is due, and for a plan of rows that have just been read: a changed
  row is not delayed by the turn in which an import of ten thousand rows is written.
- After a failed read, only deletions of nodes without form are planned: the rows may have changed.
- Nothing is planned while the installation key is missing: nodes could not be signed.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from lynq.api import LynqHub
from lynq.api.wire import LONGEST_TIMESTAMP
from lynq.core.hub.state import PlanState, ReadState, UserRequests, WriteState

# More digits would overflow a timedelta.
_DURATION: Final = re.compile(r"0*([0-9]{1,9})([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_FALLBACK_DURATION: Final = timedelta(seconds=30)
_MIN_DURATION: Final = timedelta(seconds=1)
_FIRST_RETRY: Final = timedelta(seconds=1)
_MAX_DOUBLINGS: Final = 30
"""Reaches every interval; more would overflow a timedelta."""
_READ_SHARE: Final = 10
"""A read takes at most one part in this many of the time."""
_WRITE_RETRY_SPEEDUP: Final = 16
"""A failed write is retried this many times sooner than a failed read."""


def duration_of(text: str) -> timedelta:
    """Return the duration `30s`, `5m` or `1h`, from 1 s to ten years; 30 s if it is invalid."""
    match = _DURATION.fullmatch(text)
    if not match:
        return _FALLBACK_DURATION
    duration = timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
    return min(max(duration, _MIN_DURATION), LONGEST_TIMESTAMP)


def sync_interval(hub: LynqHub) -> timedelta:
    """Return the interval at which a hub reads its rows."""
    return duration_of(hub.spec.source.sync_interval)


def confirm_after(hub: LynqHub) -> timedelta:
    """Return how long a row or form must be missing before its nodes are deleted; 0 is allowed."""
    text = hub.spec.deletion_guard.confirm_after
    match = _DURATION.fullmatch(text)
    return timedelta() if match and int(match[1]) == 0 else duration_of(text)


def deletion_window(hub: LynqHub) -> timedelta:
    """Return how long a deletion counts against the limits of the hub's deletion guard."""
    return duration_of(hub.spec.deletion_guard.window)


def backoff_delay(failures: int, longest: timedelta, *, jitter: float = 0.0) -> timedelta:
    """Return the delay after a number of consecutive failures, `longest` at most.

    A `jitter` from 0 to 1 subtracts up to half of the delay, so that the hubs of one database do
    not retry at the same moment.
    """
    doublings = min(max(failures - 1, 0), _MAX_DOUBLINGS)
    return min(_FIRST_RETRY * (1 << doublings), longest) * (1 - jitter / 2)


def write_retry_delay(failures: int, hub: LynqHub) -> timedelta:
    """Return the delay after a number of consecutive plan executions with failed writes."""
    longest = sync_interval(hub) * _WRITE_RETRY_SPEEDUP
    return backoff_delay(failures, longest) / _WRITE_RETRY_SPEEDUP


def must_abandon(hub: LynqHub, read: ReadState) -> bool:
    """Return whether the read in progress is useless: the hub has a new spec or is paused."""
    requests = read.requests
    return requests is not None and (
        hub.spec.paused or requests.generation != hub.metadata.generation
    )


def push_interval(duration: timedelta, *, shortest: timedelta, longest: timedelta) -> timedelta:
    """Return the least time between the starts of a read of this duration and a pushed one."""
    return min(max(_READ_SHARE * duration, shortest), longest)


def must_read(hub: LynqHub, read: ReadState, plan: PlanState, now: datetime) -> bool:
    """Return whether a read has to start now."""
    if read.job or hub.spec.paused:
        return False
    return _read_due(hub, read, plan, now) <= now


def uids_to_select(hub: LynqHub, read: ReadState, now: datetime) -> frozenset[str] | None:
    """Return the uids whose rows suffice for the read that starts now; None if all rows are due."""
    rows = read.rows
    if rows is None or read.failure or read.requested:
        return None
    if UserRequests.of(hub).exceed(rows.requests) or _read_due_by_time(hub, read, now) <= now:
        return None
    return read.changed_uids or None


def must_plan(
    hub: LynqHub, read: ReadState, plan: PlanState, write: WriteState, now: datetime
) -> bool:
    """Return whether to plan now with the rows of the last read."""
    due = _plan_due(hub, read, plan, write, now)
    return due is not None and due <= now


def must_interrupt(hub: LynqHub, read: ReadState, plan: PlanState, now: datetime) -> bool:
    """Return whether writes have to make way for a read, or for a plan of new rows."""
    if hub.spec.paused:
        return False
    has_new_rows = plan.requested and plan.rows is not read.rows
    may_plan = plan.not_before is None or plan.not_before <= now
    if has_new_rows and may_plan and _are_rows_usable(hub, read, plan, now):
        return True
    return must_read(hub, read, plan, now)


def must_plan_without_rows(
    hub: LynqHub, read: ReadState, plan: PlanState, write: WriteState
) -> bool:
    """Return whether nodes of deleted forms have to be deleted although no rows can be read."""
    may_plan = not hub.spec.paused and plan.missing_key is None
    return read.failure is not None and write.execution is None and may_plan


def next_run_at(
    hub: LynqHub,
    read: ReadState,
    plan: PlanState,
    write: WriteState,
    now: datetime,
) -> datetime | None:
    """Return when the hub has to be reconciled if no event triggers it before."""
    if hub.spec.paused:
        return None
    if write.execution:
        return now
    # A read in progress requeues the hub when it ends.
    read_due = None if read.job else _read_due(hub, read, plan, now)
    moments = (read_due, _plan_due(hub, read, plan, write, now))
    return min((moment for moment in moments if moment), default=None)


def _read_due(hub: LynqHub, read: ReadState, plan: PlanState, now: datetime) -> datetime:
    is_pushed = read.changed_at is not None
    due = _read_due_by_time(hub, read, now)
    if read.requests is None or UserRequests.of(hub).exceed(read.requests):
        due = now
    elif read.requested or read.changed_uids:
        not_before = plan.not_before if is_pushed else None
        due = min(due, max(now, not_before or now))
    started_at = read.started_at
    # A clock that is set back must not delay the next read by the difference.
    if started_at is None or started_at > now:
        return due
    return max(due, started_at + (read.push_interval if is_pushed else read.min_interval))


def _read_due_by_time(hub: LynqHub, read: ReadState, now: datetime) -> datetime:
    interval = sync_interval(hub)
    due = read.retry_at
    if not read.failure:
        due = read.rows.at + interval if read.rows else None
    # More than an interval ahead, the clock was set back.
    due = now if due is None or due - now > interval else due
    if read.confirm_at is None or read.failure:
        return due
    return min(due, now if read.confirm_at - now > confirm_after(hub) else read.confirm_at)


def _plan_due(
    hub: LynqHub, read: ReadState, plan: PlanState, write: WriteState, now: datetime
) -> datetime | None:
    if hub.spec.paused or plan.missing_key or not _are_rows_usable(hub, read, plan, now):
        return None
    moments = [now] if plan.requested else []
    moments += [moment for moment in (plan.recheck_at, write.retry_at) if moment]
    if not moments:
        return None
    is_busy = write.execution is not None and not write.execution.remaining_row_deletions
    has_to_wait = plan.rows is read.rows or is_busy
    not_before = plan.not_before if has_to_wait else None
    return max(min(moments), not_before or min(moments))


def _are_rows_usable(hub: LynqHub, read: ReadState, plan: PlanState, now: datetime) -> bool:
    rows = read.rows
    if rows is None or read.failure or UserRequests.of(hub).exceed(rows.requests):
        return False
    return now - rows.at <= sync_interval(hub) or plan.rows is not rows
