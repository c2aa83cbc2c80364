"""What a step answers: how far each resource has come, and what is to be written now.

What a step is decided by: for each resource what is desired, what is there, what we last did.

The first of several moments, some of which are not known.

How long a sentence may be in a node's status, an object of at most 1.5 MB.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Final

from lynq.api import ResourceState, TResource
from lynq.api.text import one_line
from lynq.core.node.desired_object import DesiredObject
from lynq.core.node.objects import LiveObject, ObjectRef


class StateReason(StrEnum):
    """Our own words for why a resource is in its state; readiness has further ones."""

    READY = "Ready"
    APPLYING = "Applying"
    RENDERING = "Rendering"
    HELD_BACK = "HeldBack"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    DUPLICATE_OBJECT = "DuplicateObject"
    DELETING = "Deleting"
    WAITING_FOR_DEPENDENTS = "WaitingForDependents"
    REMOVAL_FAILED = "RemovalFailed"


class WriteMethod(Enum):
    """How an object is written."""

    APPLY = "apply"
    """Server-side apply."""
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
    """Row or form have changed, or the object was not written by us before."""
    HASH_LOST = "hash lost"
    """Someone took our hash off: drift."""
    OWNERSHIP_LOST = "ownership lost"
    """Someone took off the owner reference or labels that tie it to its node: drift."""
    CREATED_ONCE_LOST = "created-once lost"
    """Someone took off the mark that it was written once: drift."""
    FIELDS_TAKEN = "fields taken"
    """Someone took or removed a field that we own: drift."""
    REJECTED = "rejected"
    """The last write of the same content was not taken."""
    FORCED = "forced"
    """All is written again, changed or not."""
    ORPHANED = "orphaned"
    """It was retained before, and is desired again."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write of one object, everything included."""

    id: str
    ref: ObjectRef
    obj: dict[str, Any]
    method: WriteMethod
    cause: WriteCause
    force: bool = False
    """Whether fields are taken over from others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceOutcome:
    """How far one resource has come."""

    id: str
    ref: ObjectRef
    state: ResourceState
    reason: str
    message: str = ""
    write: Write | None = None
    """What is to be done for it now."""
    requeue_at: datetime | None = None
    """When its state may change by the passing of time."""
    fields_digest: bytes = b""
    """The digest of the fields that our last write left us with, as far as it is remembered."""
    failed_dependency: str = ""
    """The failed dependency that it is written in spite of."""

    @property
    def message_has_id(self) -> bool:
        """Whether the message begins with the id, as that of what could not be rendered does."""
        return self.message.startswith(f'"{self.id}" ')


@dataclass(frozen=True, slots=True)
class WriteRejection:
    """The API server did not take our write."""

    message: str
    """One sentence, without contents of Secrets."""
    is_conflict: bool = False
    """Whether someone else owns a field, and the API server says so."""
    is_transient: bool = False
    """Whether it may well be over in a moment, and says nothing about the object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWrite:
    """Our own last write of an object. After a restart only what the status says of it is known."""

    hash: str
    """Of what was written, or tried."""
    digest: bytes = b""
    """Of the fields that we owned by the answer."""
    rejection: WriteRejection | None = None
    not_before: datetime | None = None
    """Until when the same content is not written again: the back-off, which keeps two controllers
    from overwriting each other as fast as they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFacts:
    """One resource of the node's spec, and what is known of its object."""

    resource: TResource
    desired: DesiredObject | None = None
    """None if it could not be rendered, or is not yet."""
    render_error: str = ""
    """Why it could not be rendered."""
    is_rendering: bool = False
    """Whether it is still being rendered: keys take their time."""
    live: LiveObject | None = None
    """None if the object does not exist."""
    last_write: LastWrite | None = None
    was_written: bool = False
    """Whether it was already written in this pass; nothing is written twice in one."""

    @property
    def ref(self) -> ObjectRef:
        """The object, as far as it is known; without name if it could not be rendered."""
        if self.desired is not None:
            return self.desired.ref
        spec = self.resource.spec
        return ObjectRef(str(spec.get("apiVersion", "")), str(spec.get("kind", "")), "", "")


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the moments that are known."""
    return min((moment for moment in moments if moment is not None), default=None)


_LONGEST: Final = 1000
_CONDITION: Final = 8000


def fit(text: str) -> str:
    """Return the text for one resource."""
    return one_line(text, _LONGEST)


def fit_condition(text: str) -> str:
    """Return the text for a condition, which the API server takes up to 32,768 characters."""
    return one_line(text, _CONDITION)
