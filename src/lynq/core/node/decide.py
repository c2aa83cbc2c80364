"""Decide about one resource: write its object, wait, or evaluate its readiness."""

from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lynq.api import (
    AdoptionPolicy,
    ConflictPolicy,
    CreationPolicy,
    PatchStrategy,
    ResourceState,
    TResource,
)
from lynq.api.events import EventReason
from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    TRUE,
)
from lynq.api.reasons import StateReason
from lynq.core.node.adoption_policy import (
    adoption_policy,
    is_adopted,
    is_excluded,
    is_foreign,
    refusal,
)
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.jobs import UNKNOWN_END
from lynq.core.node.objects import LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import (
    has_lost_ties,
    has_other_bucket,
    has_surplus_reference,
    is_orphan,
    is_owned_by,
)
from lynq.core.node.ownership_patches import adoption_patch, restore_metadata_patch, without_adopted
from lynq.core.node.schedule import DEFERRED_RETRY
from lynq.core.node.state import (
    LastWrite,
    ResourceFacts,
    ResourceOutcome,
    Write,
    WriteCause,
    WriteMethod,
    WriteRejection,
    earliest,
)
from lynq.core.readiness.verdict import ReadinessState, countdown
from lynq.template import is_repeatable

_METHODS: Final = {
    PatchStrategy.APPLY: WriteMethod.APPLY,
    PatchStrategy.MERGE: WriteMethod.MERGE,
    PatchStrategy.REPLACE: WriteMethod.REPLACE,
}

_LONGEST_BACKOFF: Final = timedelta(minutes=2)
"""No back-off is longer. A longer one was set before the clock was set back."""
_REFUSED_RETRY: Final = timedelta(seconds=10)
"""An object that existed before and is refused is read again after this time."""


class PassContext(Struct, frozen=True):
    """What holds for all resources of one reconcile."""

    owner: Owner
    now: datetime
    force: bool = False
    """Whether every object is written, changed or not."""
    is_requested: bool = False
    """Whether a user has requested that, by the annotation `lynq.sh/force-reconcile`."""


def decide(facts: ResourceFacts, context: PassContext) -> ResourceOutcome:
    """Return the state of the resource, and the write that is due, if any."""
    desired, live = facts.desired, facts.live
    if facts.is_rendering:
        message = "the manifest is being rendered in the background"
        return _outcome(facts, ResourceState.PROGRESSING, StateReason.RENDERING, message)
    if desired is None:
        reason = EventReason.TEMPLATE_RENDER_ERROR
        return _outcome(facts, ResourceState.FAILED, reason, facts.render_error)
    if live is not None and (conflict := _conflict(facts, live, context)):
        return conflict
    cause = _cause(facts, desired, context)
    if cause is None:
        return _rejected(facts, desired, context.now) or _readiness(facts, context.now)
    if held_back := _held_back(facts, desired, context):
        return held_back
    write = _write(facts, desired, cause, context)
    message = "the object is being applied"
    return _outcome(facts, ResourceState.PROGRESSING, StateReason.APPLYING, message, write=write)


def _cause(facts: ResourceFacts, desired: DesiredObject, context: PassContext) -> WriteCause | None:
    """Return why the object is written; None if it needs no write, or cannot be written now."""
    live = facts.live
    # A second write in the same reconcile would only repeat the first.
    if facts.was_written or (live is not None and live.is_deleting):
        return None
    if live is None:
        is_done = facts.is_applied_once_job and not context.is_requested
        return None if is_done or facts.is_completed else WriteCause.MISSING
    if is_orphan(live):
        return WriteCause.ORPHANED
    if is_done_once(facts.resource, live, facts.ref, context.owner):
        return _once_drift(facts, live, desired, context)
    if is_foreign(live, facts.ref, context.owner, facts.record):
        return WriteCause.FOREIGN
    return _difference(facts, live, desired, context)


def _difference(
    facts: ResourceFacts, live: LiveObject, desired: DesiredObject, context: PassContext
) -> WriteCause | None:
    applied_hash = live.annotations.get(ANNOTATION_APPLIED_HASH)
    if applied_hash != desired.hash:
        is_owned = is_owned_by(live, facts.ref, context.owner, is_listed=True)
        is_hash_lost = is_owned and not applied_hash
        return WriteCause.HASH_LOST if is_hash_lost else WriteCause.CHANGED
    if has_lost_ties(live, desired.obj, facts.ref, context.owner):
        return WriteCause.OWNERSHIP_LOST
    if _rejection(facts, desired):
        return WriteCause.REJECTED
    if _fields_were_taken(facts, live, desired):
        return WriteCause.FIELDS_TAKEN
    return WriteCause.FORCED if context.force else None


