"""The API server's `Status`, and what can go wrong on the way to it, as typed exceptions.

`str(error)` is safe to log and to show: it holds verb, path, code, reason, field names and
managers, never the server's own sentence, because that can echo values (`Invalid value: "…"`).
Who needs the sentence finds it in `error.status.message`.

How a contained exception is logged: its own words and where it was raised.

The usual traceback would also print the words of whatever caused it, and those of a database
driver or an API server can hold values that must not be in a log.
"""

import re
import traceback
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from msgspec import Struct, field

# ruff: noqa: N818 - these are the API server's own names for its answers


_SHOWN = 5
"""How many fields or managers a message names before it says "and N more"."""

_CONFLICT = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')
_SET_VALUE = re.compile(r'\[=(?:"(?:[^"\\]|\\.)*"\]|.*?\](?=$|[.\[]))')
_DENIED = re.compile(
    r' User "[^"]*" cannot (?P<verb>[a-z:-]+) resource "(?P<resource>[a-z0-9/.-]+)"'
    r' in API group "(?P<group>[a-z0-9.-]*)"'
)
_ETCD_TOO_LARGE = ("request is too large", "trying to send message larger than max")
_WEBHOOK = re.compile(r'^admission webhook "([a-z0-9.-]+)" denied the request')


class StatusCause(Struct, frozen=True, rename="camel"):
    """One of the causes inside a Status; its message can echo values."""

    reason: str = ""
    message: str = ""
    field: str = ""

    def __repr__(self) -> str:
        """Leave the message out: it can echo values."""
        return f"Cause(reason={self.reason!r}, field={self.field!r})"


class Details(Struct, frozen=True, rename="camel"):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] | None = None
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, rename="camel"):
    """The API server's answer when it says no; its message can echo values."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details = field(default_factory=Details)

    def __repr__(self) -> str:
        """Leave the message out: it can echo values."""
        return f"Status(code={self.code}, reason={self.reason!r})"


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another manager owns."""

    manager: str
    field: str


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field whose value the API server refuses."""

    field: str
    reason: str


class KubeError(Exception):
    """The root of everything that lynq.kube raises on purpose."""


class ConfigError(KubeError):
    """No usable kubeconfig or in-cluster configuration."""


class CredentialError(KubeError):
    """The token or certificate for the next request could not be had."""


class InvalidObject(KubeError, ValueError):
    """An object that cannot even be sent: it lacks a name or namespace, or is no JSON."""


class UnknownKind(KubeError):
    """The API server serves no such kind."""


class GroupUnavailable(UnknownKind):
    """Nobody answers for the kind's group at the moment: it may well exist."""


class Fenced(KubeError):
    """A write was held back: the lease is not surely ours any more."""


class ConnectionFailed(KubeError):
    """No answer, or only a part of one.

    `sent` is False only when the request surely never reached the API server, so that even a
    create can be sent again.
    """

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class TimedOut(ConnectionFailed):
    """The answer did not come in time; the API server may still have done what was asked."""


class ResponseTooLarge(KubeError):
    """The answer is larger than we are willing to hold."""


class UnexpectedResponse(KubeError):
    """The answer is not what this request is answered with."""


class ApiError(KubeError):
    """The API server said no; its Status says why."""

    def __init__(
        self, status: Status, *, verb: str, path: str, retry_after: float | None = None
    ) -> None:
        self.status = status
        self.verb = verb
        self.path = path
        self.retry_after = retry_after
        super().__init__(f"{self._what()}: {status.code} {status.reason}{self._because()}")

    @property
    def code(self) -> int:
        """The HTTP status."""
        return self.status.code

    @property
    def causes(self) -> list[StatusCause]:
        """The causes inside the Status."""
        return self.status.details.causes or []

    def _what(self) -> str:
        # A create goes to the collection: only the Status names the object.
        name = self.status.details.name
        named = f" {name!r}" if name and name not in self.path.split("/") else ""
        return f"{self.verb} {self.path}{named}"

    def _because(self) -> str:
        detail = self._detail()
        return f": {detail}" if detail else ""

    def _detail(self) -> str:
        """Say more than code and reason, in words that are surely ours."""
        return ""


