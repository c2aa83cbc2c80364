"""Typed exceptions for the API server's `Status` and for failures on the way to it.

`str(error)` is safe to log and to show: it contains verb, path, code, reason, field names, managers
and who denied the request, and never the server's own message, which can contain values
(`Invalid value: "…"`). That message is in `error.status.message`, and without the values that are
known to be quoted in `error.explanation`, which must be masked before it is shown.
"""

import re
import traceback
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from lynq.api.text import and_more
from lynq.kube.denials import denial, explanation

# ruff: noqa: N818 - the API server's own names of its reasons


_MAX_TEXT = 4096
"""The characters of a message, and of the field of a cause, that are kept."""
_MAX_NAMED = 5
"""The fields or managers that a message lists before "and N more"."""

_CONFLICT = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')
_SET_VALUE = re.compile(
    # An element without an end is dropped with all that follows: it is a value.
    r'\[=(?:"(?:[^"\\]|\\.)*+"\]|.*?(?:\](?=\Z|[.\[])|\Z))',
    re.DOTALL,
)
_DENIED = re.compile(
    r' User "[^"]*" cannot (?P<verb>[a-z:-]+) resource "(?P<resource>[a-z0-9/.-]+)"'
    r' in API group "(?P<group>[a-z0-9.-]*)"'
)
_IMPERSONATE = "grant the verb impersonate on serviceaccounts"
_ETCD_TOO_LARGE = ("request is too large", "trying to send message larger than max")


class StatusCause(Struct, frozen=True, rename="camel"):
    """One of the causes in a Status; its message can contain values."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def __repr__(self) -> str:
        """Omit the message: it can contain values."""
        return f"Cause(reason={self.reason!r}, field={self.field!r})"


class Details(Struct, frozen=True, rename="camel"):
    """The object of a Status, and the causes."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, rename="camel"):
    """The API server's response to a failed request; its message can contain values."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details = field(default_factory=Details)

    def __repr__(self) -> str:
        """Omit the message: it can contain values."""
        return f"Status(code={self.code}, reason={self.reason!r})"


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another manager owns."""

    manager: str
    field: str


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field whose value the API server rejects."""

    field: str
    reason: str


class KubeError(Exception):
    """The base of all exceptions of lynq.kube."""


class ConfigError(KubeError):
    """No usable kubeconfig or in-cluster configuration."""


class CredentialError(KubeError):
    """The token or certificate for the next request is not available."""


class InvalidObject(KubeError, ValueError):
    """An object that cannot be sent: without name or namespace, or not representable in JSON."""


class UnknownKind(KubeError):
    """The API server does not serve this kind."""


class GroupUnavailable(UnknownKind):
    """The extension server of the kind's group is unavailable: the kind may exist."""


class Fenced(KubeError):
    """A write was not sent: this process may no longer hold the lease."""


class ConnectionFailed(KubeError):
    """No response, or an incomplete one.

    `sent` is False only if the request certainly did not reach the API server; then even a create
    can be retried.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class TimedOut(ConnectionFailed):
    """No response in time; the API server may still have executed the request."""


class ResponseTooLarge(KubeError):
    """The response exceeds the size limit."""


class UnexpectedResponse(KubeError):
    """The response is not of the expected form."""


class ApiError(KubeError):
    """The API server rejected the request; its Status contains the reason."""

    def __init__(
        self, status: Status, *, verb: str, path: str, retry_after: float | None = None
    ) -> None:
        self.status = status
        self.verb = verb
        self.path = path
        self.retry_after = retry_after
        super().__init__(f"{self._request()}: {self.code_and_reason}{self._suffix()}")

    @property
    def code(self) -> int:
        """The HTTP status."""
        return self.status.code

    @property
    def causes(self) -> list[StatusCause]:
        """The causes in the Status."""
        return self.status.details.causes or []

    @property
    def code_and_reason(self) -> str:
        """The HTTP status and the reason in the Status, if it has one."""
        return f"{self.status.code} {self.status.reason}".rstrip()

    @property
    def explanation(self) -> str:
        """The server's reason; it can contain values of the object and must be masked."""
        causes = ((cause.field, cause.message) for cause in self.causes)
        return explanation(self.status.message, causes)

    def _request(self) -> str:
        # The path of a create is the collection: only the Status contains the name.
        name = self.status.details.name
        named = f" {name!r}" if name and name not in self.path.split("/") else ""
        return f"{self.verb} {self.path}{named}"

    def _suffix(self) -> str:
        detail = self._detail()
        return f": {detail}" if detail else ""

    def _detail(self) -> str:
        """Return more than code and reason, without values of the object."""
        return denial(self.status.message)


class Redirected(ApiError):
    """300 to 399: the server is not the API server, or not at this address."""

    def _detail(self) -> str:
        return "a redirect is not followed; check the server's address"


class BadRequest(ApiError):
    """400: the API server cannot process the request."""


class Unauthorized(ApiError):
    """401: the request is not authenticated."""

    def _detail(self) -> str:
        return "the token or certificate is missing, invalid or expired"


