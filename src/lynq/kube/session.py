"""One attempt of one request over HTTP: headers, TLS, timeouts, size limit, errors."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Self
from urllib.parse import urlencode, urlsplit

import structlog

from lynq.kube.backoff import Backoff
from lynq.kube.config import ClusterConfig, Impersonation
from lynq.kube.connection import BodyTooLarge, Connection, ConnectionLost, Exchange
from lynq.kube.connection_pool import (
    CannotConnect,
    ConnectionPool,
    UntrustedCertificate,
    basic_authorization,
)
from lynq.kube.credentials import ClientCertificate, Credential
from lynq.kube.errors import (
    ConfigError,
    ConnectionFailed,
    CredentialError,
    InvalidObject,
    KubeError,
    ResponseTooLarge,
    TimedOut,
)
from lynq.kube.http_response import InvalidResponse
from lynq.kube.requests import Request, Response
from lynq.tls.context import CertificateError, client_context, load_key_pair

_MIB = 1024 * 1024

_log = structlog.get_logger(__name__)


def _user_agent() -> str:
    try:
        return f"lynq/{version('lynq')}"
    except PackageNotFoundError:
        return "lynq/unreleased"


MAX_IN_FLIGHT: Final = 64
"""The default of `ClientOptions.max_in_flight`, and of all shards together."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Timeouts in seconds, size limits in bytes, and retries of a client."""

    timeout: float = 30.0
    """Of one attempt, from the first byte sent to the last one received."""
    connect_timeout: float = 5.0
    """Of DNS, socket, proxy and TLS. This time passes between the check of the fence and the first
    byte sent, so it must be shorter than the reserve of a lease (duration minus renew deadline)."""
    max_in_flight: int = MAX_IN_FLIGHT
    """Concurrent requests, without watches."""
    max_response: int = 64 * _MIB
    watch_silence: float = 120.0
    """Of a watch without any event; the API server sends a bookmark about once a minute."""
    max_event: int = 16 * _MIB
    """Of one event of a watch; etcd's limit of an object is a tenth of it."""
    attempts: int = 5
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.1, cap=5.0, jitter=1.0))
    max_retry_after: float = 30.0
    """A response with a longer Retry-After is raised instead of retried."""
    user_agent: str = field(default_factory=_user_agent)


