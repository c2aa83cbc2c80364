"""Find the nodes to create or update: compare desired nodes with existing ones.

A changed form or row is visible in the annotations of a node. An edited spec is visible only in a
comparison with a fresh render, which is done once per generation of the node; a `CheckedSpec`
records it. Checked specs may be lost: then one sync renders all nodes again.

Writes are rendered only when they are admitted. A node that waits for a slot under maxSkew is not
rendered in every sync.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

from lynq.api import LynqNode
from lynq.api.digests import is_authentic, spec_digest
from lynq.api.installation_key import InstallationKey, MissingKey
from lynq.api.names import (
    ANNOTATION_HUB_ID,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SIGNATURE,
    ANNOTATION_SPEC_DIGEST,
    FINALIZER_NODE,
)
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    form_generation,
    is_deleting,
    is_paused,
    is_superseded,
    time_of_last_write,
    time_of_new_write,
    written_at,
)
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RenderFailure, RowRenderError, RowValues


class UpdateCause(Enum):
    """Why a node is updated."""

    FORM = "form"
    """The form has a new generation."""
    DATA = "data"
    """The row has new values."""
    DRIFT = "drift"
    """The node was edited."""
    SIGNATURE = "signature"
    """The node is as desired, and not signed: it was written without this installation key."""


class CheckedSpec(NamedTuple):
    """The node generation, form and values for which a spec was found to be up to date."""

    node_uid: str
    node_generation: int
    form_uid: str
    values_hash: int
    """The hash of the row values; valid within this process only."""
    update_start: str
    signature: str
    digest: str
    """The annotations of the node, which change without its generation."""
    has_key: bool
    """Whether the signature was checked."""


CheckedSpecs: TypeAlias = Mapping[str, CheckedSpec]
"""By node name."""


def checked_spec_of(node: LynqNode, desired: DesiredNode) -> CheckedSpec:
    """Return the record for a node whose spec is up to date.

    The generation of the form is not part of it: the annotation is compared in every sync.
    """
    return CheckedSpec(
        node.metadata.uid,
        node.metadata.generation,
        desired.form.metadata.uid,
        hash(desired.values),
        node.metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, ""),
        node.metadata.annotations.get(ANNOTATION_SIGNATURE, ""),
        node.metadata.annotations.get(ANNOTATION_SPEC_DIGEST, ""),
        isinstance(desired.key, InstallationKey),
    )


def visible_cause(node: LynqNode, desired: DesiredNode) -> UpdateCause | None:
    """Return why the node must be updated, as far as its metadata shows."""
    if form_generation(node) != desired.form.metadata.generation:
        return UpdateCause.FORM
    if RowValues.reflected_by(node, desired.values.uid) != desired.values:
        return UpdateCause.DATA
    return None if _has_desired_metadata(node, desired) else UpdateCause.DRIFT


def spec_differs(node: LynqNode, desired: DesiredNode, now: datetime) -> bool:
    """Return whether the spec differs from a fresh render; raises RowRenderError.

    A spec digest of another spec counts as a difference: the Go operator wrote the node since.
    """
    spec = desired.spec(written_at(node) or now, node)
    annotations = node.metadata.annotations
    digest = annotations.get(ANNOTATION_SPEC_DIGEST)
    return node.spec != spec or (digest is not None and digest != spec_digest(spec, annotations))


def _has_desired_metadata(node: LynqNode, desired: DesiredNode) -> bool:
    metadata = node.metadata
    return (
        desired.labels.items() <= metadata.labels.items()
        and metadata.annotations.get(ANNOTATION_HUB_ID) == desired.hub.metadata.name
        and metadata.annotations.get(ANNOTATION_SERVICE_ACCOUNT)
        == (desired.form.spec.service_account_name or None)
        and metadata.annotations.get(ANNOTATION_REFUSED_RESOURCES)
        == desired.refused_annotation.get(ANNOTATION_REFUSED_RESOURCES)
        and written_at(node) is not None
        and FINALIZER_NODE in metadata.finalizers
        and desired.owner in metadata.owner_references
    )


@dataclass(frozen=True, slots=True)
class NodeCreation:
    """A node to create."""

    pair: NodePair
    node: LynqNode

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.metadata.name


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """A node to update."""

    pair: NodePair
    cause: UpdateCause
    before: LynqNode
    after: LynqNode
    """With the resourceVersion of `before`, so that a concurrent write causes a conflict."""

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.after.metadata.name


NodeWrite: TypeAlias = NodeCreation | NodeUpdate


class DeletionCause(Enum):
    """Why a node is deleted."""

    ROW_GONE = "its row was deleted or deactivated"
    FORM_GONE = "its form was deleted"
    HUB_GONE = "its hub is being deleted"


@dataclass(frozen=True, slots=True)
class NodeDeletion:
    """A node to delete."""

    pair: NodePair
    name: str
    node_uid: str
    """The precondition of the delete: a re-created node of the same name must not match."""
    cause: DeletionCause
    version: str
    """The resourceVersion, a further precondition: a concurrent change may have paused or protected
    the node, or released it from its hub."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """A form with nodes that wait for a slot under maxSkew."""

    form: str
    waiting: tuple[str, ...]
    max_skew: int
    updating: int
    """The number of nodes that hold a slot."""


@dataclass(frozen=True, slots=True)
class NodeDifferences:
    """The differences by node name."""

    pending: dict[str, Callable[[], NodeWrite]] = field(default_factory=dict)
    """Functions that render the writes."""
    changed_rows: set[str] = field(default_factory=set)
    """The pending nodes that are new, or whose row has new values."""
    failures: dict[str, RenderFailure] = field(default_factory=dict)
    checked_specs: dict[str, CheckedSpec] = field(default_factory=dict)
    """The nodes that are up to date."""
    signatures: list[NodeUpdate] = field(default_factory=list)
    """The nodes that only need a signature. Their objects stay the same, so that these writes do
    not wait for a slot under maxSkew."""


def find_differences(
    desired: Mapping[str, DesiredNode],
    existing: Mapping[str, LynqNode],
    checked_specs: CheckedSpecs,
    now: datetime,
) -> NodeDifferences:
    """Compare the desired nodes with the existing ones.

    A node that is being deleted is re-created once its name is free. A paused node is not changed.
    """
    differences = NodeDifferences()
    for name, desired_node in desired.items():
        node = existing.get(name)
        if node is None:
            differences.pending[name] = partial(_create, desired_node, now)
            differences.changed_rows.add(name)
        elif not is_deleting(node) and not is_paused(node):
            _compare(node, desired_node, checked_specs.get(name), now, differences)
    return differences


def _compare(
    node: LynqNode,
    desired: DesiredNode,
    last_checked: CheckedSpec | None,
    now: datetime,
    differences: NodeDifferences,
) -> None:
    name = node.metadata.name
    cause = visible_cause(node, desired)
    if cause is None and is_superseded(node, now):
        cause = UpdateCause.DRIFT
    if cause is None:
        checked = checked_spec_of(node, desired)
        try:
            if checked == last_checked:
                differences.checked_specs[name] = checked
                return
            if not spec_differs(node, desired, now):
                if _lacks_signature(node, desired):
                    update = _update(node, desired, UpdateCause.SIGNATURE, now)
                    differences.signatures.append(update)
                else:
                    differences.checked_specs[name] = checked
                return
        except RowRenderError as error:
            differences.failures[name] = error.failure
            return
        cause = UpdateCause.DRIFT
    differences.pending[name] = partial(_update, node, desired, cause, now)
    if cause is UpdateCause.DATA:
        differences.changed_rows.add(name)


def _lacks_signature(node: LynqNode, desired: DesiredNode) -> bool:
    return not isinstance(desired.key, MissingKey) and not is_authentic(node, desired.key)


def _create(desired: DesiredNode, now: datetime) -> NodeCreation:
    return NodeCreation(desired.pair, desired.new(now))


def _update(node: LynqNode, desired: DesiredNode, cause: UpdateCause, now: datetime) -> NodeUpdate:
    # A corrected edit is not a change of row or form: `now` in templates stays the same.
    keeps_time = cause in (UpdateCause.DRIFT, UpdateCause.SIGNATURE)
    written = time_of_last_write(node, now) if keeps_time else time_of_new_write(node, now)
    return NodeUpdate(desired.pair, cause, node, desired.updated(node, written))
