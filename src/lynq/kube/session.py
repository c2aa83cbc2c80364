"""One attempt of one request over HTTP: connection pool, TLS, timeouts, size limit."""

import asyncio
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from typing import Final, Self
from urllib.parse import urlencode
from weakref import WeakSet

import aiohttp
import structlog
from multidict import CIMultiDict
from yarl import URL

from lynq.kube.backoff import Backoff
from lynq.kube.config import ClusterConfig, Impersonation
from lynq.kube.credentials import ClientCertificate, Credential
from lynq.kube.errors import (
    ConfigError,
    ConnectionFailed,
    CredentialError,
    ResponseTooLarge,
    TimedOut,
)
from lynq.kube.requests import Request, Response
from lynq.tls.context import CertificateError, client_context, load_key_pair

_MIB = 1024 * 1024

_log = structlog.get_logger(__name__)


def _user_agent() -> str:
    try:
        return f"lynq/{version('lynq')}"
    except PackageNotFoundError:
        return "lynq/unreleased"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Timeouts in seconds, size limits in bytes, and retries of a client."""

    timeout: float = 30.0
    """Of one attempt, from the first byte sent to the last one received."""
    connect_timeout: float = 5.0
    """Of DNS, socket, proxy and TLS. This time passes between the check of the fence and the first
    byte sent, so it must be shorter than the reserve of a lease (duration minus renew deadline)."""
    max_in_flight: int = 64
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


_OK = 200
_LARGE_BODY = 512 * 1024
_CLOSE_SECONDS: Final = 0.2
"""Seconds that the sockets of a closed session may still be open."""


class Session:
    """The connections to one API server. Open it inside of the event loop that uses it."""

    def __init__(self, config: ClusterConfig, options: ClientOptions) -> None:
        self._config = config
        self._options = options
        self._server = config.server.rstrip("/")
        self._tls: tuple[ClientCertificate | None, ssl.SSLContext] | None = None
        self._http: aiohttp.ClientSession | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def open(self) -> None:
        """Create the connection pool, without a connection."""
        connector = aiohttp.TCPConnector(limit=0, socket_factory=self._new_socket)
        self._http = aiohttp.ClientSession(
            connector=connector,
            headers=self._default_headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # aiohttp retries PUT and DELETE if a pooled connection is closed. That would bypass the
        # fence, and the rule that a replace is never sent twice.
        self._http._retry_connection = False  # noqa: SLF001

    async def close(self) -> None:
        """Close all connections; streams end with ConnectionFailed."""
        if self._http is not None:
            if self._http.connector is not None:
                # No request is open, and a server that answers no TLS close would delay the exit.
                await self._http.connector.close(abort_ssl=True)
            await self._http.close()
            self._http = None
            await self._wait_for_sockets()

    async def _wait_for_sockets(self) -> None:
        """Wait for connections that the pool has given up, for example during the handshake.

        They close in later turns of the event loop, which may be the last ones.
        """
        deadline = time.monotonic() + _CLOSE_SECONDS
        while any(opened.fileno() >= 0 for opened in self._sockets) and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    def _new_socket(self, address: tuple[object, ...]) -> socket.socket:
        created = _socket(address)
        self._sockets.add(created)
        return created

    async def send(self, request: Request, credential: Credential) -> Response:
        """Send a request once and return the response, whatever its status."""
        limit = request.timeout or self._options.timeout
        with _translated_errors(request):
            # For a stream, the timeout is for the headers; after that only silence is limited.
            async with asyncio.timeout(self._options.timeout if request.stream else limit):
                response = await self._start(request, credential)
                if request.stream and response.status == _OK:
                    return self._stream_response(request, response)
                return await self._read_response(request, response)

    async def _start(self, request: Request, credential: Credential) -> aiohttp.ClientResponse:
        if self._http is None:
            raise ConnectionFailed(f"{request.verb} {request.path}: not connected", sent=False)
        headers = CIMultiDict(request.headers)
        if credential.token:
            headers["Authorization"] = f"Bearer {header_value(credential.token)}"
        try:
            return await self._http.request(
                request.method,
                self._url(request),
                headers=headers,
                data=_payload(request.body),
                allow_redirects=False,
                ssl=self._tls_for(credential.certificate),
                server_hostname=self._config.tls_server_name,
                proxy=self._config.proxy,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    # DNS, socket, proxy and TLS.
                    connect=self._options.connect_timeout,
                    sock_read=request.timeout if request.stream else None,
                ),
            )
        except aiohttp.ClientConnectorCertificateError:
            self._reload_authority()
            raise

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

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query)}" if request.query else ""
        return URL(f"{self._server}{request.path}{query}", encoded=True)

    def _tls_for(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """Return the context; it is re-created when an exec plugin returns another certificate."""
        if self._tls is None or self._tls[0] != certificate:
            self._tls = (certificate, ssl_context_for(self._config, certificate))
        return self._tls[1]

    async def _read_response(self, request: Request, response: aiohttp.ClientResponse) -> Response:
        body = bytearray()
        try:
            async for chunk in response.content.iter_any():
                body += chunk
                self._check_size(len(body), request)
        except BaseException:
            response.close()
            raise
        return Response(response.status, response.headers, bytes(body))

    def _check_size(self, size: int, request: Request) -> None:
        limit = self._options.max_response
        if size > limit:
            raise ResponseTooLarge(
                f"{request.verb} {request.path}: the response is larger than {limit} bytes;"
                " use smaller pages or request metadata only"
            )

    def _stream_response(self, request: Request, response: aiohttp.ClientResponse) -> Response:
        return Response(
            response.status,
            response.headers,
            chunks=_Chunks(request, response),
            close=partial(_end_stream, response),
        )

    def _default_headers(self) -> CIMultiDict[str]:
        headers = CIMultiDict(
            {
                "User-Agent": self._options.user_agent,
                # Compression costs more CPU than it saves in a cluster network.
                "Accept-Encoding": "identity",
            }
        )
        if self._config.impersonate:
            headers.extend(_impersonation(self._config.impersonate))
        return headers


def _end_stream(response: aiohttp.ClientResponse) -> None:
    """Close a stream at once: the end of TLS would wait for the server."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