class BadRequest(ApiError):
    """400: the request makes no sense to the API server."""


class Unauthorized(ApiError):
    """401: the API server does not know who we are."""

    def _detail(self) -> str:
        return "the token or certificate is missing, wrong or expired"


class Forbidden(ApiError):
    """403: we may not, by RBAC or by an admission rule."""

    def _detail(self) -> str:
        if found := _DENIED.search(self.status.message):
            if found["verb"].startswith("impersonate"):
                return "grant the verb impersonate on serviceaccounts"
            group = f".{found['group']}" if found["group"] else ""
            return f"grant the verb {found['verb']} on {found['resource']}{group}"
        if found := _WEBHOOK.search(self.status.message):
            return f"denied by the admission webhook {found[1]}"
        return ""


class NotFound(ApiError):
    """404: no such object, or no such resource type."""


class MethodNotAllowed(ApiError):
    """405: the resource type has no such verb."""


class NotAcceptable(ApiError):
    """406: the API server cannot answer in the form asked for."""


class AlreadyExists(ApiError):
    """409: an object of that name is already there."""


class Conflict(ApiError):
    """409: the object changed meanwhile, a precondition failed, or others own fields of it."""

    @property
    def fields(self) -> list[FieldConflict]:
        """The fields that others own; empty when this is no conflict of a server-side apply."""
        return [
            FieldConflict(found[1], cause.field)
            for cause in self.causes
            if (found := _CONFLICT.search(cause.message))
        ]

    def _detail(self) -> str:
        return _enumerate(
            [f"{_shown(each.field)} is managed by {each.manager!r}" for each in self.fields]
        )


class Gone(ApiError):
    """410: that resourceVersion or continue token is too old; list again."""


class RequestTooLarge(ApiError):
    """413, or etcd's word for it in a 500: the object is larger than the API server takes."""

    def _detail(self) -> str:
        return "larger than the API server takes, which is about 1.5 MiB"


class UnsupportedMediaType(ApiError):
    """415: the resource type does not take that sort of patch."""


class Invalid(ApiError):
    """422: the object breaks its schema or a validation rule."""

    @property
    def fields(self) -> list[FieldError]:
        """The refused fields."""
        return [FieldError(cause.field, cause.reason) for cause in self.causes if cause.field]

    def _detail(self) -> str:
        return _enumerate([f"{_shown(each.field)} ({each.reason})" for each in self.fields])


class TooManyRequests(ApiError):
    """429: the API server did not look at the request; send it later."""


class InternalError(ApiError):
    """500: the API server, or a webhook or etcd behind it, is broken."""


class ServiceUnavailable(ApiError):
    """503: the API server, or the one it would forward to, is not up."""


class Timeout(ApiError):
    """504: the API server gave up; it may still do what was asked."""


_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "ServerTimeout": Timeout,
}

_BY_CODE: dict[int, type[ApiError]] = {
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
    """Choose the exception for a Status: by its reason where that says more than the code."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, ApiError)
    if any(words in status.message for words in _ETCD_TOO_LARGE):
        kind = RequestTooLarge
    if retry_after is None and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    return kind(status, verb=verb, path=path, retry_after=retry_after)


def plain_status(code: int, text: str) -> Status:
    """Make a Status of an answer that is none, such as a proxy's HTML page."""
    try:
        reason = HTTPStatus(code).phrase.title().replace(" ", "")
    except ValueError:
        reason = "Unknown"
    return Status(message=text, reason=reason, code=code)


def _shown(path: str) -> str:
    """Return a field's path fit to show: the element of a set is its value, so it is left out."""
    return _SET_VALUE.sub("[=…]", path)[:200]


def _enumerate(parts: list[str]) -> str:
    hidden = len(parts) - _SHOWN
    return ", ".join(parts[:_SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")


_FRAMES: Final = 12


def error_text(error: BaseException) -> str:
    """Return what kind of exception it is and what it says itself."""
    return f"{type(error).__name__}: {error}"


def error_location(error: BaseException) -> str:
    """Return where it was raised: files, lines and source, no values."""
    return "".join(traceback.format_tb(error.__traceback__, limit=-_FRAMES))