def is_done_once(resource: TResource, live: LiveObject, ref: ObjectRef, owner: Owner) -> bool:
    """Return whether the body of an object with creationPolicy Once was already written.

    The annotation created-once says so. If it was removed, our ownership and applied-hash still
    prove it for manifests with generated keys: a new key must not overwrite the one in use. Any
    other object without the annotation may have become Once just now, and is written a last time.
    """
    if resource.creation_policy is not CreationPolicy.ONCE:
        return False
    if live.annotations.get(ANNOTATION_CREATED_ONCE) == TRUE:
        return True
    is_owned = is_owned_by(live, ref, owner, is_listed=True)
    was_written = ANNOTATION_APPLIED_HASH in live.annotations and is_owned
    return was_written and not is_repeatable(resource.spec)


def _once_drift(
    facts: ResourceFacts, live: LiveObject, desired: DesiredObject, context: PassContext
) -> WriteCause | None:
    """Return why the metadata of an object that is written once is restored; None if it is not."""
    owner = context.owner
    if live.annotations.get(ANNOTATION_CREATED_ONCE) != TRUE:
        return WriteCause.CREATED_ONCE_LOST
    # Without our hash, the annotation was set by a user who wants the object left alone.
    if ANNOTATION_APPLIED_HASH not in live.annotations:
        return None
    policy = live.annotations.get(ANNOTATION_DELETION_POLICY)
    # The garbage collector would delete an object that is to be kept.
    has_reference = has_surplus_reference(live, desired.obj, owner)
    if policy != facts.resource.deletion_policy or has_reference:
        return WriteCause.POLICY_CHANGED
    if has_lost_ties(live, desired.obj, facts.ref, owner):
        return WriteCause.OWNERSHIP_LOST
    if _rejection(facts, desired):
        return WriteCause.REJECTED
    # No object is written for its bucket before a forced reconcile, which writes all others.
    return WriteCause.FORCED if context.force and has_other_bucket(live, desired.obj) else None


def _fields_were_taken(facts: ResourceFacts, live: LiveObject, desired: DesiredObject) -> bool:
    """Return whether our managedFields entries differ from those after our last write."""
    last_write = facts.last_write
    # A last write of other content proves nothing: another operator wrote the current content.
    if last_write is None or last_write.hash != desired.hash or not last_write.digest:
        return False
    return last_write.digest != live.digest


def _backing_off(
    facts: ResourceFacts, desired: DesiredObject, context: PassContext
) -> LastWrite | None:
    """Return the last write if it had the same content and its back-off is not over."""
    last_write = facts.last_write
    if last_write is None or last_write.hash != desired.hash or context.force:
        return None
    if last_write.not_before is None:
        return None
    is_too_early = timedelta(0) < last_write.not_before - context.now <= _LONGEST_BACKOFF
    return last_write if is_too_early else None


def _held_back(
    facts: ResourceFacts, desired: DesiredObject, context: PassContext
) -> ResourceOutcome | None:
    """Return the state of a resource whose write is due and not sent now; None if it is sent."""
    if last_write := _backing_off(facts, desired, context):
        return _with_back_off(facts, desired, last_write, context.now)
    return _deferred(facts, desired, context.now) if facts.is_deferred else None


def _with_back_off(
    facts: ResourceFacts, desired: DesiredObject, last_write: LastWrite, now: datetime
) -> ResourceOutcome:
    if rejected := _rejected(facts, desired, now):
        return rejected
    outcome = _readiness(facts, now)
    return replace(outcome, requeue_at=earliest((outcome.requeue_at, last_write.not_before)))


def _rejection(facts: ResourceFacts, desired: DesiredObject) -> WriteRejection | None:
    """Return why the last write was rejected, if it had the desired content."""
    last_write = facts.last_write
    if last_write is None or last_write.hash != desired.hash:
        return None
    return last_write.rejection


