"""Traces an object back to its row: object, node, form, hub, row.

The marks of an object can be copied with it. So an object belongs to a node only if the node's uid
is in its owner references, or if the status of the node lists it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode, Metadata, OwnerReference, ResourceStatus
from lynq.api.conditions import find_condition
from lynq.api.metadata import ManagedFields, ObjectKey
from lynq.api.names import (
    ANNOTATION_NODE_NAME,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_FROM,
    ANNOTATION_ORPHANED_REASON,
    FIELD_MANAGER,
    GROUP,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    LABEL_ORPHANED,
    TRUE,
)
from lynq.api.naming import tracked_name
from lynq.api.nesting import depth_checked
from lynq.api.node_metadata import form_generation, row_changed_at, written_at
from lynq.api.reasons import ConditionType
from lynq.api.text import and_more
from lynq.api.wire import rfc3339
from lynq.core.explain.columns import Columns
from lynq.core.explain.drift import field_paths
from lynq.core.node.objects import ObjectRef, ref_of


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One object on the way to the row."""

    kind: str
    name: str
    namespace: str = ""
    detail: str = ""


def node_in_marks(metadata: Metadata) -> ObjectKey | None:
    """Return the node that an owner reference or the tracking labels name; None without one."""
    for reference in metadata.owner_references:
        if _is_node(reference):
            return ObjectKey(metadata.namespace, reference.name)
    label, namespace = (metadata.labels.get(key) for key in (LABEL_NODE, LABEL_NODE_NAMESPACE))
    if not label or not namespace:
        return None
    return ObjectKey(namespace, tracked_name(label, metadata.annotations.get(ANNOTATION_NODE_NAME)))


def controller_of(metadata: Metadata) -> OwnerReference | None:
    """Return the controller of an object that is not a node, for example a pod's ReplicaSet."""
    references = (reference for reference in metadata.owner_references if reference.controller)
    return next((each for each in references if not _is_node(each)), None)


def is_orphan(metadata: Metadata) -> bool:
    """Return whether the object was retained when it was no longer desired."""
    return metadata.labels.get(LABEL_ORPHANED) == TRUE


def orphan_sentence(metadata: Metadata) -> str:
    """Return when and why an object was retained."""
    keys = (ANNOTATION_ORPHANED_FROM, ANNOTATION_ORPHANED_AT, ANNOTATION_ORPHANED_REASON)
    node, at, reason = (metadata.annotations.get(key, "") for key in keys)
    parts = (node and f" of LynqNode {node}", at and f" at {at}", reason and f" ({reason})")
    return f"was retained as an orphan{''.join(parts)}"


def entry_of(node: LynqNode, ref: ObjectRef, metadata: Metadata) -> ResourceStatus | None:
    """Return the entry of an object that belongs to a node; None if it does not."""
    entry = next(
        (each for each in node.status.resources if ref_of(each).identity == ref.identity), None
    )
    owners = {reference.uid for reference in metadata.owner_references}
    return entry if entry and (entry.fields_digest or node.metadata.uid in owners) else None


def object_step(ref: ObjectRef, metadata: Metadata) -> TraceStep:
    """Return the step of the managed object: its last apply, and fields of other managers."""
    own = [entry for entry in _entries(metadata) if entry.manager == FIELD_MANAGER]
    times = [entry.time for entry in own if entry.time]
    applied = f"applied {rfc3339(max(times))} by {FIELD_MANAGER}" if times else "not applied yet"
    others = [
        f"{entry.manager} ({and_more(list(field_paths(_fields(entry))))})"
        for entry in _entries(metadata)
        if entry.manager != FIELD_MANAGER
    ]
    shared = f"; fields of {', '.join(others)}" if others else ""
    return TraceStep(ref.kind, ref.name, ref.namespace, applied + shared)


def steps_to_row(
    node: LynqNode, entry: ResourceStatus, form: LynqForm | None, hub: LynqHub | None, hub_name: str
) -> Iterator[TraceStep]:
    """Yield the steps from the node to the row; form and hub may not exist."""
    namespace = node.metadata.namespace
    yield TraceStep("LynqNode", node.metadata.name, namespace, _node_detail(node))
    form_detail = "does not exist, or may not be read"
    if form:
        place = Columns(form.spec, None, {}).place(entry.id)
        form_detail = f"generation {_generations(node, form)}, entry {place}"
    yield TraceStep("LynqForm", node.spec.template_ref, namespace, form_detail)
    hub_detail = "does not exist, or may not be read"
    if hub:
        read = hub.status.last_sync_time
        hub_detail = f"{source_of(hub)}, read {rfc3339(read) if read else 'never'}"
    yield TraceStep("LynqHub", hub_name, namespace, hub_detail)
    column = hub.spec.value_mappings.uid if hub else "uid"
    yield TraceStep("row", f"{column} = {node.spec.uid}", "", _row_detail(node))


def source_of(hub: LynqHub) -> str:
    """Return type, database and table of a hub's source."""
    source, block = hub.spec.source, hub.spec.source.block
    if block is None:
        return str(source.type)
    database = getattr(block, "database", None) or getattr(block, "path", "")
    return f"{source.type} {database} {block.table}"


def _is_node(reference: OwnerReference) -> bool:
    is_ours = reference.api_version.startswith(f"{GROUP}/")
    return is_ours and reference.kind == LynqNode.definition.kind


def _fields(entry: ManagedFields) -> Any:  # noqa: ANN401 - a tree of FieldsV1
    return msgspec.json.decode(depth_checked(entry.fields_v1))


def _entries(metadata: Metadata) -> Iterable[ManagedFields]:
    return (entry for entry in metadata.managed_fields if not entry.subresource)


def _node_detail(node: LynqNode) -> str:
    ready = find_condition(node.status.conditions, ConditionType.READY)
    state = f"Ready {ready.status} ({ready.reason})" if ready else "not reconciled yet"
    return f"generation {node.metadata.generation}, {state}"


def _generations(node: LynqNode, form: LynqForm) -> str:
    written, current = form_generation(node), form.metadata.generation
    is_behind = written is not None and written != current
    return f"{written} (the form has {current})" if is_behind else str(current)


def _row_detail(node: LynqNode) -> str:
    if changed := row_changed_at(node):
        return f"changed {rfc3339(changed.replace(microsecond=0))}"
    written = written_at(node)
    return f"node written {rfc3339(written.replace(microsecond=0))}" if written else ""
