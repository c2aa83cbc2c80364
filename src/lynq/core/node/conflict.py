"""Conflict and force handling of one write: the next request, or the final result.

`begin_write` returns a `WriteAttempt` for the planned write and the observed object. Its `action`
is the next request, or the result. The shell sends the request and reports the answer to one of the
`on_…` functions, each of which returns the attempt with the next action. The order is:

1. With ignoreFields, the write contains live values. They are read if no cache holds them, and the
   write is pinned to the resourceVersion that they were read at, so that no newer value is lost.
2. Before an apply, fields that we own by operation Update are migrated to Apply. To the API server
   they belong to another manager: the apply would conflict with ourselves, and fields that left
   the manifest would stay.
3. A merge patch that depends on the metadata of the live object is adapted to it (`adoption`).
4. The write is sent without force, also under conflictPolicy Force. Only the conflict names the
   managers, and they are reported when their fields are taken over.
5. On a conflict over fields, in this order: fields that are our own are migrated, and the write is
   sent again. With ignoreFields, the conflict may concern live values that have changed: the object
   is fetched, the write is decided again and sent. Under Force, the write is sent with force. Under
   Stuck, it is rejected.
6. On a conflict over the resourceVersion, a write that is pinned to it is decided again for the
   current object and sent again, up to five times.
7. An object that was believed to be missing and exists is observed again; the next step of the
   reconcile decides about it. The write of an object that existed before, or is an orphan, is
   pinned to the observed resourceVersion, so that two nodes do not adopt it at once.
8. Our labels and annotations are never a field of others: if they were changed, they are restored
   by a merge patch, and the write is sent again.
9. A write that is rejected leaves no owner reference on an object that is to be retained: it is
   removed by a merge patch, or the garbage collector would delete the object with the node.
"""

from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from lynq.api import Metadata
from lynq.api.names import FIELD_MANAGER
from lynq.core.node.adoption import (
    adapted_to,
    needs_dry_run,
    needs_metadata,
    releases_owner,
    replaces_other_managers,
)
from lynq.core.node.apply_errors import (
    ApplyError,
    ApplyErrorKind,
    conflicting_managers,
    rejection_of,
    replacement_refused,
)
from lynq.core.node.decide import PassContext, decide
from lynq.core.node.desired_object import ignores_fields
from lynq.core.node.managed_fields import migration_patch
from lynq.core.node.objects import Owner
from lynq.core.node.ownership_patches import labels_tie_patch, restore_metadata_patch
from lynq.core.node.state import ResourceFacts, Write, WriteCause, WriteMethod, WriteRejection

RETRY_DELAYS: Final = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Seconds before each retry of a write whose resourceVersion was outdated."""

_OWN_MANAGERS: Final = frozenset({FIELD_MANAGER, "manager"})
"""Our field manager, and the one of the Go operator's requests that set no field manager."""

_ADOPTIONS: Final = frozenset({WriteCause.FOREIGN, WriteCause.ORPHANED})


class ReadMetadata(Struct, frozen=True):
    """Read the metadata of the live object; answer with `on_metadata`."""

    for_migration: bool = False
    """Whether our Update entries are to be migrated; otherwise the write is adapted."""


class PatchMetadata(Struct, frozen=True):
    """Send this merge patch of the metadata; answer with `on_accepted`."""

    patch: dict[str, Any]


class DryRunApply(Struct, frozen=True):
    """Apply this object as a dry run, without force; answer with `on_accepted`."""

    obj: dict[str, Any]


class Refetch(Struct, frozen=True):
    """Read the live object after a delay in seconds; answer with `on_refetched`."""

    delay: float = 0.0


class Send(Struct, frozen=True):
    """Send this write as it is; answer with `on_accepted`."""

    write: Write


class Accepted(Struct, frozen=True):
    """Final: the API server accepted the write."""

    previous_managers: str = ""
    """The managers whose fields were taken over by force, with the number of fields."""


