"""The form's core: is it valid, and what does its status say.

Pure: specs, counts and the time in; problems, status and events out. docs/design/form.md has the
decisions behind it.
"""

from lynq.api.problems import Problem, ProblemKind, errors, summary, warnings
from lynq.form.events import events
from lynq.form.resources import CheckIgnoreField
from lynq.form.status import Totals, next_status
from lynq.form.validation import hub_not_found, validate

__all__ = [
    "CheckIgnoreField",
    "Problem",
    "ProblemKind",
    "Totals",
    "errors",
    "events",
    "hub_not_found",
    "next_status",
    "summary",
    "validate",
    "warnings",
]
