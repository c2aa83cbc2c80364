"""The hub's core: rows × forms → nodes, what differs, what may be written and removed.

Pure: hub, forms, rows, nodes and the time in; a plan out. docs/design/hub.md has the decisions
behind it.
"""

from lynq.hub.changes import Creation, Removal, Throttle, Update, Why
from lynq.hub.diff import Cause, Mark, Marks
from lynq.hub.events import (
    deleted,
    deleting,
    deletion_failed,
    fresh,
    query_failed,
    row_rejected,
    standing_events,
    update_event,
    write_failed,
)
from lynq.hub.failures import RenderError, RenderFailure
from lynq.hub.intervals import retry_delay, sync_interval
from lynq.hub.outcome import Push, Synced, Unread
from lynq.hub.plan import HubPlan, KnownForm
from lynq.hub.planning import plan
from lynq.hub.status import is_worth_writing, next_status
from lynq.hub.tally import Health, Tally
from lynq.hub.values import Row, Values, extra_json, variables
from lynq.hub.wanted import Wanted

__all__ = [
    "Cause",
    "Creation",
    "Health",
    "HubPlan",
    "KnownForm",
    "Mark",
    "Marks",
    "Push",
    "Removal",
    "RenderError",
    "RenderFailure",
    "Row",
    "Synced",
    "Tally",
    "Throttle",
    "Unread",
    "Update",
    "Values",
    "Wanted",
    "Why",
    "deleted",
    "deleting",
    "deletion_failed",
    "extra_json",
    "fresh",
    "is_worth_writing",
    "next_status",
    "plan",
    "query_failed",
    "retry_delay",
    "row_rejected",
    "standing_events",
    "sync_interval",
    "update_event",
    "variables",
    "write_failed",
]
