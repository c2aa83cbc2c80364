"""Makes ours by Apply what is ours by Update.

To the API server one manager is two: what it has created, merged or replaced, and what it has
applied. An object that was adopted, or whose patchStrategy has changed, has fields of the first
kind. Applied over, they would be a conflict with ourselves, and what leaves the manifest would
stay. So the two entries in managedFields are made one before the next apply.
"""

from typing import Any

import msgspec

from lynq.api import Metadata
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import WatchedKind
from lynq.controllers.managed_fields import union, updated_by_us
from lynq.core.node.objects import ObjectRef
from lynq.kube import Client, PartialObject


async def migrate_to_apply(client: Client, kind: WatchedKind, ref: ObjectRef) -> None:
    """Make one of our two entries of an object; raises KubeError, Conflict if it changes."""
    place = ref.namespace or None
    found = (await client.get(kind.resource, ref.name, place, into=PartialObject)).metadata
    if not updated_by_us(found):
        return
    metadata = {"managedFields": _migrated(found), "resourceVersion": found.resource_version}
    patch = {"metadata": metadata}
    await client.patch(
        kind.resource, ref.name, patch, place, manager=FIELD_MANAGER, into=PartialObject
    )


def _migrated(metadata: Metadata) -> list[dict[str, Any]]:
    """Return managedFields with what we have by Update in the entries that we have by Apply."""
    # By way of JSON: the fields are still text.
    text = msgspec.json.encode(metadata.managed_fields)
    known = msgspec.json.decode(text, type=list[dict[str, Any]])
    entries = [{**each, "fieldsType": "FieldsV1"} for each in known]
    ours = [each for each in entries if _is_ours(each)]
    others = [each for each in entries if not _is_ours(each)]
    applied: dict[str, dict[str, Any]] = {}
    for each in ours:
        version = each["apiVersion"]
        before = applied.get(version, {}).get("fieldsV1", {})
        fields = union((before, each["fieldsV1"]))
        applied[version] = {**each, "operation": "Apply", "fieldsV1": fields}
    return [*applied.values(), *others]


def _is_ours(entry: dict[str, Any]) -> bool:
    return entry["manager"] == FIELD_MANAGER and not entry.get("subresource")
