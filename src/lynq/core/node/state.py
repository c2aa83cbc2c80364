"""State of a node's resources: the facts that a step is decided by, and its outcomes.

`ResourceFacts` holds the desired object, the live object and our last write of one resource.
`ResourceOutcome` holds its state and the write that is due, if any.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from lynq.api import CreationPolicy, DeletionPolicy, ResourceState, TResource
from lynq.api.text import one_line
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.jobs import is_job
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, LiveObject, ObjectRef

_MESSAGE_LENGTH: Final = 1000
_CONDITION_MESSAGE_LENGTH: Final = 8000
"""The API server accepts 32,768 characters, but the whole node must stay below 1.5 MB."""


class WriteMethod(Enum):
    """How an object is written."""

    APPLY = "apply"
    """Server-side apply."""
    APPLY_NEW = "apply new"
    """Server-side apply that fails if the object exists."""
    CREATE = "create"
    MERGE = "merge"
    """JSON merge patch."""
    REPLACE = "replace"
    """Update, with the live object's resourceVersion."""


class WriteCause(Enum):
    """Why an object is written."""

    MISSING = "missing"
    """It does not exist."""
    CHANGED = "changed"
    """The row or the form changed, or the object was not written by us before."""
    HASH_LOST = "hash lost"
    """Drift: our applied-hash was removed."""
    OWNERSHIP_LOST = "ownership lost"
    """Drift: the owner reference or the tracking labels were removed or changed."""
    CREATED_ONCE_LOST = "created-once lost"
    """Drift: the annotation created-once was removed."""
    POLICY_CHANGED = "policy changed"
    """The deletionPolicy of an object that is written once changed."""
    FIELDS_TAKEN = "fields taken"
    """Drift: another manager took or removed a field that we own."""
    REJECTED = "rejected"
    """The last write of the same content was rejected."""
    FORCED = "forced"
    """A forced reconcile writes every object, changed or not."""
    ORPHANED = "orphaned"
    """It was retained as an orphan, and is desired again."""
    FOREIGN = "foreign"
    """It existed before, and is adopted."""


class Write(Struct, frozen=True):
    """One write of one object."""

    id: str
    """The id of the resource."""
    ref: ObjectRef
    obj: dict[str, Any]
    method: WriteMethod
    cause: WriteCause
    force: bool = False
    """Whether fields of other managers are taken over."""


class ResourceOutcome(Struct, frozen=True, kw_only=True):
    """The state of one resource, and the write that is due."""

    id: str
    ref: ObjectRef
    state: ResourceState
    reason: str
    message: str = ""
    write: Write | None = None
    requeue_at: datetime | None = None
    """The time at which the state may change without an event."""
    fields_digest: bytes = b""
    """Digest of the fields that we owned after our last write; empty if unknown."""
    adopted_uid: str | None = None
    """The uid of the object if it is adopted, "" if it is not; None if that is unknown."""
    failed_dependency: str = ""
    """The failed dependency in spite of which the resource is written."""
    is_retained: bool = False
    """Whether the last deletionPolicy of the object in the spec is Retain."""
    is_completed: bool = False
    """Whether the object is a Job with creationPolicy Once that has completed."""

    @property
    def message_has_id(self) -> bool:
        """Whether the message begins with the id, as that of a render error does."""
        return self.message.startswith(f'"{self.id}" ')


class WriteRejection(Struct, frozen=True):
    """Why the API server rejected a write."""

    message: str
    """One sentence, without values of the object."""
    is_conflict: bool = False
    """Whether another manager owns a field."""
    is_transient: bool = False
    """Whether the same write may succeed in a moment; the error says nothing of the object."""


class LastWrite(Struct, frozen=True, kw_only=True):
    """Our last write of an object; after a restart, only its digest in the status is known."""

    hash: str
    """The applied-hash of the content."""
    digest: bytes = b""
    """Digest of the fields that we owned after the write."""
    rejection: WriteRejection | None = None
    not_before: datetime | None = None
    """End of the back-off for the same content. It keeps two controllers from reverting each other
    in a hot loop."""


class ResourceFacts(Struct, frozen=True, kw_only=True):
    """One resource of the node's spec, and the observed state of its object."""

    resource: TResource
    desired: DesiredObject | None = None
    """None if the resource could not be rendered, or is still being rendered."""
    render_error: str = ""
    is_rendering: bool = False
    """Whether a slow render (keys, certificates) is not finished."""
    live: LiveObject | None = None
    """None if the object does not exist."""
    claimant: str = ""
    """The other node that the live object belongs to, for messages; "" if there is none."""
    record: AppliedRecord = NOT_APPLIED
    """What the status of the node says about the object."""
    last_write: LastWrite | None = None
    readiness_lost_at: datetime | None = None
    """When the object ceased to be ready; None if it was not ready before."""
    was_written: bool = False
    """Whether the object was already written in this reconcile; it is written at most once."""
    is_deferred: bool = False
    """Whether its write was deferred in this reconcile, because writes of the kind are slow."""

    @property
    def is_retained(self) -> bool:
        """Whether the deletionPolicy of the spec is Retain."""
        return self.resource.deletion_policy is DeletionPolicy.RETAIN

    @property
    def is_completed(self) -> bool:
        """Whether the object is a Once Job that has completed, now or before."""
        if self.resource.creation_policy is not CreationPolicy.ONCE:
            return False
        is_ready = self.live is not None and self.live.readiness.is_ready
        return self.record.is_completed or (self._is_job and is_ready)

    @property
    def is_applied_once_job(self) -> bool:
        """Whether the object is a Once Job that was applied. Without it, it may have completed."""
        is_once = self.resource.creation_policy is CreationPolicy.ONCE
        return is_once and self._is_job and self.record.was_applied

    @property
    def _is_job(self) -> bool:
        return is_job(self.ref.group, self.ref.kind)

    @property
    def ref(self) -> ObjectRef:
        """The desired object; without namespace and name if it could not be rendered."""
        if self.desired is not None:
            return self.desired.ref
        spec = self.resource.spec
        return ObjectRef(str(spec.get("apiVersion", "")), str(spec.get("kind", "")), "", "")


def earliest(times: Iterable[datetime | None]) -> datetime | None:
    """Return the earliest time that is set."""
    return min((time for time in times if time is not None), default=None)


def fit(text: str) -> str:
    """Return the text in one line, cut to the length for one resource."""
    return one_line(text, _MESSAGE_LENGTH)


def fit_condition(text: str) -> str:
    """Return the text in one line, cut to the length for a condition."""
    return one_line(text, _CONDITION_MESSAGE_LENGTH)