class _Chunks:
    """The bytes of a stream; not a generator, so that an early exit needs no clean-up."""

    def __init__(self, request: Request, response: aiohttp.ClientResponse) -> None:
        self._request = request
        self._answer = response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _translated_errors(self._request):
            chunk = await self._answer.content.readany()
        if not chunk:
            raise StopAsyncIteration
        return chunk


@contextmanager
def _translated_errors(request: Request) -> Iterator[None]:
    what = f"{request.verb} {request.path}"
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise ConnectionFailed(
            f"{what}: the API server's certificate is not trusted"
            f" ({error.certificate_error}); check certificate-authority and tls-server-name",
            sent=False,
        ) from error
    except aiohttp.ClientConnectorError as error:
        raise ConnectionFailed(
            f"{what}: cannot connect to {error.host}:{error.port}: {error.os_error}", sent=False
        ) from error
    except aiohttp.ConnectionTimeoutError as error:
        raise ConnectionFailed(f"{what}: cannot connect in time", sent=False) from error
    except TimeoutError as error:
        raise TimedOut(f"{what}: no response in time") from error
    except aiohttp.ClientHttpProxyError as error:
        raise ConnectionFailed(
            f"{what}: the proxy responded {error.status} {error.message}", sent=False
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        # Without the text of the error, which can quote the response.
        cause = getattr(error, "strerror", None) or type(error).__name__
        raise ConnectionFailed(f"{what}: the connection failed: {cause}") from error


def header_value(token: str) -> str:
    """Return a token that can be sent in a header; raises CredentialError."""
    if any(character < " " or character == "\x7f" for character in token):
        raise CredentialError("the token contains a control character, such as a line break")
    return token


def _payload(body: bytes | None) -> bytes | BytesIO | None:
    # A large body is sent in chunks, so that it does not block other tasks.
    return BytesIO(body) if body and len(body) > _LARGE_BODY else body


def _impersonation(impersonation: Impersonation) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", impersonation.user
    if impersonation.uid:
        yield "Impersonate-Uid", impersonation.uid
    for group in impersonation.groups:
        yield "Impersonate-Group", group
    for key, value in impersonation.extra:
        yield f"Impersonate-Extra-{key}", value


def _socket(address: tuple[object, ...]) -> socket.socket:
    """Create a socket with keep-alive, which detects a dead peer within a minute.

    Without it, a watch on a dead connection looks like a quiet cluster.
    """
    family, kind, protocol, *_ = address
    connection = socket.socket(family, kind, protocol)  # type: ignore[arg-type]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on all platforms
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
    return connection


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
