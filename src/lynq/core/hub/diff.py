"""Why a node has to be written again, found out with as little work as can be.

A new form and new values show in the annotations. Whether somebody edited the node's spec shows
only in comparison with a fresh render, so that is done once for each generation of the node: a
`Mark` remembers it. Marks are a memory that may be lost: then one sync renders all nodes.

Goes through the wanted nodes of one form, and notes which of them have to be written and why.

Nothing is rendered here but what has no mark: a node that waits for its turn for an hour would
otherwise be rendered in every sync of that hour.

The writes of a plan: which node is made, changed or removed, why, and what is told about it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from lynq.api import LynqNode
from lynq.api.digests import spec_digest
from lynq.api.names import (
    ANNOTATION_HUB_ID,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SPEC_DIGEST,
    FINALIZER_NODE,
)
from lynq.api.naming import NodePair
from lynq.api.node_metadata import form_generation, is_deleting, is_paused, written_at
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RenderFailure, RowRenderError, RowValues


class UpdateCause(Enum):
    """Why a node is written again."""

    FORM = "form"
    """Its form has another generation."""
    DATA = "data"
    """Its row has other values."""
    DRIFT = "drift"
    """Somebody changed it by hand."""


class CheckedSpec(NamedTuple):
    """What a node's spec was found to be right for."""

    node_uid: str
    node_generation: int
    form_uid: str
    values: int
    """The hash of the row's values: a mark lives no longer than the process."""


CheckedSpecs: TypeAlias = Mapping[str, CheckedSpec]
"""By the name of the node."""


def checked_spec_of(node: LynqNode, wanted: DesiredNode) -> CheckedSpec:
    """Return the mark for a node whose spec is as wanted.

    The form's generation is in the node's annotations, and compared each time.
    """
    return CheckedSpec(
        node.metadata.uid,
        node.metadata.generation,
        wanted.form.metadata.uid,
        hash(wanted.values),
    )


def visible_cause(node: LynqNode, wanted: DesiredNode) -> UpdateCause | None:
    """Return why the node has to be written, as far as its metadata tells."""
    if form_generation(node) != wanted.form.metadata.generation:
        return UpdateCause.FORM
    if RowValues.reflected_by(node, wanted.values.uid) != wanted.values:
        return UpdateCause.DATA
    return None if _is_marked_as_ours(node, wanted) else UpdateCause.DRIFT


def spec_differs(node: LynqNode, wanted: DesiredNode, now: datetime) -> bool:
    """Return whether the node's spec is another than a render gives; raises RenderError.

    One whose digest is of another spec counts too: the Go operator has written it meanwhile.
    """
    spec = wanted.spec(written_at(node) or now, node.spec)
    marks = node.metadata.annotations
    digest = marks.get(ANNOTATION_SPEC_DIGEST)
    return node.spec != spec or (digest is not None and digest != spec_digest(spec, marks))


def _is_marked_as_ours(node: LynqNode, wanted: DesiredNode) -> bool:
    known = node.metadata
    return (
        wanted.labels.items() <= known.labels.items()
        and known.annotations.get(ANNOTATION_HUB_ID) == wanted.hub.metadata.name
        and known.annotations.get(ANNOTATION_SERVICE_ACCOUNT)
        == (wanted.form.spec.service_account_name or None)
        and written_at(node) is not None
        and FINALIZER_NODE in known.finalizers
        and wanted.owner in known.owner_references
    )


@dataclass(frozen=True, slots=True)
class NodeCreation:
    """A node to make."""

    pair: NodePair
    node: LynqNode


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """A node to write again."""

    pair: NodePair
    cause: UpdateCause
    before: LynqNode
    after: LynqNode
    """With the resourceVersion of `before`: whoever wrote in between is not overwritten."""


NodeWrite: TypeAlias = NodeCreation | NodeUpdate


class DeletionCause(Enum):
    """Why a node goes."""

    ROW_GONE = "its row is gone or inactive"
    FORM_GONE = "its form is gone"
    HUB_GONE = "its hub is being deleted"


@dataclass(frozen=True, slots=True)
class NodeDeletion:
    """A node to delete."""

    pair: NodePair
    name: str
    node_uid: str
    """The precondition of the delete: a node made anew under the same name is not meant."""
    why: DeletionCause
    version: str = ""
    """The resourceVersion that was looked at, if the removal is void when the node has changed:
    somebody may have paused or protected it."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """A form of which nodes wait for a place under maxSkew."""

    form: str
    waiting: tuple[str, ...]
    max_skew: int
    updating: int
    """How many nodes hold a place."""


@dataclass(frozen=True, slots=True)
class NodeDifferences:
    """What was found, by the node's name."""

    pending: dict[str, Callable[[], NodeWrite]] = field(default_factory=dict)
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
    return NodeUpdate(wanted.pair, cause, node, wanted.updated(node, written or now))
