"""The failures of the API server, worded as it words them."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.json import encode

from lynq.kube import Response
from memory.kinds import ServedKind

Body = dict[str, Any]

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refused(Exception):  # noqa: N818 - the API server's answer, not a bug
    """A request that the API server refuses with a Status."""

    def __init__(self, status: Body, *, retry_after: int | None = None) -> None:
        super().__init__(status["message"])
        self.status = status
        self.retry_after = retry_after

    @property
    def response(self) -> Response:
        """The response to the request."""
        headers = {"content-type": "application/json"}
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        return Response(self.status["code"], headers, encode(self.status))


def refused(
    code: int,
    message: str,
    *,
    reason: str | None = None,
    details: Body | None = None,
    retry_after: int | None = None,
) -> Refused:
    """Return a failure with any code; by default, its reason follows from the code."""
    status: Body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(code, "Unknown") if reason is None else reason,
    }
    if details is not None:
        status["details"] = details
    return Refused({**status, "code": code}, retry_after=retry_after)


def _details(kind: ServedKind, name: str, **more: Any) -> Body:
    details: Body = {"name": name} if name else {}
    if kind.resource.group:
        details["group"] = kind.resource.group
    return details | {"kind": kind.resource.plural} | more


def not_found(kind: ServedKind, name: str) -> Refused:
    """Return 404: no such object."""
    message = f'{kind.resource.name} "{name}" not found'
    return refused(404, message, details=_details(kind, name))


def already_exists(kind: ServedKind, name: str) -> Refused:
    """Return 409: a create of an object that exists."""
    message = f'{kind.resource.name} "{name}" already exists'
    return refused(409, message, reason="AlreadyExists", details=_details(kind, name))


def conflict(kind: ServedKind, name: str, problem: str) -> Refused:
    """Return 409: a precondition does not hold."""
    message = f'Operation cannot be fulfilled on {kind.resource.name} "{name}": {problem}'
    return refused(409, message, details=_details(kind, name))


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""The problem of a write with an outdated resourceVersion."""


def wrong_uid(kind: ServedKind, name: str, expected: str, actual: str) -> Refused:
    """Return 409: the object has another uid than the request expects."""
    problem = f"Precondition failed: UID in precondition: {expected}, UID in object meta: {actual}"
    return conflict(kind, name, problem)


def apply_conflict(conflicts: Sequence[tuple[str, str]]) -> Refused:
    """Return 409: managers and fields that an apply would take."""
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": field}
        for manager, field in conflicts
    ]
    if len(conflicts) == 1:
        ((manager, field),) = conflicts
        message = f"Apply failed with 1 conflict: conflict with {manager}: {field}"
    else:
        texts = []
        for manager in sorted({manager for manager, _ in conflicts}):
            fields = [f"- {field}" for each, field in conflicts if each == manager]
            texts.append("\n".join([f"conflicts with {manager}:", *fields]))
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(texts)
    return refused(409, message, details={"causes": causes})


def invalid(kind: ServedKind, name: str, problems: Sequence[tuple[str, str, str]]) -> Refused:
    """Return 422 for field, reason and message of each problem."""
    causes = [
        {"reason": reason, "message": message, "field": field}
        for field, reason, message in problems
    ]
    texts = [f"{field}: {message}" for field, _, message in problems]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    resource = kind.resource
    kind_name = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: Body = {"name": name, "kind": resource.kind, "causes": causes}
    if resource.group:
        details["group"] = resource.group
    return refused(422, f'{kind_name} "{name}" is invalid: {listed}', details=details)


def terminating(kind: ServedKind, name: str, namespace: str) -> Refused:
    """Return 403: a create in a namespace that is being deleted."""
    message = (
        f'{kind.resource.name} "{name}" is forbidden: unable to create new content in namespace '
        f"{namespace} because it is being terminated"
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return refused(403, message, details=_details(kind, name, causes=[cause]))


def untyped(problem: str) -> Refused:
    """Return 500: an applied manifest that does not fit the schema."""
    return refused(500, f"failed to create typed patch object: {problem}", reason="")


def forbidden(kind: ServedKind, verb: str, user: str, namespace: str, name: str) -> Refused:
    """Return 403: a right that the user lacks."""
    resource = kind.resource
    place = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    named = f'{resource.name} "{name}"' if name else resource.name
    message = (
        f'{named} is forbidden: User "{user}" cannot {verb} resource "{resource.plural}" '
        f'in API group "{resource.group}" {place}'
    )
    return refused(403, message, details=_details(kind, name))


def expired(version: int, oldest: int) -> Refused:
    """Return 410: a resourceVersion that was compacted."""
    return refused(410, f"too old resource version: {version} ({oldest})")
