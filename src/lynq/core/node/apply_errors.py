"""Errors of the API server in answer to a write, and what they mean for the resource."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from lynq.api import ConflictPolicy
from lynq.core.node.objects import ObjectRef
from lynq.core.node.ownership import ANNOTATIONS, LABELS
from lynq.core.node.state import WriteRejection

_NAMED_MANAGERS: Final = 3
_MARKS: Final = tuple(f".{key}" for key in LABELS | ANNOTATIONS)
_STUCK_HINT: Final = (
    " (conflictPolicy is Stuck: set conflictPolicy: Force to take over the fields, or remove them "
    "from the manifest)"
)


class ApplyErrorKind(Enum):
    """Kinds of errors that are treated or described differently."""

    ALREADY_EXISTS = auto()
    """A create found an object with the same name."""
    CONFLICT = auto()
    """Other managers own fields, or the resourceVersion is outdated."""
    INVALID = auto()
    NAMESPACE_NOT_FOUND = auto()
    NAMESPACE_TERMINATING = auto()
    TOO_LARGE = auto()
    UNAVAILABLE = auto()
    """The API server, etcd or a webhook did not answer; the error says nothing of the object."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class ApplyError:
    """An error in answer to a request about one object."""

    kind: ApplyErrorKind
    message: str = ""
    """Verb, path, code, reason, fields and managers; never a value of the object."""
    managers: tuple[str, ...] = ()
    """The manager of each conflicting field; empty if the resourceVersion was outdated."""
    fields: tuple[str, ...] = ()
    """The path of each conflicting field."""

    @property
    def disputes_marks(self) -> bool:
        """Whether other managers own our labels or annotations, which are never theirs."""
        return any(field.endswith(_MARKS) for field in self.fields)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed in a moment."""
        if self.kind is ApplyErrorKind.CONFLICT:
            return not self.managers
        return self.kind is ApplyErrorKind.UNAVAILABLE


def rejection_of(error: ApplyError, ref: ObjectRef, policy: ConflictPolicy) -> WriteRejection:
    """Return why an object was not written; the message holds no values of the object."""
    if error.managers:
        hint = "" if policy is ConflictPolicy.FORCE else _STUCK_HINT
        message = f"other managers own fields of it{hint}: {error.message}"
        return WriteRejection(message, is_conflict=True)
    return WriteRejection(_message(error, ref), is_transient=error.is_transient)


def replacement_refused() -> WriteRejection:
    """Return why an object that existed before is not replaced."""
    message = (
        "it existed before and other managers own fields of it, which patchStrategy replace would "
        "remove (set conflictPolicy: Force to replace it, or use patchStrategy apply)"
    )
    return WriteRejection(message, is_conflict=True)


def conflicting_managers(error: ApplyError) -> str:
    """Return the managers of the conflicting fields, with the number of fields."""
    counts = Counter(error.managers)
    named = [f'"{name}" ({count} fields)' for name, count in counts.most_common(_NAMED_MANAGERS)]
    more = f" and {len(counts) - _NAMED_MANAGERS} more" if len(counts) > _NAMED_MANAGERS else ""
    return ", ".join(named) + more


def _message(error: ApplyError, ref: ObjectRef) -> str:
    match error.kind:
        case ApplyErrorKind.TOO_LARGE:
            return (
                "it is larger than the API server accepts (1 MiB of data in a ConfigMap or "
                "Secret, about 1.5 MiB in total); reduce its size"
            )
        case ApplyErrorKind.NAMESPACE_NOT_FOUND:
            return (
                f'the namespace "{ref.namespace}" does not exist; create it, or add it to the form '
                "and list its id in dependIds"
            )
        case ApplyErrorKind.NAMESPACE_TERMINATING:
            return f'the namespace "{ref.namespace}" is being deleted; objects cannot be created'
        case ApplyErrorKind.CONFLICT:
            return "concurrent modification; retrying"
        case ApplyErrorKind.INVALID:
            return f"the API server rejected it; correct the form or the row: {error.message}"
        case _:
            return error.message
