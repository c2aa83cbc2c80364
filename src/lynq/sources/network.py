"""Connecting to a server as `tls.mode` requires, and the meaning of network errors."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from lynq.api import TlsMode
from lynq.sources.errors import (
    ConnectTimedOut,
    DeniedHost,
    Endpoint,
    InvalidSettings,
    Refused,
    SourceConnectionFailed,
    TLSFailed,
    UnknownHost,
)
from lynq.sources.resolver import ServerAddress, TooManyLookups, resolve
from lynq.sources.settings import TLS, ServerSettings
from lynq.tls.context import CertificateError, client_context, load_key_pair

C = TypeVar("C")


def tls_context(tls: TLS, server_name: str = "") -> ssl.SSLContext | None:
    """Return the SSL context for these settings; None if nothing is encrypted.

    `server_name` is the name in the certificate if the connection is made to an address.
    """
    if tls.mode is TlsMode.DISABLE:
        return None
    try:
        context = client_context(tls.ca or None, server_name=server_name)
    except CertificateError:
        raise InvalidSettings("not a PEM certificate", field="tls.caRef") from None
    context.check_hostname = tls.mode is TlsMode.VERIFY_FULL
    context.verify_mode = ssl.CERT_REQUIRED if tls.mode.verifies_server else ssl.CERT_NONE
    if bool(tls.certificate) != bool(tls.key):
        raise InvalidSettings("certificate and key belong together", field="tls.keyRef")
    if tls.certificate and tls.key:
        try:
            load_key_pair(context, tls.certificate.encode(), tls.key.encode())
        except CertificateError as error:
            raise InvalidSettings(str(error), field="tls.keyRef") from None
    return context


Connect = Callable[[ssl.SSLContext | None, ServerAddress], Awaitable[C]]
"""Connects to one address and logs in; raises SourceErrors only."""


async def connect_within(settings: ServerSettings, connect: Connect[C]) -> C:
    """Connect to the first address that accepts, as tls.mode requires, within connectTimeout."""
    context = tls_context(settings.tls, settings.host)
    addresses: Sequence[ServerAddress] = ()
    try:
        async with asyncio.timeout(settings.connect_timeout):
            addresses = await server_addresses(settings)
            try:
                return await _connect_first(addresses, context, connect)
            except TLSFailed:
                if settings.tls.mode is not TlsMode.PREFER:
                    raise
                return await _connect_first(addresses, None, connect)
    except TimeoutError:
        raise (connect_timed_out if addresses else _lookup_timed_out)(settings) from None


async def _connect_first(
    addresses: Sequence[ServerAddress], context: ssl.SSLContext | None, connect: Connect[C]
) -> C:
    *others, last = addresses
    for address in others:
        with suppress(Refused):
            return await connect(context, address)
    return await connect(context, last)


async def server_addresses(settings: ServerSettings) -> Sequence[ServerAddress]:
    """Return the addresses that may be connected to; raises SourceConnectionFailed.

    One denied address denies the host. The caller sets the time limit.
    """
    _check_denied(settings, settings.host)
    try:
        addresses = await resolve(settings.host, settings.port)
    except TooManyLookups:
        raise SourceConnectionFailed(
            "too many host names are being resolved: the name server does not answer",
            endpoint=settings.endpoint,
        ) from None
    except OSError as error:
        raise network_failure(error, settings.endpoint) from None
    # The connection uses these addresses: a name that resolves to others later changes nothing.
    for address in addresses:
        _check_denied(settings, address.ip)
    return addresses


def _check_denied(settings: ServerSettings, host: str) -> None:
    if problem := settings.denied_hosts.problem(host):
        raise DeniedHost(problem, endpoint=settings.endpoint)


def _lookup_timed_out(settings: ServerSettings) -> ConnectTimedOut:
    return ConnectTimedOut(
        f"the name server has not answered within {settings.connect_timeout:g} s",
        endpoint=settings.endpoint,
    )


def connect_timed_out(settings: ServerSettings) -> ConnectTimedOut:
    """Return the error for a connection that was not established within connectTimeout."""
    return ConnectTimedOut(
        f"no connection within {settings.connect_timeout:g} s", endpoint=settings.endpoint
    )


def network_failure(error: OSError, endpoint: Endpoint) -> SourceConnectionFailed:
    """Return the SourceError for a network error while connecting."""
    if isinstance(error, socket.gaierror):
        return UnknownHost("the host name does not resolve", endpoint=endpoint)
    if isinstance(error, ssl.SSLCertVerificationError):
        return TLSFailed(
            f"the server's certificate is not trusted: {error.verify_message}", endpoint=endpoint
        )
    if isinstance(error, ssl.SSLError):
        # A server without TLS answers in plain text, which OpenSSL takes for a wrong version.
        plain = error.reason == "WRONG_VERSION_NUMBER"
        cause = (
            "the server does not offer TLS"
            if plain
            else f"the TLS handshake failed ({error.reason})"
        )
        return TLSFailed(cause, endpoint=endpoint)
    if isinstance(error, TimeoutError):
        return ConnectTimedOut("the network connection timed out", endpoint=endpoint)
    if isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return SourceConnectionFailed("the connection was lost during login", endpoint=endpoint)
    return Refused(
        f"connection refused, or no route to the host ({_code(error)})", endpoint=endpoint
    )


def _code(error: OSError) -> str:
    # asyncio raises one error without a number when a host has several addresses.
    return f"errno {error.errno}" if error.errno else "at all of its addresses"
