"""Translates errors of the Kubernetes client into the core's `ApplyError`."""

from typing import Final

from lynq.api.masking import Mask
from lynq.core.node.apply_errors import ApplyError, ApplyErrorKind
from lynq.kube.errors import (
    AlreadyExists,
    ApiError,
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
"""Errors that concern every resource of the node, and end the reconcile."""

_UNAVAILABLE: Final = (ServiceUnavailable, TimedOut, Timeout, TooManyRequests)
_EXPLAINED: Final = (AlreadyExists, Conflict, RequestTooLarge, Unauthorized)
"""Errors whose own text says more than the server's message."""
_NAMESPACES: Final = "namespaces"


def apply_error(error: KubeError, mask: Mask | None = None) -> ApplyError:
    """Translate an error in answer to a request about one object.

    The server's explanation is shown with the mask of the row. Without a mask, as for a Secret, the
    message has only names and types.
    """
    fields = error.fields if isinstance(error, Conflict) else ()
    managers = tuple(field.manager for field in fields)
    paths = tuple(field.field for field in fields)
    return ApplyError(_kind(error), _message(error, mask), managers, paths)


def is_transient(error: KubeError) -> bool:
    """Return whether the same request may succeed in a moment."""
    return apply_error(error).is_transient


def _message(error: KubeError, mask: Mask | None) -> str:
    if mask is None or not isinstance(error, ApiError) or isinstance(error, _EXPLAINED):
        return str(error)
    if isinstance(error, Forbidden) and error.missing_right:
        return str(error)
    reason = mask(error.explanation)
    return f"{error.code_and_reason}: {reason}" if reason else str(error)


def _kind(error: KubeError) -> ApplyErrorKind:  # noqa: PLR0911 - one return per kind
    match error:
        case AlreadyExists():
            return ApplyErrorKind.ALREADY_EXISTS
        case Conflict():
            return ApplyErrorKind.CONFLICT
        case RequestTooLarge():
            return ApplyErrorKind.TOO_LARGE
        case Invalid(fields=fields):
            is_too_large = any(_is_whole_object_too_long(field) for field in fields)
            return ApplyErrorKind.TOO_LARGE if is_too_large else ApplyErrorKind.INVALID
        case NotFound(status=status) if status.details.kind == _NAMESPACES:
            return ApplyErrorKind.NAMESPACE_NOT_FOUND
        case Forbidden(causes=causes) if any(
            cause.reason == "NamespaceTerminating" for cause in causes
        ):
            return ApplyErrorKind.NAMESPACE_TERMINATING
        case InternalError() if _is_outage(error):
            return ApplyErrorKind.UNAVAILABLE
        case _:
            is_unavailable = isinstance(error, _UNAVAILABLE)
            return ApplyErrorKind.UNAVAILABLE if is_unavailable else ApplyErrorKind.OTHER


def _is_outage(error: InternalError) -> bool:
    """Return whether a webhook or etcd failed.

    A manifest with a value of the wrong type is answered with 500 as well, but without a reason.
    """
    return error.status.reason == "InternalError" or "etcdserver:" in error.status.message


def _is_whole_object_too_long(field: FieldError) -> bool:
    return field.reason == "FieldValueTooLong" and field.field in ("", "[]")