def _rejected(
    facts: ResourceFacts, desired: DesiredObject, now: datetime
) -> ResourceOutcome | None:
    """Return the state of a resource whose last write was rejected; None if it was not."""
    rejection, live = _rejection(facts, desired), facts.live
    # An object that is being deleted is not written, so the rejection is outdated.
    if rejection is None or (live is not None and live.is_deleting):
        return None
    if rejection.is_transient:
        return _transiently_rejected(facts, desired, rejection, now)
    if rejection.is_conflict:
        state, reason = ResourceState.CONFLICTED, EventReason.RESOURCE_CONFLICT
    else:
        state, reason = ResourceState.FAILED, EventReason.APPLY_FAILED
    return _outcome(facts, state, reason, rejection.message, requeue_at=_retry_at(facts, now))


def _retry_at(facts: ResourceFacts, now: datetime) -> datetime | None:
    """Return when a rejected write is repeated; None if that needs no requeue."""
    not_before = facts.last_write.not_before if facts.last_write else None
    if not_before is None or not_before > now:
        return not_before
    # A write whose back-off is over is due, unless this reconcile has sent it already.
    return now if facts.was_written else None


def _transiently_rejected(
    facts: ResourceFacts, desired: DesiredObject, rejection: WriteRejection, now: datetime
) -> ResourceOutcome:
    """Return the state of a resource during a transient error, which says nothing of its object."""
    retry_at = _retry_at(facts, now)
    if _is_applied(facts.live, desired):
        outcome = _readiness(facts, now)
        return replace(outcome, requeue_at=earliest((outcome.requeue_at, retry_at)))
    state, reason = ResourceState.PROGRESSING, StateReason.HELD_BACK
    return _outcome(facts, state, reason, rejection.message, requeue_at=retry_at)


def _deferred(facts: ResourceFacts, desired: DesiredObject, now: datetime) -> ResourceOutcome:
    """Return the state of a resource whose write waits, which says nothing of its object."""
    retry_at = now + DEFERRED_RETRY
    if rejected := _rejected(facts, desired, now):
        return replace(rejected, requeue_at=retry_at)
    if _is_applied(facts.live, desired):
        outcome = _readiness(facts, now)
        return replace(outcome, requeue_at=earliest((outcome.requeue_at, retry_at)))
    message = f"waiting for other writes of {facts.ref.kind} objects, which are slow"
    state, reason = ResourceState.PROGRESSING, StateReason.HELD_BACK
    return _outcome(facts, state, reason, message, requeue_at=retry_at)


def _is_applied(live: LiveObject | None, desired: DesiredObject) -> bool:
    return live is not None and live.annotations.get(ANNOTATION_APPLIED_HASH) == desired.hash


def _conflict(
    facts: ResourceFacts, live: LiveObject, context: PassContext
) -> ResourceOutcome | None:
    """Return the state of a resource whose object is not the node's to write; None if it is."""
    if facts.claimant:
        return _owned_by_another_node(facts)
    return _refused(facts, context.now) if _is_refused(facts, live, context.owner) else None


def _owned_by_another_node(facts: ResourceFacts) -> ResourceOutcome:
    message = f"{facts.ref} belongs to {facts.claimant}; rename it, or delete the other LynqNode"
    return _outcome(facts, ResourceState.CONFLICTED, EventReason.RESOURCE_CONFLICT, message)


def _is_refused(facts: ResourceFacts, live: LiveObject, owner: Owner) -> bool:
    """Return whether the object existed before, and the policy refuses to adopt it."""
    if adoption_policy(facts.resource, facts.ref) is not AdoptionPolicy.REFUSE:
        return False
    is_own = is_adopted(live, facts.record.adopted_uid) or is_excluded(facts.resource, live)
    return not is_own and is_foreign(live, facts.ref, owner, facts.record)


def _refused(facts: ResourceFacts, now: datetime) -> ResourceOutcome:
    # The object has no label that our watches select, so its deletion is not observed.
    state, reason = ResourceState.CONFLICTED, EventReason.RESOURCE_CONFLICT
    message = refusal(facts.resource, facts.ref)
    return _outcome(facts, state, reason, message, requeue_at=now + _REFUSED_RETRY)


