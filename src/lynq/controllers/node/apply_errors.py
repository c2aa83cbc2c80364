"""What the API server's refusals mean for a resource, and what to do about them."""

from collections import Counter
from typing import Final

from lynq.api import ConflictPolicy
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import WriteRejection
from lynq.kube.errors import (
    Conflict,
    ConnectionFailed,
    CredentialError,
    Fenced,
    FieldError,
    Forbidden,
    InternalError,
    Invalid,
    KubeError,
    NotFound,
    RequestTooLarge,
    ServiceUnavailable,
    TimedOut,
    Timeout,
    TooManyRequests,
    Unauthorized,
)

NODE_WIDE_ERRORS: Final = (ConnectionFailed, CredentialError, Fenced, Unauthorized)
"""Failures that no resource is to blame for."""

_TRANSIENT: Final = (ServiceUnavailable, TimedOut, Timeout, TooManyRequests)
_FORCE: Final = (
    " (conflictPolicy is Stuck: set conflictPolicy: Force to take them over, or leave them out of "
    "the manifest)"
)
_NAMED: Final = 3
_NAMESPACES: Final = "namespaces"
_TOO_LARGE: Final = (
    "it is larger than the API server takes (1 MiB of data in a ConfigMap or Secret, "
    "about 1.5 MiB in all); make it smaller"
)


def rejection_of(error: KubeError, ref: ObjectRef, policy: ConflictPolicy) -> WriteRejection:
    """Return why an object was not written, in words that hold none of its contents."""
    if isinstance(error, Conflict) and error.fields:
        hint = "" if policy is ConflictPolicy.FORCE else _FORCE
        return WriteRejection(f"another manager owns fields of it{hint}: {error}", is_conflict=True)
    return WriteRejection(_sentence(error, ref), is_transient=is_transient(error))


def is_transient(error: KubeError) -> bool:
    """Return whether an answer may be another in a moment, and says nothing about the object.

    A webhook that is just restarted, a leader of etcd that just changed, a write of somebody else.
    A manifest with a value of the wrong type is a 500 as well, but one without a reason.
    """
    match error:
        case Conflict():
            return not error.fields
        case InternalError(status=status):
            return status.reason == "InternalError" or "etcdserver:" in status.message
        case _:
            return isinstance(error, _TRANSIENT)


def conflicting_managers(error: Conflict) -> str:
    """Name the managers that hold fields, each with how many."""
    counts = Counter(each.manager for each in error.fields)
    told = [f'"{manager}" ({count} fields)' for manager, count in counts.most_common(_NAMED)]
    more = f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else ""
    return ", ".join(told) + more


def _sentence(error: KubeError, ref: ObjectRef) -> str:
    if _is_too_large(error):
        return _TOO_LARGE
    match error:
        case NotFound(status=status) if status.details.kind == _NAMESPACES:
            return (
                f'the namespace "{ref.namespace}" does not exist; create it, or let an entry of '
                "the form make it and depend on that"
            )
        case Forbidden(causes=causes) if any(
            cause.reason == "NamespaceTerminating" for cause in causes
        ):
            return f'the namespace "{ref.namespace}" is being deleted; nothing can be made in it'
        case Conflict():
            return "others wrote at the same moment; it is tried again"
        case Invalid():
            return f"the API server refuses it, correct the form or the row: {error}"
        case _:
            return str(error)


def _is_too_large(error: KubeError) -> bool:
    match error:
        case RequestTooLarge():
            return True
        case Invalid(fields=fields):
            return any(_is_all_of_it(each) for each in fields)
        case _:
            return False


def _is_all_of_it(error: FieldError) -> bool:
    """Return whether it is no single field that is too long."""
    return error.reason == "FieldValueTooLong" and error.field in ("", "[]")


def unwatched_namespace(namespace: str) -> str:
    """Tell that objects in a namespace cannot be kept in step."""
    return (
        f'the namespace "{namespace}" is not watched by this operator; '
        "add it to --watch-namespaces, or correct targetNamespace"
    )
