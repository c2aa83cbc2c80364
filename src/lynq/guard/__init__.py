"""What a mistake in the database must not do: row rejection and the deletion guard.

Pure: rows, names and settings in; nodes, rejections and verdicts out. docs/design/guard.md has
the decisions behind it.
"""

from lynq.guard.deletion import Outcome, Verdict, digest_of, held_message, judge_deletion
from lynq.guard.judgement import Existing, Judgement, judge
from lynq.guard.names import (
    Pair,
    is_label_value,
    is_subdomain,
    node_name,
    tracked_name,
    tracking_label,
)
from lynq.guard.rejections import VALUES_LIMIT, Rejection, shown
from lynq.guard.rows import Candidate
from lynq.guard.telling import News, Told, news, rejected_rows, rows_by_reason

__all__ = [
    "VALUES_LIMIT",
    "Candidate",
    "Existing",
    "Judgement",
    "News",
    "Outcome",
    "Pair",
    "Rejection",
    "Told",
    "Verdict",
    "digest_of",
    "held_message",
    "is_label_value",
    "is_subdomain",
    "judge",
    "judge_deletion",
    "news",
    "node_name",
    "rejected_rows",
    "rows_by_reason",
    "shown",
    "tracked_name",
    "tracking_label",
]
