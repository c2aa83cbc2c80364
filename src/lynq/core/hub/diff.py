"""Why a node has to be written again, found out with as little work as can be.

A new form and new values show in the annotations. Whether somebody edited the node's spec shows
only in comparison with a fresh render, so that is done once for each generation of the node: a
`Mark` remembers it. Marks are a memory that may be lost: then one sync renders all nodes.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple, TypeAlias

from lynq.api import LynqNode
from lynq.api.digests import spec_digest
from lynq.api.names import (
    ANNOTATION_HUB_ID,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SPEC_DIGEST,
    FINALIZER_NODE,
)
from lynq.api.node_metadata import form_generation, written_at
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RowValues


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
