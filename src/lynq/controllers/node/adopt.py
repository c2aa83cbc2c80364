"""Makes a merge do what an apply would: it knows no conflicts, and leaves what it does not say.

Makes ours by Apply what is ours by Update.

To the API server one manager is two: what it has created, merged or replaced, and what it has
applied. An object that was adopted, or whose patchStrategy has changed, has fields of the first
kind. Applied over, they would be a conflict with ourselves, and what leaves the manifest would
stay. So the two entries in managedFields are made one before the next apply.
"""

from dataclasses import replace
from typing import Any, Final

import msgspec

from lynq.api import ConflictPolicy, LynqNode, Metadata, PatchStrategy, TResource
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import WatchedKind
from lynq.controllers.managed_fields import fields_of_ours, union, updated_by_us, written_by_others
from lynq.controllers.node.observe import ObservedResource
from lynq.core.node.decide import is_done_once
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.merge_patch import drop_removed_fields
from lynq.core.node.objects import ObjectRef, owner_of
from lynq.core.node.ownership import owner_removal_patch
from lynq.core.node.state import Write, WriteCause, WriteMethod
from lynq.kube import Client, PartialObject
from lynq.kube.errors import Conflict

_OURS: Final = frozenset({FIELD_MANAGER, "manager"})
"""Ourselves, and the Go operator where it gave no name and so got that of its binary."""


async def adjust_for_live_object(
    client: Client, kind: WatchedKind, node: LynqNode, seen: ObservedResource, write: Write
) -> Write:
    """Return the write as it has to be for the object that was seen; raises Conflict."""
    if write.cause is WriteCause.ORPHANED:
        return await _adopting(client, kind, node, seen, write)
    if write.method is WriteMethod.MERGE and _is_owned_too_much(node, seen):
        return _disowning(await _metadata(client, kind, write.ref), node, write)
    return write


async def _adopting(
    client: Client, kind: WatchedKind, node: LynqNode, seen: ObservedResource, write: Write
) -> Write:
    """Return the write of an orphan: a merge, so that its marks go in the same write."""
    found, facts = await _metadata(client, kind, write.ref), seen.facts
    if facts.desired and written_by_others(found) and not _takes_over(facts.resource):
        await _ask_others(client, kind, facts.desired)
    if facts.live and is_done_once(facts.resource, facts.live, owner_of(node)):
        return write
    if facts.resource.patch_strategy is PatchStrategy.MERGE:
        return write
    return replace(write, obj=drop_removed_fields(write.obj, fields_of_ours(found)))


def _takes_over(resource: TResource) -> bool:
    applies = resource.patch_strategy is PatchStrategy.APPLY
    return not applies or resource.conflict_policy is ConflictPolicy.FORCE


async def _ask_others(client: Client, kind: WatchedKind, wanted: DesiredObject) -> None:
    """Make sure that an orphan has not become somebody else's; raises Conflict if it has."""
    try:
        await client.apply(
            kind.resource, wanted.obj, manager=FIELD_MANAGER, dry_run=True, into=PartialObject
        )
    except Conflict as error:
        if not {each.manager for each in error.fields} <= _OURS:
            raise


def _is_owned_too_much(node: LynqNode, seen: ObservedResource) -> bool:
    """Return whether an object has our owner reference, and is to be tied by labels from now on."""
    live, wanted, uid = seen.facts.live, seen.facts.desired, node.metadata.uid
    if live is None or wanted is None or uid not in live.owners:
        return False
    return all(each["uid"] != uid for each in wanted.obj["metadata"].get("ownerReferences", ()))


def _disowning(found: Metadata, node: LynqNode, write: Write) -> Write:
    """Return the merge that takes our owner reference off: what is retained must not go with us."""
    references = owner_removal_patch(found.owner_references, owner_of(node))
    # Of the object as it is now: a merge writes the list as a whole.
    ties = {"ownerReferences": references, "resourceVersion": found.resource_version}
    return replace(write, obj={**write.obj, "metadata": {**write.obj["metadata"], **ties}})


async def _metadata(client: Client, kind: WatchedKind, ref: ObjectRef) -> Metadata:
    return (
        await client.get(kind.resource, ref.name, ref.namespace or None, into=PartialObject)
    ).metadata


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
