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
from lynq.core.hub.changes import NodeCreation, NodeUpdate
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.diff import (
    CheckedSpec,
    CheckedSpecs,
    UpdateCause,
    checked_spec_of,
    spec_differs,
    visible_cause,
)
from lynq.core.hub.failures import RenderFailure, RowRenderError
from lynq.core.hub.rollout import Write


@dataclass(frozen=True, slots=True)
class NodeDifferences:
    """What was found, by the node's name."""

    pending: dict[str, Callable[[], Write]] = field(default_factory=dict)
    """How to make each write that is due."""
    failures: dict[str, RenderFailure] = field(default_factory=dict)
    marks: dict[str, CheckedSpec] = field(default_factory=dict)
    """Nodes that are as wanted."""


def find_differences(
    wanted: Mapping[str, DesiredNode],
    existing: Mapping[str, LynqNode],
    marks: CheckedSpecs,
    now: datetime,
) -> NodeDifferences:
    """Compare wanted nodes with those that exist.

    Nodes that are leaving are waited for: the name is free when they are gone. Paused ones are
    left as they are.
    """
    found = NodeDifferences()
    for name, each in wanted.items():
        node = existing.get(name)
        if node is None:
            found.pending[name] = partial(_create, each, now)
        elif not is_deleting(node) and not is_paused(node):
            _compare(node, each, marks.get(name), now, found)
    return found


def _compare(
    node: LynqNode,
    wanted: DesiredNode,
    known: CheckedSpec | None,
    now: datetime,
    found: NodeDifferences,
) -> None:
    name = node.metadata.name
    cause = visible_cause(node, wanted)
    if cause is None:
        mark = checked_spec_of(node, wanted)
        try:
            if mark == known or not spec_differs(node, wanted, now):
                found.marks[name] = mark
                return
        except RowRenderError as error:
            found.failures[name] = error.failure
            return
        cause = UpdateCause.DRIFT
    found.pending[name] = partial(_update, node, wanted, cause, now)


def _create(wanted: DesiredNode, now: datetime) -> NodeCreation:
    return NodeCreation(wanted.pair, wanted.new(now))


def _update(node: LynqNode, wanted: DesiredNode, cause: UpdateCause, now: datetime) -> NodeUpdate:
    # Undoing an edit gives nothing new: `now` in templates stays what it was.
    written = written_at(node) if cause is UpdateCause.DRIFT else None
    return NodeUpdate(wanted.pair, cause, node, wanted.over(node, written or now))
