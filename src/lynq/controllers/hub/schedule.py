"""When a hub reads its rows, when it plans from those it remembers, when it looks again.

Pure: the hub, what is remembered of it and the time in. The rules:

- Rows are read when the interval is over, when somebody asks for it (a new spec, `force-sync`, an
  approval), when something has happened that they may know of (word of the push channel, a change
  of the hub or of one of its forms), and after a failure when its pause is over.
- Between two reads there is a second at least, whatever they are for: many changes are one read.
- All else plans from remembered rows. They are at most one interval old: older ones are read anew.
  So are those from before an order: an approval must not remove a tenant that has come back since.
- Rows that no plan was made from are planned from at any age: where hubs wait for their turn longer
  than an interval, they would else read for ever. But no node goes by rows that are over a minute
  old and over an interval.
- What is left of a plan goes on at once. Another plan takes its place when one is due, though not
  before the last has rested, be there new rows or not: thousands of writes are many turns.
- After a failed read nothing is planned. What could not be read may say anything by now.
"""

from datetime import datetime

from lynq.api import LynqHub
from lynq.controllers.hub.state import HubState, UserRequests
from lynq.core.hub.schedule import sync_interval


def must_abandon(hub: LynqHub, memory: HubState) -> bool:
    """Return whether the read under way is of no use: the hub is another, or paused."""
    known = memory.orders
    return known is not None and (hub.spec.paused or known.generation != hub.metadata.generation)


def must_read(hub: LynqHub, memory: HubState, now: datetime) -> bool:
    """Return whether the rows have to be read now."""
    if memory.reading or hub.spec.paused:
        return False
    return _read_due(hub, memory, now) <= now


def must_plan(hub: LynqHub, memory: HubState, now: datetime) -> bool:
    """Return whether to plan now, from the rows that are remembered."""
    due = _plan_due(hub, memory, now)
    return due is not None and due <= now


def next_run_at(hub: LynqHub, memory: HubState, now: datetime) -> datetime | None:
    """Return when the passing of time alone gives the hub something to do."""
    if hub.spec.paused:
        return None
    if memory.course:
        return now
    # A read under way wakes the hub at its end.
    read = None if memory.reading else _read_due(hub, memory, now)
    moments = (read, _plan_due(hub, memory, now))
    return min((moment for moment in moments if moment), default=None)


def _read_due(hub: LynqHub, memory: HubState, now: datetime) -> datetime:
    due = now if _is_asked_for(hub, memory) else _due_by_time(hub, memory, now)
    began = memory.began
    # A clock that was set back must not keep a hub from reading for as long; nor below.
    return (
        due if began is None or began > now else max(due, began + memory.timing.min_read_interval)
    )


def _is_asked_for(hub: LynqHub, memory: HubState) -> bool:
    known = memory.orders
    return known is None or UserRequests.of(hub).exceed(known) or memory.wants_read


def _due_by_time(hub: LynqHub, memory: HubState, now: datetime) -> datetime:
    interval = sync_interval(hub.spec.source.sync_interval)
    due = memory.retry_at
    if not memory.unread:
        due = memory.rows.at + interval if memory.rows else None
    return now if due is None or due - now > interval else due


def _plan_due(hub: LynqHub, memory: HubState, now: datetime) -> datetime | None:
    if hub.spec.paused or not _has_good_rows(hub, memory, now):
        return None
    moments = [now] if memory.replan else []
    moments += [each for each in (memory.look_again, memory.rewrite_at) if each]
    if not moments:
        return None
    rests = memory.planned is memory.rows or memory.course is not None
    rest = memory.rest_until if rests else None
    return max(min(moments), rest or min(moments))


def _has_good_rows(hub: LynqHub, memory: HubState, now: datetime) -> bool:
    rows = memory.rows
    if rows is None or memory.unread or UserRequests.of(hub).exceed(rows.orders):
        return False
    is_young = now - rows.at <= sync_interval(hub.spec.source.sync_interval)
    return is_young or memory.planned is not rows
