"""The hub's core: rows × forms → nodes, what differs, what may be written and removed.

Pure: hub, forms, rows, nodes and the time in; a plan out. docs/design/hub.md has the decisions
behind it.
"""

from lynq.hub.changes import Creation, Removal, Throttle, Update, Why
from lynq.hub.diff import Cause, Mark, Marks
from lynq.hub.failures import RenderError, RenderFailure
from lynq.hub.plan import HubPlan, KnownForm
from lynq.hub.planning import plan
from lynq.hub.values import Row, Values, extra_json, variables
from lynq.hub.wanted import Wanted

__all__ = [
    "Cause",
    "Creation",
    "HubPlan",
    "KnownForm",
    "Mark",
    "Marks",
    "Removal",
    "RenderError",
    "RenderFailure",
    "Row",
    "Throttle",
    "Update",
    "Values",
    "Wanted",
    "Why",
    "extra_json",
    "plan",
    "variables",
]
