"""What a step answers: how far each resource has come, and what is to be written now."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any

from lynq.api import ResourceState
from lynq.core.node.object_ref import ObjectRef


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
    TIES_LOST = "ties lost"
    """Someone took off the owner reference or labels that tie it to its node: drift."""
    MARK_LOST = "mark lost"
    """Someone took off the mark that it was written once: drift."""
    FIELDS_TAKEN = "fields taken"
    """Someone took or removed a field that we own: drift."""
    REFUSED = "refused"
    """The last write of the same content was not taken."""
    FORCED = "forced"
    """All is written again, changed or not."""
    ORPHANED = "orphaned"
    """It was retained before, and is wanted again."""


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
    look_again: datetime | None = None
    """When its state may change by the passing of time."""
    fields: bytes = b""
    """The digest of the fields that our last write left us with, as far as it is remembered."""
    despite: str = ""
    """The failed dependency that it is written in spite of."""

    @property
    def names_itself(self) -> bool:
        """Whether the message begins with the id, as that of what could not be rendered does."""
        return self.message.startswith(f'"{self.id}" ')