class Rejected(Struct, frozen=True):
    """Final: the write is given up until the next reconcile."""

    rejection: WriteRejection
    is_reported: bool = True
    """Whether the write counts as a failed apply in logs and metrics."""


_CREATED_AND_DELETED: Final = Rejected(
    WriteRejection("an object with this name was created and deleted concurrently; retrying"),
    is_reported=False,
)
_DELETED: Final = Rejected(
    WriteRejection("the object was deleted before its write; retrying", is_transient=True),
    is_reported=False,
)


class ObserveAgain(Struct, frozen=True):
    """Final: the object exists and was not observed, or differs; the next step decides with it."""

    otherwise: Rejected
    """The result if the object does not exist after all."""


class DecideAgain(Struct, frozen=True):
    """Final: the object exists and was observed; the next step decides with it."""


NextRequest: TypeAlias = ReadMetadata | PatchMetadata | DryRunApply | Refetch | Send
FinalResult: TypeAlias = Accepted | Rejected | ObserveAgain | DecideAgain


class ObservedObject(Struct, frozen=True):
    """A resource with its live object, as far as the write depends on it."""

    facts: ResourceFacts
    resource_version: str = ""
    """Empty if the object does not exist."""
    has_update_entry: bool = False
    """Whether we own fields of the object by operation Update."""


class Recovery(Enum):
    """What an attempt does about a request that failed."""

    MIGRATED = auto()
    """The write conflicted with our own Update entry, which is migrated."""
    REBASED = auto()
    """The write conflicted over fields, and is decided again for the current object."""
    RETRIED = auto()
    """The resourceVersion was outdated; the write is decided again for the current object."""
    EXISTING = auto()
    """The object was to be created and exists."""
    RESTORED = auto()
    """The write conflicted over our labels or annotations, which are restored."""
    FORCED = auto()
    """The write is sent with force."""
    REJECTED = auto()
    """The write is rejected; our owner reference is removed from the object."""


class FailedRequest(Struct, frozen=True):
    """The last request that failed, and what the attempt does about it."""

    recovery: Recovery
    error: ApplyError


class WriteAttempt(Struct, frozen=True, kw_only=True):
    """One write, the object that it is decided for, and the answers so far."""

    observed: ObservedObject
    write: Write
    owner: Owner
    now: datetime
    action: NextRequest | FinalResult
    failure: FailedRequest | None = None
    """None while the planned write is prepared or sent."""
    retries: int = 0

    @property
    def facts(self) -> ResourceFacts:
        """The resource, with the live object that the write is decided for."""
        return self.observed.facts

    @property
    def ignores_fields(self) -> bool:
        """Whether the resource has ignoreFields, so that the write contains live values."""
        return ignores_fields(self.facts.resource)

    @property
    def is_pinned(self) -> bool:
        """Whether the write is valid only for the observed version of the object."""
        if self.write.method is WriteMethod.REPLACE or self.write.cause in _ADOPTIONS:
            return True
        return self.ignores_fields and self.write.method in {WriteMethod.APPLY, WriteMethod.MERGE}

    @property
    def recovery(self) -> Recovery | None:
        """What the attempt does about the last request that failed; None if none has."""
        return self.failure.recovery if self.failure else None


def begin_write(
    observed: ObservedObject, write: Write, owner: Owner, now: datetime
) -> WriteAttempt:
    """Return the attempt of a planned write, with its first request."""
    attempt = WriteAttempt(observed=observed, write=write, owner=owner, now=now, action=Refetch())
    if _lacks_live_values(observed.facts):
        return attempt
    if write.method is WriteMethod.APPLY and observed.has_update_entry:
        return replace(attempt, action=ReadMetadata(for_migration=True))
    return _prepare(attempt)


def on_metadata(attempt: WriteAttempt, metadata: Metadata) -> WriteAttempt:
    """Continue with the metadata of the live object."""
    if (failure := attempt.failure) and failure.recovery is Recovery.REJECTED:
        return _remove_reference(attempt, failure.error, metadata)
    if attempt.action != ReadMetadata(for_migration=True):
        return _adapt(attempt, metadata)
    if patch := migration_patch(metadata):
        return replace(attempt, action=PatchMetadata(patch))
    return _send(attempt)


