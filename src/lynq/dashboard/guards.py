"""What every request passes: Host, Origin, time limit, security headers, and errors as JSON.

| guard | against |
|---|---|
| Host names this server, on loopback | DNS rebinding: a page of another name that resolves to us |
| Origin of a write is this server | a form or script of another site |
| Sec-Fetch-Site, Origin of a read of the API | a page of another site that starts plans, streams |
| Strict-Transport-Security, if we serve HTTPS | a first request that is sent without TLS |
| header X-Lynq-Action of an action | a request that a browser sends without a preflight |
| Content-Security-Policy | a value of a row that is markup |
| `encode_shown` | a value of a row that reorders or hides text |
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from lynq.api.text import shown_lines
from lynq.dashboard.options import DashboardTiming
from lynq.dashboard.query import BadQuery, flag
from lynq.dashboard.types.common import ErrorBody
from lynq.dashboard.viewers import Unauthenticated
from lynq.kube.errors import (
    Conflict,
    ConnectionFailed,
    Forbidden,
    Invalid,
    InvalidObject,
    KubeError,
    NotFound,
    TimedOut,
    Unauthorized,
    UnknownKind,
    error_location,
)
from lynq.telemetry import is_loopback

ACTION_HEADER: Final = "X-Lynq-Action"

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
        "object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ALWAYS_TLS: Final = "max-age=31536000"
_OWN_SITE: Final = frozenset({"same-origin", "none"})
"""Sec-Fetch-Site of our own pages, and of an address that is typed. A page on another port of this
machine is "same-site"."""
_CONTROLS: Final = (rb"\u00", rb"\r", rb"\b", rb"\f")
"""The escapes of JSON for control characters, but those of line feed and tab."""

_log = structlog.get_logger("dashboard")


class RequestRefused(Exception):  # noqa: N818 - read as a sentence
    """The request is not carried out; the message says why and what to do."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def encode_shown(value: Any) -> bytes:  # noqa: ANN401 - of any response
    """Encode a response; what a browser would not print of a text is an escape that it prints.

    A page puts each text into an element of its own, which markup cannot leave; a bidi mark would
    still reorder it, and a control character hide a part. Lines and tabs stay.
    """
    data = msgspec.json.encode(value)
    if data.decode().isprintable() and not any(escape in data for escape in _CONTROLS):
        return data
    return msgspec.json.encode(_shown(msgspec.to_builtins(value)))


def _shown(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return shown_lines(value)
    if isinstance(value, dict):
        return {_shown(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return value


def json_response(value: Any, status: int = 200) -> web.Response:  # noqa: ANN401
    """Return a value as JSON, which no cache keeps."""
    return web.Response(
        body=encode_shown(value),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def guarded(timing: DashboardTiming, *, on_loopback: bool, has_tls: bool) -> Middleware:
    """Return the middleware of all requests."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            _check_host(request, on_loopback=on_loopback)
            if request.method not in ("GET", "HEAD"):
                _check_origin(request, has_tls=has_tls)
            elif request.path.startswith("/api/"):
                _check_site(request, has_tls=has_tls)
            async with asyncio.timeout(_limit(request, timing)):
                response = await handler(request)
        except (web.HTTPException, *EXPECTED_ERRORS) as error:
            response = _answer(error)
        except TimeoutError:
            response = _error(504, "The answer took too long: try a smaller filter.")
        except Exception as error:  # noqa: BLE001 - a bug must not show values of rows
            # The raw path: its control characters are escaped.
            path = request.rel_url.raw_path
            _log.error("request failed", path=path, traceback=error_location(error))
            response = _error(500, f"The dashboard has a bug: {type(error).__name__}. See its log.")
        return response

    return guard


def security_headers(*, has_tls: bool) -> Callable[[web.Request, web.StreamResponse], Any]:
    """Return what adds the headers of every response."""

    async def add(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)
        # With localhost, a browser would use TLS for all ports of this machine.
        if has_tls and not is_loopback(_host(request.host)):
            response.headers["Strict-Transport-Security"] = _ALWAYS_TLS

    return add


async def sent(request: web.Request, response: web.Response) -> web.Response:
    """Send a response and return it; a client that does not read it in time is cut off."""
    try:
        await response.prepare(request)
        await response.write_eof()
    except BaseException:
        abort(request)
        raise
    return response


def abort(request: web.Request) -> None:
    """Close the connection of a request without the rest of its response."""
    if request.transport is not None:
        request.transport.abort()


def _limit(request: web.Request, timing: DashboardTiming) -> float | None:
    if request.path.endswith("/stream"):
        return None
    if request.path.endswith("/plan") and flag(request, "progress"):
        # A plan that shows its progress has a limit of its own.
        return None
    return timing.plan if request.path.endswith(("/plan", "/objects")) else timing.request


def _check_host(request: web.Request, *, on_loopback: bool) -> None:
    if on_loopback and not is_loopback(_host(request.host)):
        raise RequestRefused(
            421, "The Host header does not name this server: open it by localhost."
        )


def _host(netloc: str) -> str:
    return (urlsplit(f"//{netloc}").hostname or "").lower()


def _check_origin(request: web.Request, *, has_tls: bool) -> None:
    origin = urlsplit(request.headers.get("Origin", ""))
    is_own = origin.netloc and origin.netloc.lower() == request.host.lower()
    if not is_own or (has_tls and origin.scheme != "https"):
        raise RequestRefused(
            403, "The request comes from another page: its Origin is not this server."
        )


def _check_site(request: web.Request, *, has_tls: bool) -> None:
    """Check a read: only browsers send these headers, and most send no Origin with it."""
    if request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITE:
        raise RequestRefused(403, "The request comes from another page: open the dashboard itself.")
    if "Origin" in request.headers:
        _check_origin(request, has_tls=has_tls)


def check_action(request: web.Request) -> None:
    """Raise RequestRefused unless a script of our own page sent an action."""
    if request.headers.get(ACTION_HEADER) != "true":
        raise RequestRefused(403, f"An action needs the header {ACTION_HEADER}: true.")


EXPECTED_ERRORS: Final = (
    RequestRefused,
    BadQuery,
    Unauthenticated,
    KubeError,
    msgspec.DecodeError,
)
"""The errors whose message is for the viewer."""
_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (BadQuery, 400),
    (msgspec.DecodeError, 400),
    (InvalidObject, 400),
    (Unauthenticated, 401),
    (Unauthorized, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (UnknownKind, 404),
    (Conflict, 409),
    (Invalid, 422),
    (TimedOut, 504),
    (ConnectionFailed, 502),
    (KubeError, 502),
)


def error_message(error: Exception) -> str:
    """Return the sentence about one of the expected errors."""
    return _status_and_message(error)[1]


def _answer(error: Exception) -> web.Response:
    return _error(*_status_and_message(error))


def _status_and_message(error: Exception) -> tuple[int, str]:
    match error:
        case web.HTTPException():
            return error.status, error.reason
        case RequestRefused():
            return error.status, str(error)
        case Unauthorized():
            return 401, "The token has expired or was revoked: log in again."
        case Forbidden():
            return 403, f"Not allowed: {error.missing_right or error}."
    return next(code for kind, code in _STATUS if isinstance(error, kind)), str(error)


def _error(status: int, message: str) -> web.Response:
    return json_response(ErrorBody(error=message), status)
