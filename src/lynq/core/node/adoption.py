"""Adapt a write to the metadata of the live object: adoption, and release of the owner.

A merge patch reports no conflicts, and leaves fields that it does not mention. Some writes need
more of the live object than the caches hold:

- An orphan is adopted by one merge patch, which also removes its orphan markers. Fields that we own
  and that the manifest dropped are set to null. A dry-run apply detects the fields of other
  managers, unless the policies say that those are overwritten.
- An object that existed before is merged only if a dry-run apply reports no conflict, and replaced
  only if no other manager owns a field of it, unless conflictPolicy is Force.
- An object whose deletionPolicy became Retain, or whose node or hub became protected, is tracked by
  labels. Our owner reference is removed, or the garbage collector would delete the object together
  with the node.
"""

from msgspec.structs import replace

from lynq.api import ConflictPolicy, Metadata, PatchStrategy
from lynq.core.node.decide import is_done_once
from lynq.core.node.managed_fields import has_other_managers, owned_fields
from lynq.core.node.merge_patch import drop_removed_fields
from lynq.core.node.objects import Owner
from lynq.core.node.ownership import has_surplus_reference
from lynq.core.node.ownership_patches import owner_removal_patch
from lynq.core.node.state import ResourceFacts, Write, WriteCause, WriteMethod


def needs_metadata(write: Write, facts: ResourceFacts, owner: Owner) -> bool:
    """Return whether the write depends on metadata of the live object."""
    if write.cause is WriteCause.ORPHANED:
        return True
    if write.cause is WriteCause.FOREIGN:
        return _may_overwrite(write, facts)
    return write.method is WriteMethod.MERGE and releases_owner(facts, owner)


def adapted_to(write: Write, facts: ResourceFacts, owner: Owner, metadata: Metadata) -> Write:
    """Return the write for the live object with this metadata."""
    if write.cause is WriteCause.FOREIGN:
        return write
    if write.cause is not WriteCause.ORPHANED:
        return _without_owner(write, owner, metadata)
    if facts.live and is_done_once(facts.resource, facts.live, facts.ref, owner):
        return write
    if facts.resource.patch_strategy is PatchStrategy.MERGE:
        return write
    return replace(write, obj=drop_removed_fields(write.obj, owned_fields(metadata)))


def needs_dry_run(write: Write, facts: ResourceFacts, metadata: Metadata) -> bool:
    """Return whether a dry-run apply has to detect the fields of other managers first."""
    if not has_other_managers(metadata):
        return False
    if write.cause is WriteCause.FOREIGN:
        return write.method is WriteMethod.MERGE
    if write.cause is not WriteCause.ORPHANED:
        return False
    is_applied = facts.resource.patch_strategy is PatchStrategy.APPLY
    return is_applied and facts.resource.conflict_policy is not ConflictPolicy.FORCE


def replaces_other_managers(write: Write, metadata: Metadata) -> bool:
    """Return whether the write would remove fields of an object that existed before."""
    is_foreign = write.cause is WriteCause.FOREIGN and write.method is WriteMethod.REPLACE
    return is_foreign and has_other_managers(metadata)


def _may_overwrite(write: Write, facts: ResourceFacts) -> bool:
    """Return whether a write that reports no conflicts must not overwrite fields of others."""
    is_adopted = facts.desired is not None and facts.desired.is_adopted
    is_forced = facts.resource.conflict_policy is ConflictPolicy.FORCE
    return is_adopted and not is_forced and write.method is not WriteMethod.APPLY


def releases_owner(facts: ResourceFacts, owner: Owner) -> bool:
    """Return whether the object has our owner reference and is to be tied by labels instead."""
    live, desired = facts.live, facts.desired
    return bool(live and desired and has_surplus_reference(live, desired.obj, owner))


def _without_owner(write: Write, owner: Owner, metadata: Metadata) -> Write:
    references = owner_removal_patch(metadata.owner_references, owner)
    # Pinned, because a merge patch replaces the whole list.
    pinned = {"ownerReferences": references, "resourceVersion": metadata.resource_version}
    return replace(write, obj={**write.obj, "metadata": {**write.obj["metadata"], **pinned}})