def _readiness(facts: ResourceFacts, now: datetime) -> ResourceOutcome:
    """Return the state of an applied object: its readiness, and the timeout."""
    live, resource = facts.live, facts.resource
    if live is None:
        return _missing(facts)
    if live.readiness.is_ready or not (resource.wait_for_ready or live.is_deleting):
        return _outcome(facts, ResourceState.READY, StateReason.READY)
    readiness = live.readiness
    if readiness.state is ReadinessState.FAILED:
        return _outcome(facts, ResourceState.FAILED, readiness.reason, readiness.message)
    started = live.annotations.get(ANNOTATION_APPLY_START_TIME, "")
    time = countdown(
        started,
        resource.timeout_seconds,
        now=now,
        default_start=live.created_at or now,
        lost_at=facts.readiness_lost_at,
    )
    if time.has_expired:
        message = f"not ready within {time.timeout} s: {readiness.message}"
        return _outcome(facts, ResourceState.FAILED, EventReason.READINESS_TIMEOUT, message)
    deadline = now + timedelta(seconds=time.remaining)
    state = ResourceState.PROGRESSING
    return _outcome(facts, state, readiness.reason, readiness.message, requeue_at=deadline)


def _missing(facts: ResourceFacts) -> ResourceOutcome:
    """Return the state of an object that does not exist and is not created now."""
    if facts.is_completed:
        message = "the Job has completed; it was deleted since, and is not created again"
        return _outcome(facts, ResourceState.READY, StateReason.READY, message)
    if facts.is_applied_once_job:
        return _outcome(facts, ResourceState.FAILED, StateReason.JOB_END_UNKNOWN, UNKNOWN_END)
    message = "the object was deleted right after it was applied; retrying after a back-off"
    return _outcome(facts, ResourceState.PROGRESSING, StateReason.HELD_BACK, message)


def _write(
    facts: ResourceFacts, desired: DesiredObject, cause: WriteCause, context: PassContext
) -> Write:
    resource, live, owner = facts.resource, facts.live, context.owner
    obj = desired.to_write(live, context.now)
    if live is None:
        return Write(resource.id, desired.ref, obj, _creation_method(resource), cause)
    is_done = is_done_once(resource, live, facts.ref, owner)
    if cause is WriteCause.ORPHANED:
        adopted = _metadata_only(obj) if is_done else obj
        return Write(resource.id, desired.ref, adoption_patch(adopted), WriteMethod.MERGE, cause)
    if is_done:
        # Never an apply: it would remove the fields of the body, which it does not contain.
        patch = restore_metadata_patch(desired.obj, live, owner)
        return Write(resource.id, desired.ref, patch, WriteMethod.MERGE, cause)
    method = _METHODS[resource.patch_strategy]
    if method is WriteMethod.MERGE:
        obj = without_adopted(obj, live)
    force = method is WriteMethod.APPLY and resource.conflict_policy is ConflictPolicy.FORCE
    return Write(resource.id, desired.ref, obj, method, cause, force)


def _creation_method(resource: TResource) -> WriteMethod:
    """Return a method that does not write to an object that exists and that no cache holds."""
    is_once = resource.creation_policy is CreationPolicy.ONCE
    is_applied = resource.patch_strategy is PatchStrategy.APPLY and not is_once
    return WriteMethod.APPLY_NEW if is_applied else WriteMethod.CREATE


def _metadata_only(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without its body, which is written only once."""
    return {key: obj[key] for key in ("apiVersion", "kind", "metadata")}


def _outcome(
    facts: ResourceFacts,
    state: ResourceState,
    reason: str,
    message: str = "",
    *,
    write: Write | None = None,
    requeue_at: datetime | None = None,
) -> ResourceOutcome:
    return ResourceOutcome(
        id=facts.resource.id,
        ref=facts.ref,
        state=state,
        reason=str(reason),
        message=message,
        write=write,
        requeue_at=requeue_at,
        fields_digest=facts.last_write.digest if facts.last_write else b"",
        is_retained=facts.is_retained,
        is_completed=facts.is_completed,
        adopted_uid=_adopted_uid(facts),
    )


def _adopted_uid(facts: ResourceFacts) -> str | None:
    live, desired = facts.live, facts.desired
    if live is None or desired is None:
        return None
    was_adopted = desired.is_adopted and is_adopted(live, facts.record.adopted_uid)
    return live.uid if was_adopted else ""
