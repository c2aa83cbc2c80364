"""Releases an object that existed before: removes our fields and marks, and leaves the rest.

An apply of an object without fields removes every field that only we own, our labels, annotations
and owner reference included. Fields that were merged or replaced (operation Update) are migrated
first. If the object is invalid without our fields, for example a Deployment without a selector, the
fields stay and only the marks are removed. The same holds for an object whose whole body was
replaced: what it had before is not known.
"""

from dataclasses import dataclass

import structlog

from lynq.api import Metadata
from lynq.api.names import ANNOTATION_ADOPTED, FIELD_MANAGER
from lynq.controllers.children import WatchedKind
from lynq.core.node.adoption_policy import REPLACED
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.managed_fields import migration_patch
from lynq.core.node.objects import ObjectRef, Owner
from lynq.core.node.ownership_patches import marks_removal_patch
from lynq.kube import Client, PartialObject
from lynq.kube.errors import Invalid

_log = structlog.get_logger(__name__)


class ObjectReplaced(Exception):  # noqa: N818 - says what happened
    """The object was deleted, and another one of the same name was created."""


@dataclass(frozen=True, slots=True)
class ReleasedObject:
    """An object that was released."""

    item: InventoryItem
    uid: str
    kept_fields: bool
    """Whether our fields stay, because only the marks could be removed."""


async def release(
    client: Client, kind: WatchedKind, ref: ObjectRef, uid: str, owner: Owner
) -> bool:
    """Remove our fields and marks from an object; return whether the fields had to stay."""
    resource, namespace = kind.resource, ref.namespace or None
    live = await client.get(resource, ref.name, namespace, into=PartialObject)
    metadata = live.metadata
    if metadata.uid != uid:
        raise ObjectReplaced
    kept_fields = metadata.annotations.get(ANNOTATION_ADOPTED) == REPLACED
    if not kept_fields:
        try:
            metadata = await _without_fields(client, kind, ref, metadata)
        except Invalid as error:
            _log.warning("fields not removed", object=str(ref), error=str(error))
            kept_fields = True
    # Marks that another manager owns as well are still there.
    if patch := marks_removal_patch(metadata, owner):
        await client.patch(
            resource, ref.name, patch, namespace, manager=FIELD_MANAGER, into=PartialObject
        )
    _log.info("object released", object=str(ref), kept_fields=kept_fields)
    return kept_fields


async def _without_fields(
    client: Client, kind: WatchedKind, ref: ObjectRef, metadata: Metadata
) -> Metadata:
    resource, namespace = kind.resource, ref.namespace or None
    if patch := migration_patch(metadata):
        await client.patch(
            resource, ref.name, patch, namespace, manager=FIELD_MANAGER, into=PartialObject
        )
    empty = {"name": ref.name, "uid": metadata.uid}
    if namespace:
        empty["namespace"] = namespace
    applied = await client.apply(
        resource, {"metadata": empty}, manager=FIELD_MANAGER, into=PartialObject
    )
    return applied.metadata
