"""One attempt of one request over HTTP: connection pool, TLS, timeouts, size limit."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from typing import Self
from urllib.parse import urlencode

import aiohttp
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


def _user_agent() -> str:
    try:
        return f"lynq/{version('lynq')}"
    except PackageNotFoundError:
        return "lynq/unreleased"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How long to wait, how much to hold, how often to try; seconds and bytes."""

    timeout: float = 30.0
    """For one attempt, from the first byte sent to the last one received."""
    connect_timeout: float = 5.0
    """For the connection alone: name, socket, proxy, TLS. It passes between the fence's yes and the
    first byte sent, so it stays within what a lease keeps in reserve (duration less renew
    deadline)."""
    max_in_flight: int = 64
    """Requests under way at once; watches do not count."""
    max_response: int = 64 * _MIB
    max_event: int = 16 * _MIB
    """One event of a watch; etcd's limit on an object is a tenth of that."""
    attempts: int = 5
    backoff: Backoff = field(default_factory=lambda: Backoff(base=0.1, cap=5.0, jitter=1.0))
    patience: float = 30.0
    """The longest Retry-After that is waited for; past it the error goes to the caller."""
    user_agent: str = field(default_factory=_user_agent)


_OK = 200
_LARGE = 512 * 1024


class Session:
    """The connections to one API server. Open it inside the event loop that uses it."""

    def __init__(self, config: ClusterConfig, options: ClientOptions) -> None:
        self._config = config
        self._options = options
        self._server = config.server.rstrip("/")
        self._tls: tuple[ClientCertificate | None, ssl.SSLContext] | None = None
        self._http: aiohttp.ClientSession | None = None

    def open(self) -> None:
        """Make the connection pool; nothing is connected yet."""
        connector = aiohttp.TCPConnector(limit=0, socket_factory=_socket)
        self._http = aiohttp.ClientSession(
            connector=connector,
            headers=self._standing_headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # aiohttp sends PUT and DELETE again by itself when a kept connection turns out dead. That
        # would go past the fence, and past our rule that a replace is never sent twice.
        self._http._retry_connection = False  # noqa: SLF001

    async def close(self) -> None:
        """Close all connections; streams end with ConnectionFailed."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def send(self, request: Request, credential: Credential) -> Response:
        """Send it once and read the answer, whatever its status."""
        limit = request.timeout or self._options.timeout
        with _failures_as_ours(request):
            # A stream is given this long for its head; after that only silence is too long.
            async with asyncio.timeout(self._options.timeout if request.stream else limit):
                answer = await self._start(request, credential)
                if request.stream and answer.status == _OK:
                    return self._streamed(request, answer)
                return await self._whole(request, answer)

    async def _start(self, request: Request, credential: Credential) -> aiohttp.ClientResponse:
        if self._http is None:
            raise ConnectionFailed(f"{request.verb} {request.path}: not connected", sent=False)
        headers = CIMultiDict(request.headers)
        if credential.token:
            headers["Authorization"] = f"Bearer {_in_a_header(credential.token)}"
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
                # All of it: the name looked up, the socket, the proxy's consent, TLS.
                connect=self._options.connect_timeout,
                sock_read=request.timeout if request.stream else None,
            ),
        )

    def _url(self, request: Request) -> URL:
        query = f"?{urlencode(request.query)}" if request.query else ""
        return URL(f"{self._server}{request.path}{query}", encoded=True)

    def _tls_for(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """Return the context; it is re-created when an exec plugin returns another certificate."""
        if self._tls is None or self._tls[0] != certificate:
            self._tls = (certificate, ssl_context_for(self._config, certificate))
        return self._tls[1]

    async def _whole(self, request: Request, answer: aiohttp.ClientResponse) -> Response:
        body = bytearray()
        try:
            async for chunk in answer.content.iter_any():
                body += chunk
                self._check_size(len(body), request)
        except BaseException:
            answer.close()
            raise
        return Response(answer.status, answer.headers, bytes(body))

    def _check_size(self, size: int, request: Request) -> None:
        limit = self._options.max_response
        if size > limit:
            raise ResponseTooLarge(
                f"{request.verb} {request.path}: the answer is larger than {limit} bytes;"
                " ask for smaller pages or for metadata only"
            )

    def _streamed(self, request: Request, answer: aiohttp.ClientResponse) -> Response:
        return Response(
            answer.status, answer.headers, chunks=_Chunks(request, answer), close=answer.close
        )

    def _standing_headers(self) -> CIMultiDict[str]:
        headers = CIMultiDict(
            {
                "User-Agent": self._options.user_agent,
                # Packing costs both sides more CPU than the network of a cluster saves.
                "Accept-Encoding": "identity",
            }
        )
        if self._config.impersonate:
            headers.extend(_impersonation(self._config.impersonate))
        return headers


class _Chunks:
    """A stream's bytes as they come; no generator, so that one left early needs no clean-up."""

    def __init__(self, request: Request, answer: aiohttp.ClientResponse) -> None:
        self._request = request
        self._answer = answer

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _failures_as_ours(self._request):
            chunk = await self._answer.content.readany()
        if not chunk:
            raise StopAsyncIteration
        return chunk


@contextmanager
def _failures_as_ours(request: Request) -> Iterator[None]:
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
        raise TimedOut(f"{what}: no answer in time") from error
    except aiohttp.ClientHttpProxyError as error:
        raise ConnectionFailed(
            f"{what}: the proxy answered {error.status} {error.message}", sent=False
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        # Not the error's own text: that of a malformed answer quotes the answer.
        cause = getattr(error, "strerror", None) or type(error).__name__
        raise ConnectionFailed(f"{what}: the connection broke: {cause}") from error


def _in_a_header(token: str) -> str:
    if any(character < " " or character == "\x7f" for character in token):
        raise CredentialError("the token holds a control character, such as the end of a line")
    return token


def _payload(body: bytes | None) -> bytes | BytesIO | None:
    # A large body goes out in pieces, so that other tasks get their turn meanwhile.
    return BytesIO(body) if body and len(body) > _LARGE else body


def _impersonation(whom: Impersonation) -> Iterator[tuple[str, str]]:
    yield "Impersonate-User", whom.user
    if whom.uid:
        yield "Impersonate-Uid", whom.uid
    for group in whom.groups:
        yield "Impersonate-Group", group
    for key, value in whom.extra:
        yield f"Impersonate-Extra-{key}", value


def _socket(address: tuple[object, ...]) -> socket.socket:
    """Make a socket that notices within a minute that the other side is gone.

    A watch is silent for long; without probes a dead peer looks like a quiet cluster.
    """
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)  # type: ignore[arg-type]
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not everywhere under these names
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
    return made


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
