"""Goes through the wanted nodes of one form, and notes which of them have to be written and why.

Nothing is rendered here but what has no mark: a node that waits for its turn for an hour would
otherwise be rendered in every sync of that hour.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from lynq.api import LynqNode
from lynq.api.node_metadata import is_deleting, is_paused, written_at
from lynq.hub.changes import Creation, Update
from lynq.hub.diff import Cause, Mark, Marks, mark_of, spec_differs, visible_cause
from lynq.hub.failures import RenderError, RenderFailure
from lynq.hub.slots import Write
from lynq.hub.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, by the node's name."""

    pending: dict[str, Callable[[], Write]] = field(default_factory=dict)
    """How to make each write that is due."""
    failures: dict[str, RenderFailure] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    """Nodes that are as wanted."""


def survey(
    wanted: Mapping[str, Wanted], existing: Mapping[str, LynqNode], marks: Marks, now: datetime
) -> Findings:
    """Compare wanted nodes with those that exist.

    Nodes that are leaving are waited for: the name is free when they are gone. Paused ones are
    left as they are.
    """
    found = Findings()
    for name, each in wanted.items():
        node = existing.get(name)
        if node is None:
            found.pending[name] = partial(_create, each, now)
        elif not is_deleting(node) and not is_paused(node):
            _compare(node, each, marks.get(name), now, found)
    return found


def _compare(
    node: LynqNode, wanted: Wanted, known: Mark | None, now: datetime, found: Findings
) -> None:
    name = node.metadata.name
    cause = visible_cause(node, wanted)
    if cause is None:
        mark = mark_of(node, wanted)
        try:
            if mark == known or not spec_differs(node, wanted, now):
                found.marks[name] = mark
                return
        except RenderError as error:
            found.failures[name] = error.failure
            return
        cause = Cause.DRIFT
    found.pending[name] = partial(_update, node, wanted, cause, now)


def _create(wanted: Wanted, now: datetime) -> Creation:
    return Creation(wanted.pair, wanted.new(now))


def _update(node: LynqNode, wanted: Wanted, cause: Cause, now: datetime) -> Update:
    # Undoing an edit gives nothing new: `now` in templates stays what it was.
    written = written_at(node) if cause is Cause.DRIFT else None
    return Update(wanted.pair, cause, node, wanted.over(node, written or now))