class Session:
    """The connections to one API server. Open it inside of the event loop that uses it."""

    def __init__(self, config: ClusterConfig, options: ClientOptions) -> None:
        self._config = config
        self._options = options
        self._prefix = urlsplit(config.server).path.rstrip("/")
        """The path below which the API is served, for example by Rancher."""
        self._default_headers = tuple(_default_headers(config, options))
        self._tls: tuple[ClientCertificate | None, ssl.SSLContext] | None = None
        self._has_warned = False
        self.connections: ConnectionPool | None = None

    def open(self) -> None:
        """Create the connection pool, without a connection."""
        self.connections = ConnectionPool(
            self._config.server,
            proxy=self._config.proxy,
            server_name=self._config.tls_server_name,
            connect_timeout=self._options.connect_timeout,
        )

    async def close(self) -> None:
        """Close all connections; streams end with ConnectionFailed."""
        if self.connections is not None:
            connections, self.connections = self.connections, None
            await connections.close()

    async def send(self, request: Request, credential: Credential) -> Response:
        """Send a request once and return the response, whatever its status."""
        try:
            return await self._send(request, credential)
        except _FAILURES as error:
            raise _translated(error, request) from error

    async def _send(self, request: Request, credential: Credential) -> Response:
        pool = self.connections
        if pool is None:
            raise ConnectionFailed(f"{request.verb} {request.path}: not connected", sent=False)
        data = self._bytes(request, credential, pool)
        try:
            connection = await pool.acquire(self._tls_for(credential.certificate))
        except UntrustedCertificate:
            self._reload_authority()
            raise
        # For a stream, the timeout is for the headers; after that only silence is limited.
        timeout = None if request.stream else request.timeout
        head = await connection.send(
            Exchange(
                data,
                self._options.max_response,
                request.stream,
                timeout=timeout or self._options.timeout,
            )
        )
        if connection.is_streaming:
            chunks = _Chunks(request, connection)
            return Response(head.status, head.headers, chunks=chunks, close=connection.abort)
        body = connection.take_body()
        pool.release(connection)
        return Response(head.status, head.headers, body)

    def _bytes(self, request: Request, credential: Credential, pool: ConnectionPool) -> bytes:
        """Return the request as it is sent."""
        target = f"{self._prefix}{request.path}"
        if request.query:
            target += f"?{_encoded(tuple(request.query.items()))}"
        headers = list(request.headers.items())
        if credential.token:
            headers.append(("Authorization", f"Bearer {header_value(credential.token)}"))
        if not pool.server.tls:
            self._warn_of_readable_credentials(headers, pool.host)
        if pool.forwards:
            target = f"http://{pool.host}{target}"
            if pool.proxy_authorization:
                headers.append(("Proxy-Authorization", pool.proxy_authorization))
        # The token of a viewer, in a header of the request, is not kept.
        header_lines = _header_lines if "Authorization" in request.headers else _known_header_lines
        lines = header_lines(pool.host, tuple(headers), self._default_headers)
        # No name, selector or token can begin a line of its own.
        if lines is None or any(character in target for character in " \r\n"):
            raise InvalidObject(f"{request.verb} {request.path!r}: not a valid request")
        body = request.body
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        return f"{request.method} {target} HTTP/1.1\r\n{lines}{length}\r\n".encode() + (body or b"")

    def _warn_of_readable_credentials(self, headers: list[tuple[str, str]], host: str) -> None:
        if self._has_warned or "Authorization" not in dict((*self._default_headers, *headers)):
            return
        self._has_warned = True
        _log.warning(
            "credentials are sent without encryption: the server's address begins with http://",
            server=host,
        )

    def _reload_authority(self) -> None:
        """Read the file of the CA again; the CA of the cluster may have been rotated."""
        file = self._config.certificate_authority_file
        try:
            authority = file.read_bytes() if file else None
        except OSError:
            # The replacement is incomplete; the next attempt reads the file again.
            return
        if authority and authority != self._config.certificate_authority:
            self._config = replace(self._config, certificate_authority=authority)
            self._tls = None
            _log.info("certificate authority reloaded", path=str(file))

    def _tls_for(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """Return the context; it is re-created when an exec plugin returns another certificate."""
        if self._tls is None or self._tls[0] != certificate:
            self._tls = (certificate, ssl_context_for(self._config, certificate))
        return self._tls[1]


def _default_headers(config: ClusterConfig, options: ClientOptions) -> Iterator[tuple[str, str]]:
    yield "User-Agent", options.user_agent
    # Compression costs more CPU than it saves in a cluster network.
    yield "Accept-Encoding", "identity"
    if authorization := basic_authorization(urlsplit(config.server)):
        yield "Authorization", authorization
    if config.impersonate:
        yield from _impersonation(config.impersonate)


class _Chunks:
    """The bytes of a stream; not a generator, so that an early exit needs no clean-up."""

    def __init__(self, request: Request, connection: Connection) -> None:
        self._request = request
        self._connection = connection

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._connection.read(self._request.timeout)
        except _FAILURES as error:
            raise _translated(error, self._request) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk


_FAILURES: Final = (CannotConnect, TimeoutError, BodyTooLarge, ConnectionLost, InvalidResponse)


def _translated(error: Exception, request: Request) -> KubeError:
    """Return what the failure of a connection means for a request."""
    what = f"{request.verb} {request.path}"
    match error:
        case UntrustedCertificate():
            return ConnectionFailed(
                f"{what}: the API server's certificate is not trusted"
                f" ({error}); check certificate-authority and tls-server-name",
                sent=False,
            )
        case CannotConnect():
            return ConnectionFailed(f"{what}: {error}", sent=False)
        case TimeoutError():
            return TimedOut(f"{what}: no response in time")
        case BodyTooLarge(limit=limit):
            return ResponseTooLarge(
                f"{what}: the response is larger than {limit} bytes;"
                " use smaller pages or request metadata only"
            )
        case _:
            return ConnectionFailed(f"{what}: the connection failed: {error}")


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    """Return a query; writes have few different ones."""
    return urlencode(query)


def _header_lines(
    host: str, headers: tuple[tuple[str, str], ...], defaults: tuple[tuple[str, str], ...]
) -> str | None:
    """Return the lines of all headers, which replace the defaults of the same name.

    An impersonation replaces the default one as a whole: a user without groups gets none of it.
    None if a header contains the end of a line.
    """
    names = {name.lower() for name, _ in headers}
    pairs = [("Host", host), *headers]
    if "impersonate-user" in names:
        defaults = tuple(pair for pair in defaults if not pair[0].startswith("Impersonate-"))
    pairs += [pair for pair in defaults if pair[0].lower() not in names]
    lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return lines if lines.count("\r") == lines.count("\n") == len(pairs) else None


_known_header_lines = lru_cache(maxsize=64)(_header_lines)
"""The same for the requests of one client, which have few different headers."""


def header_value(token: str) -> str:
    """Return a token that can be sent in a header; raises CredentialError."""
    if any(character < " " or character == "\x7f" for character in token):
        raise CredentialError("the token contains a control character, such as a line break")
    return token


def _impersonation(impersonation: Impersonation) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", impersonation.user
    if impersonation.uid:
        yield "Impersonate-Uid", impersonation.uid
    for group in impersonation.groups:
        yield "Impersonate-Group", group
    for key, value in impersonation.extra:
        yield f"Impersonate-Extra-{key}", value


def ssl_context_for(
    config: ClusterConfig, certificate: ClientCertificate | None = None
) -> ssl.SSLContext:
    """Return the SSL context of connections to an API server; raises ConfigError."""
    ca = config.certificate_authority
    try:
        context = client_context(ca.decode() if ca else None)
    except (CertificateError, UnicodeDecodeError):
        raise ConfigError(
            f"{config.source}: the certificate authority is not a PEM certificate"
        ) from None
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        try:
            load_key_pair(context, certificate.certificate, certificate.key)
        except CertificateError as error:
            raise ConfigError(f"{config.source}: client certificate: {error}") from None
    return context