def on_refetched(attempt: WriteAttempt, observed: ObservedObject | None) -> WriteAttempt:
    """Continue with the current object; None if it does not exist."""
    failure = attempt.failure
    if failure is None:
        return _complete(attempt, observed)
    if failure.recovery is Recovery.EXISTING:
        return _found(attempt, observed)
    if rebased := _rebase(attempt, observed):
        return _prepare(rebased)
    is_retried = failure.recovery is Recovery.RETRIED
    return _give_up(attempt, failure.error) if is_retried else _force(attempt, failure.error)


def on_accepted(attempt: WriteAttempt) -> WriteAttempt:
    """Continue after a request that the API server accepted."""
    match attempt.action, attempt.failure:
        case PatchMetadata(), FailedRequest(recovery=Recovery.REJECTED, error=error):
            return _give_up(attempt, error)
        case PatchMetadata() | DryRunApply(), _:
            return _send(attempt)
        case _, FailedRequest(recovery=Recovery.FORCED, error=error):
            return replace(attempt, action=Accepted(conflicting_managers(error)))
        case _:
            return replace(attempt, action=Accepted())


def on_error(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt:
    """Continue after a request that failed."""
    if (failure := attempt.failure) and failure.recovery is Recovery.REJECTED:
        return _give_up(attempt, failure.error)
    if error.kind is not ApplyErrorKind.CONFLICT:
        return _give_up(attempt, error)
    match attempt.action:
        case DryRunApply() if _OWN_MANAGERS.issuperset(error.managers):
            return _send(attempt)
        case Send(write=write) if write.method is WriteMethod.APPLY_NEW:
            return _recover(attempt, Recovery.EXISTING, error, Refetch())
        case Send():
            return _resolve(attempt, error)
        case _:
            return _give_up(attempt, error)


def _recover(
    attempt: WriteAttempt, recovery: Recovery, error: ApplyError, action: NextRequest
) -> WriteAttempt:
    return replace(attempt, failure=FailedRequest(recovery, error), action=action)


def _found(attempt: WriteAttempt, observed: ObservedObject | None) -> WriteAttempt:
    """Let the next step decide about the object, or create one that is gone."""
    if observed is not None:
        return replace(attempt, observed=observed, action=DecideAgain())
    # An API server that rejects the precondition of the apply reports a conflict as well.
    return _send(replace(attempt, write=replace(attempt.write, method=WriteMethod.CREATE)))


def _lacks_live_values(facts: ResourceFacts) -> bool:
    """Return whether the write would set ignored fields to the values of the manifest."""
    return facts.live is not None and facts.desired is not None and facts.desired.lacks_live_values


def _complete(attempt: WriteAttempt, observed: ObservedObject | None) -> WriteAttempt:
    """Begin the write with the live values of the ignored fields."""
    unread = replace(attempt, observed=replace(attempt.observed, resource_version=""))
    rebased = _rebase(unread, observed)
    if rebased is None or _lacks_live_values(rebased.facts):
        return replace(attempt, action=ObserveAgain(_DELETED))
    return begin_write(rebased.observed, rebased.write, attempt.owner, attempt.now)


def _prepare(attempt: WriteAttempt) -> WriteAttempt:
    """Read the metadata if the write depends on it, or send the write."""
    if needs_metadata(attempt.write, attempt.facts, attempt.owner):
        return replace(attempt, action=ReadMetadata())
    return _send(attempt)


def _adapt(attempt: WriteAttempt, metadata: Metadata) -> WriteAttempt:
    write, facts = attempt.write, attempt.facts
    adapted = replace(attempt, write=adapted_to(write, facts, attempt.owner, metadata))
    if replaces_other_managers(write, metadata):
        return replace(attempt, action=Rejected(replacement_refused()))
    if facts.desired and needs_dry_run(write, facts, metadata):
        return replace(adapted, action=DryRunApply(facts.desired.obj))
    return _send(adapted)


def _send(attempt: WriteAttempt) -> WriteAttempt:
    write, obj = attempt.write, attempt.write.obj
    if attempt.is_pinned:
        pin = {"resourceVersion": attempt.observed.resource_version}
        obj = {**obj, "metadata": {**obj["metadata"], **pin}}
    is_forced = attempt.recovery is Recovery.FORCED
    return replace(attempt, action=Send(replace(write, obj=obj, force=is_forced)))


def _resolve(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt:
    """Continue after a write that conflicted."""
    if not error.managers:
        return _retry(attempt, error) if attempt.is_pinned else _give_up(attempt, error)
    match attempt.recovery:
        case None if set(error.managers) == {FIELD_MANAGER}:
            return _recover(attempt, Recovery.MIGRATED, error, ReadMetadata(for_migration=True))
        case None if attempt.ignores_fields:
            return _recover(attempt, Recovery.REBASED, error, Refetch())
        case None | Recovery.REBASED | Recovery.RETRIED:
            return _force(attempt, error)
        case _:
            return _give_up(attempt, error)


def _retry(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt:
    if attempt.retries == len(RETRY_DELAYS):
        return _give_up(attempt, error)
    delay, retried = RETRY_DELAYS[attempt.retries], replace(attempt, retries=attempt.retries + 1)
    return _recover(retried, Recovery.RETRIED, error, Refetch(delay))


def _rebase(attempt: WriteAttempt, observed: ObservedObject | None) -> WriteAttempt | None:
    """Decide the write again for the current object; None if that changes nothing."""
    if observed is None or observed.resource_version == attempt.observed.resource_version:
        return None
    before, live = attempt.facts.live, observed.facts.live
    if live is None or before is None or live.uid != before.uid:
        return None
    write = decide(observed.facts, PassContext(attempt.owner, attempt.now, force=True)).write
    # An orphan is adopted by a patch of its own, to which other writes are not adapted.
    was_orphan = attempt.write.cause is WriteCause.ORPHANED
    if write is None or (write.cause is WriteCause.ORPHANED) is not was_orphan:
        return None
    return replace(attempt, observed=observed, write=replace(write, cause=attempt.write.cause))


def _force(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt:
    """Send the write with force if the policy allows it."""
    if not attempt.write.force:
        return _restore_marks(attempt, error) or _give_up(attempt, error)
    return _send(replace(attempt, failure=FailedRequest(Recovery.FORCED, error)))


def _restore_marks(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt | None:
    """Restore our labels and annotations if the conflict is about them; None if it is not."""
    live, desired = attempt.facts.live, attempt.facts.desired
    is_foreign = attempt.write.cause is WriteCause.FOREIGN
    if live is None or desired is None or is_foreign or not error.disputes_marks:
        return None
    patch = restore_metadata_patch(desired.obj, live, attempt.owner)
    return _recover(attempt, Recovery.RESTORED, error, PatchMetadata(patch))


def _give_up(attempt: WriteAttempt, error: ApplyError) -> WriteAttempt:
    if error.kind is ApplyErrorKind.ALREADY_EXISTS:
        return replace(attempt, action=ObserveAgain(_CREATED_AND_DELETED))
    rejection = rejection_of(error, attempt.write.ref, attempt.facts.resource.conflict_policy)
    is_first = attempt.recovery is not Recovery.REJECTED and not rejection.is_transient
    if is_first and releases_owner(attempt.facts, attempt.owner):
        return _recover(attempt, Recovery.REJECTED, error, ReadMetadata())
    return replace(attempt, action=Rejected(rejection))


def _remove_reference(attempt: WriteAttempt, error: ApplyError, metadata: Metadata) -> WriteAttempt:
    live, desired = attempt.facts.live, attempt.facts.desired
    if live is None or desired is None or metadata.uid != live.uid:
        return _give_up(attempt, error)
    patch = labels_tie_patch(desired.obj, live, attempt.owner, metadata)
    return replace(attempt, action=PatchMetadata(patch))
