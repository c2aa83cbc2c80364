"""Ends the ownership of an object without deleting it: retains or releases it.

Both read the object first: it may have another owner by now, and all nodes share one field manager.
An object is retained as an orphan by one patch with the resourceVersion that was read.

An object that existed before is released: our fields and marks are removed, and the rest stays. An
apply of an object without fields removes every field that only we own, our labels, annotations
and owner reference included. Fields that were merged or replaced (operation Update) are migrated
first. If the object is invalid without our fields, for example a Deployment without a selector, the
fields stay and only the marks are removed. The same holds for an object whose whole body was
replaced: what it had before is not known.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from lynq.api import Metadata
from lynq.api.names import ANNOTATION_ADOPTED, FIELD_MANAGER
from lynq.controllers.children import WatchedKind
from lynq.core.node.adoption_policy import REPLACED
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.managed_fields import migration_patch
from lynq.core.node.objects import Owner
from lynq.core.node.ownership import is_lost, is_owned_by
from lynq.core.node.ownership_patches import marks_removal_patch, orphan_patch
from lynq.core.node.prune import ObjectDeletion
from lynq.kube import Client, PartialObject, Resource
from lynq.kube.errors import Invalid

_log = structlog.get_logger(__name__)


class ObjectChanged(Exception):  # noqa: N818 - says what happened
    """The object was replaced by another one, has another owner, or was released before."""


@dataclass(frozen=True, slots=True)
class ReleasedObject:
    """An object that was released."""

    item: InventoryItem
    uid: str
    kept_fields: bool
    """Whether our fields stay, because only the marks could be removed."""


async def retain(
    client: Client, kind: WatchedKind, deletion: ObjectDeletion, owner: Owner, now: datetime
) -> None:
    """Mark an object as an orphan, without an owner; raises ObjectChanged or Conflict."""
    metadata = await _read(client, kind, deletion, owner)
    patch = orphan_patch(metadata.owner_references, owner, deletion.reason, now)
    patch["metadata"]["resourceVersion"] = metadata.resource_version
    patched = await client.patch(
        kind.resource,
        metadata.name,
        patch,
        metadata.namespace,
        manager=FIELD_MANAGER,
        into=kind.into,
    )
    kind.store_if_selected(patched)
    _log.info("object retained", object=str(deletion.item.ref), reason=str(deletion.reason))


async def release(
    client: Client, kind: WatchedKind, deletion: ObjectDeletion, owner: Owner
) -> bool:
    """Remove our fields and marks from an object; return whether the fields had to stay.

    Raises ObjectChanged, or Conflict if the object has changed since it was read.
    """
    metadata = await _read(client, kind, deletion, owner)
    resource, ref = kind.resource, kind.ref(metadata.key)
    kept_fields = metadata.annotations.get(ANNOTATION_ADOPTED) == REPLACED
    if not kept_fields:
        try:
            metadata = await _without_fields(client, resource, metadata)
        except Invalid as error:
            _log.warning("fields not removed", object=str(ref), error=str(error))
            kept_fields = True
    # Marks that another manager owns as well are still there.
    if patch := marks_removal_patch(metadata, owner):
        await client.patch(
            resource,
            ref.name,
            patch,
            ref.namespace,
            manager=FIELD_MANAGER,
            into=PartialObject,
        )
    _log.info("object released", object=str(ref), kept_fields=kept_fields)
    return kept_fields


async def _without_fields(client: Client, resource: Resource, metadata: Metadata) -> Metadata:
    name, namespace = metadata.name, metadata.namespace
    if patch := migration_patch(metadata):
        migrated = await client.patch(
            resource, name, patch, namespace, manager=FIELD_MANAGER, into=PartialObject
        )
        metadata = migrated.metadata
    empty = {
        "name": name,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }
    if namespace:
        empty["namespace"] = namespace
    applied = await client.apply(
        resource, {"metadata": empty}, manager=FIELD_MANAGER, into=PartialObject
    )
    return applied.metadata


async def _read(
    client: Client, kind: WatchedKind, deletion: ObjectDeletion, owner: Owner
) -> Metadata:
    """Read the metadata of an object of the owner; raises ObjectChanged."""
    ref = deletion.item.ref
    live = await client.get(kind.resource, ref.name, ref.namespace, into=PartialObject)
    current = kind.child_of(live).live
    # A second release would find no mark of a replaced body, and remove all of it.
    was_released = deletion.release and not is_owned_by(current, ref, owner, is_listed=True)
    if current.uid != deletion.uid or is_lost(current, ref, owner) or was_released:
        raise ObjectChanged(f"{ref} has another owner, or none")
    return live.metadata
