"""Judge one resource whose turn it is: write it, leave it alone, or see whether it is ready."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from lynq.api import ConflictPolicy, CreationPolicy, PatchStrategy, ResourceState, TResource
from lynq.api.events import EventReason
from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    LABEL_MANAGED,
    LABEL_NODE,
    TRUE,
)
from lynq.api.text import printable
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.objects import LiveObject, Owner
from lynq.core.node.ownership import (
    adoption_patch,
    is_orphan,
    is_owned_by,
    is_owned_by_another_node,
    restore_metadata_patch,
)
from lynq.core.node.state import (
    LastWrite,
    ResourceFacts,
    ResourceOutcome,
    StateReason,
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


_LONGEST_PAUSE: Final = timedelta(minutes=2)
"""No back-off is longer; what seems to be is left from before a clock was set back."""


@dataclass(frozen=True, slots=True)
class PassContext:
    """What holds for all resources of a pass."""

    owner: Owner
    now: datetime
    force: bool = False
    """Whether everything is written, changed or not."""


def decide(facts: ResourceFacts, context: PassContext) -> ResourceOutcome:
    """Return how far the resource has come, with the write that takes it further, if any."""
    desired, live = facts.desired, facts.live
    if facts.is_rendering:
        message = "its keys are being made"
        return _outcome(facts, ResourceState.PROGRESSING, StateReason.RENDERING, message)
    if desired is None:
        reason = EventReason.TEMPLATE_RENDER_ERROR
        return _outcome(facts, ResourceState.FAILED, reason, facts.render_error)
    if live is not None and is_owned_by_another_node(live, context.owner):
        return _conflicted(facts, live)
    cause = _cause(facts, desired, context)
    if cause is None:
        return _refused(facts, context.now) or _readiness(facts, context.now)
    if last_write := _holding(facts, desired, context):
        return _held(facts, last_write, context.now)
    message = "it is being written"
    write = _write(facts, desired, cause, context)
    return _outcome(facts, ResourceState.PROGRESSING, StateReason.APPLYING, message, write=write)


def _cause(facts: ResourceFacts, desired: DesiredObject, context: PassContext) -> WriteCause | None:
    """Return why the object has to be written; None if it need not be, or cannot be now."""
    live = facts.live
    # Whatever the answer says: another write in the same pass would only repeat it.
    if facts.was_written:
        return None
    if live is None:
        return WriteCause.MISSING
    if live.deleting:
        return None
    if is_orphan(live):
        return WriteCause.ORPHANED
    if is_done_once(facts.resource, live, context.owner):
        return _lost_once(facts, live, context.owner)
    return _difference(facts, live, desired, context)


def _difference(
    facts: ResourceFacts, live: LiveObject, desired: DesiredObject, context: PassContext
) -> WriteCause | None:
    written = live.annotations.get(ANNOTATION_APPLIED_HASH)
    if written != desired.hash:
        is_tied = is_owned_by(live, context.owner)
        return WriteCause.HASH_LOST if is_tied and not written else WriteCause.CHANGED
    if not _has_all_ties(live, context.owner):
        return WriteCause.OWNERSHIP_LOST
    if _rejection(facts):
        return WriteCause.REJECTED
    if _fields_were_taken(facts, live, desired):
        return WriteCause.FIELDS_TAKEN
    return WriteCause.FORCED if context.force else None


def is_done_once(resource: TResource, live: LiveObject, owner: Owner) -> bool:
    """Return whether the body of an object was written for the one time that it may be.

    The mark says so. Where somebody took it off, our ties and our hash still do, if there are keys
    in it: a new one must not be written over the one that is in use. All else that has no mark
    may have become Once just now, and is written for a last time.
    """
    if resource.creation_policy is not CreationPolicy.ONCE:
        return False
    if live.annotations.get(ANNOTATION_CREATED_ONCE) == TRUE:
        return True
    was_written = ANNOTATION_APPLIED_HASH in live.annotations and is_owned_by(live, owner)
    return was_written and not is_repeatable(resource.spec)


def _lost_once(facts: ResourceFacts, live: LiveObject, owner: Owner) -> WriteCause | None:
    """Return why an object that was written once needs its marks anew; None if it does not."""
    if live.annotations.get(ANNOTATION_CREATED_ONCE) != TRUE:
        return WriteCause.CREATED_ONCE_LOST
    # One without hash was marked by somebody else, to be left as it is.
    if ANNOTATION_APPLIED_HASH not in live.annotations:
        return None
    if not _has_all_ties(live, owner):
        return WriteCause.OWNERSHIP_LOST
    return WriteCause.REJECTED if _rejection(facts) else None


def _has_all_ties(live: LiveObject, owner: Owner) -> bool:
    # Without the label no watch of ours shows the object: it is a tie as well.
    return is_owned_by(live, owner) and live.labels.get(LABEL_MANAGED) == TRUE


def _fields_were_taken(facts: ResourceFacts, live: LiveObject, desired: DesiredObject) -> bool:
    """Return whether our entry in managedFields is another than our own apply left."""
    last_write = facts.last_write
    # What we remember of other content says nothing: another operator wrote this one.
    if last_write is None or last_write.hash != desired.hash or not last_write.digest:
        return False
    return last_write.digest != live.digest


def _holding(
    facts: ResourceFacts, desired: DesiredObject, context: PassContext
) -> LastWrite | None:
    """Return the last_write that forbids a write for now: the same content, too soon."""
    last_write = facts.last_write
    if last_write is None or last_write.hash != desired.hash or context.force:
        return None
    if last_write.not_before is None:
        return None
    too_soon = timedelta(0) < last_write.not_before - context.now < _LONGEST_PAUSE
    return last_write if too_soon else None


def _held(facts: ResourceFacts, last_write: LastWrite, now: datetime) -> ResourceOutcome:
    if refused := _refused(facts, now):
        return refused
    outcome = _readiness(facts, now)
    return replace(outcome, requeue_at=earliest((outcome.requeue_at, last_write.not_before)))


def _rejection(facts: ResourceFacts) -> WriteRejection | None:
    """Return what the API server said to the last write of this very content."""
    last_write = facts.last_write
    if last_write is None or last_write.rejection is None:
        return None
    is_of_another = facts.desired is not None and last_write.hash != facts.desired.hash
    return None if is_of_another else last_write.rejection


def _refused(facts: ResourceFacts, now: datetime) -> ResourceOutcome | None:
    """Return the state of an object whose last write was refused; None if it was not."""
    rejection, live = _rejection(facts), facts.live
    # What goes cannot be written, so nothing is known of what would be said to it now.
    if rejection is None or (live is not None and live.deleting):
        return None
    again = facts.last_write.not_before if facts.last_write else None
    # One that is over was not used: nothing happens at that time any more.
    again = again if again and again > now else None
    if rejection.is_transient:
        return _put_up_with(facts, rejection, again, now)
    if rejection.is_conflict:
        state, reason = ResourceState.CONFLICTED, EventReason.RESOURCE_CONFLICT
    else:
        state, reason = ResourceState.FAILED, EventReason.APPLY_FAILED
    return _outcome(facts, state, reason, rejection.message, requeue_at=again)


def _put_up_with(
    facts: ResourceFacts, rejection: WriteRejection, again: datetime | None, now: datetime
) -> ResourceOutcome:
    """Return the state of an object while the API server has a hiccup, which says nothing of it."""
    live, desired = facts.live, facts.desired
    if live and desired and live.annotations.get(ANNOTATION_APPLIED_HASH) == desired.hash:
        outcome = _readiness(facts, now)
        return replace(outcome, requeue_at=earliest((outcome.requeue_at, again)))
    state, reason = ResourceState.PROGRESSING, StateReason.HELD_BACK
    return _outcome(facts, state, reason, rejection.message, requeue_at=again)


def _conflicted(facts: ResourceFacts, live: LiveObject) -> ResourceOutcome:
    other = live.labels.get(LABEL_NODE)
    whose = f'the LynqNode "{printable(other)}"' if other else "another LynqNode"
    message = (
        f"{facts.ref} belongs to {whose}; two nodes cannot write one object: "
        "give it another name, or let the other node go"
    )
    return _outcome(facts, ResourceState.CONFLICTED, EventReason.RESOURCE_CONFLICT, message)


def _readiness(facts: ResourceFacts, now: datetime) -> ResourceOutcome:
    """Return the state of an object that is as it should be, by its kind's rule and the clock."""
    live, resource = facts.live, facts.resource
    if live is None:
        message = "it was removed right after it was written; it is written again after a pause"
        return _outcome(facts, ResourceState.PROGRESSING, StateReason.HELD_BACK, message)
    if live.verdict.is_ready or not (resource.wait_for_ready or live.deleting):
        return _outcome(facts, ResourceState.READY, StateReason.READY)
    verdict = live.verdict
    if verdict.state is ReadinessState.FAILED:
        return _outcome(facts, ResourceState.FAILED, verdict.reason, verdict.message)
    started = live.annotations.get(ANNOTATION_APPLY_START_TIME, "")
    time = countdown(started, resource.timeout_seconds, now=now, default_start=live.created or now)
    if time.has_expired:
        message = f"not ready within {time.timeout} s: {verdict.message}"
        return _outcome(facts, ResourceState.FAILED, EventReason.READINESS_TIMEOUT, message)
    deadline = now + timedelta(seconds=time.remaining)
    state = ResourceState.PROGRESSING
    return _outcome(facts, state, verdict.reason, verdict.message, requeue_at=deadline)


def _write(
    facts: ResourceFacts, desired: DesiredObject, cause: WriteCause, context: PassContext
) -> Write:
    resource, live, owner = facts.resource, facts.live, context.owner
    obj = desired.to_write(live, context.now)
    is_done = live is not None and is_done_once(resource, live, owner)
    if cause is WriteCause.ORPHANED:
        adopted = _marks_of(obj) if is_done else obj
        return Write(resource.id, desired.ref, adoption_patch(adopted), WriteMethod.MERGE, cause)
    if live is not None and is_done:
        # Never an apply: what it leaves out of the body would be taken away.
        patch = restore_metadata_patch(desired.obj, live, owner)
        return Write(resource.id, desired.ref, patch, WriteMethod.MERGE, cause)
    method = _METHODS[resource.patch_strategy]
    # What may be written only once must not be written over what no cache has shown us.
    once = resource.creation_policy is CreationPolicy.ONCE
    if live is None and (once or method is not WriteMethod.APPLY):
        method = WriteMethod.CREATE
    force = method is WriteMethod.APPLY and resource.conflict_policy is ConflictPolicy.FORCE
    return Write(resource.id, desired.ref, obj, method, cause, force)


def _marks_of(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without its body: what was written once is adopted as it is."""
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
    )