class Forbidden(ApiError):
    """403: denied by RBAC or by admission control."""

    @property
    def missing_right(self) -> str:
        """The right to grant, as a sentence; "" unless RBAC denied the request."""
        match = _DENIED.search(self.status.message)
        if not match:
            return ""
        group = f".{match['group']}" if match["group"] else ""
        right = f"grant the verb {match['verb']} on {match['resource']}{group}"
        # An API server that knows constrained impersonation asks for its verbs first.
        is_constrained = match["verb"].startswith("impersonate") and ":" in match["verb"]
        return f"{right}, or {_IMPERSONATE}" if is_constrained else right

    def _detail(self) -> str:
        return self.missing_right or super()._detail()


class NotFound(ApiError):
    """404: no such object, or no such resource type."""

    @property
    def proves_absence(self) -> bool:
        """Whether the object does not exist, and not only its path.

        An API server that is starting, a CRD that is gone and a proxy answer 404 without the name
        of an object.
        """
        return bool(self.status.details.name)


class MethodNotAllowed(ApiError):
    """405: the resource type has no such verb."""


class NotAcceptable(ApiError):
    """406: the API server does not support the accepted media types."""


class AlreadyExists(ApiError):
    """409: an object with this name exists."""


class Conflict(ApiError):
    """409: the object was modified, a precondition failed, or other managers own fields of it."""

    @property
    def fields(self) -> list[FieldConflict]:
        """The fields that others own; empty unless this is a conflict of a server-side apply."""
        return [
            FieldConflict(match[1], cause.field)
            for cause in self.causes
            if (match := _CONFLICT.search(cause.message))
        ]

    def _detail(self) -> str:
        return and_more(
            [f"{_redacted(field.field)} is managed by {field.manager!r}" for field in self.fields],
            shown=_MAX_NAMED,
        )


class Gone(ApiError):
    """410: the resourceVersion or continue token has expired; repeat the list."""


class RequestTooLarge(ApiError):
    """413, or etcd's equivalent in a 500: the object is too large."""

    def _detail(self) -> str:
        return "the object exceeds the limit of the API server, about 1.5 MiB"


class UnsupportedMediaType(ApiError):
    """415: the resource does not support this type of patch."""


class Invalid(ApiError):
    """422: the object violates its schema or a validation rule."""

    @property
    def fields(self) -> list[FieldError]:
        """The rejected fields."""
        return [FieldError(cause.field, cause.reason) for cause in self.causes if cause.field]

    def _detail(self) -> str:
        fields = [f"{_redacted(field.field)} ({field.reason})" for field in self.fields]
        return super()._detail() or and_more(fields, shown=_MAX_NAMED)


class TooManyRequests(ApiError):
    """429: the API server did not process the request; retry later."""


class InternalError(ApiError):
    """500: the API server, or a webhook or etcd behind it, failed."""


class ServiceUnavailable(ApiError):
    """503: the API server, or an extension server behind it, is unavailable."""


class Timeout(ApiError):
    """504: the API server timed out; it may still execute the request."""


_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "ServerTimeout": Timeout,
}

_BY_CODE: dict[int, type[ApiError]] = {
    **dict.fromkeys(range(300, 400), Redirected),
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: Timeout,
}


def from_status(
    status: Status, *, verb: str, path: str, retry_after: float | None = None
) -> ApiError:
    """Return the exception for a Status: by its reason if that is more specific than the code."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, ApiError)
    status = _shortened(status)
    if any(text in status.message for text in _ETCD_TOO_LARGE):
        kind = RequestTooLarge
    if retry_after is None and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    return kind(status, verb=verb, path=path, retry_after=retry_after)


def _shortened(status: Status) -> Status:
    """Return a Status whose texts can be searched; the API server quotes values of any length."""
    causes = [
        replace(cause, message=cause.message[:_MAX_TEXT], field=cause.field[:_MAX_TEXT])
        for cause in status.details.causes or ()
    ]
    details = replace(status.details, causes=causes)
    return replace(status, message=status.message[:_MAX_TEXT], details=details)


def plain_status(code: int, text: str) -> Status:
    """Return a Status for a response that is none, such as a proxy's HTML page."""
    try:
        reason = HTTPStatus(code).phrase.title().replace(" ", "")
    except ValueError:
        reason = "Unknown"
    return Status(message=text, reason=reason, code=code)


def _redacted(path: str) -> str:
    """Return a field path without the elements of sets, which are values."""
    return _SET_VALUE.sub("[=…]", path)[:200]


_FRAMES: Final = 12


def error_text(error: BaseException) -> str:
    """Return type and message of an exception."""
    return f"{type(error).__name__}: {error}"


def error_location(error: BaseException) -> str:
    """Return the traceback of an exception: files, lines and source, without values.

    The standard traceback also prints the messages of its causes. Those of a database driver or the
    API server can contain values that must not be logged.
    """
    return "".join(traceback.format_tb(error.__traceback__, limit=-_FRAMES))
