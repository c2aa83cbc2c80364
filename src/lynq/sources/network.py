"""What the network's own errors mean, and the two ways to connect that `tls.mode` asks for."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from lynq.api import TlsMode
from lynq.sources.errors import (
    ConnectTimedOut,
    Endpoint,
    Refused,
    SourceConnectionFailed,
    TLSFailed,
    UnknownHost,
)
from lynq.sources.settings import ServerSettings
from lynq.sources.tls import tls_context

C = TypeVar("C")


async def connect_within(
    settings: ServerSettings,
    place: Endpoint,
    connect: Callable[[ssl.SSLContext | None], Awaitable[C]],
) -> C:
    """Connect as tls.mode says and within connectTimeout; `connect` raises SourceErrors only."""
    context = tls_context(settings.tls)
    try:
        async with asyncio.timeout(settings.connect_timeout):
            try:
                return await connect(context)
            except TLSFailed:
                if settings.tls.mode is not TlsMode.PREFER:
                    raise
                return await connect(None)
    except TimeoutError:
        raise ConnectTimedOut(
            f"no connection within {settings.connect_timeout:g} s", place=place
        ) from None


def network_failure(error: OSError, place: Endpoint) -> SourceConnectionFailed:
    """Say what an error of the network means for a connection that is being made."""
    if isinstance(error, socket.gaierror):
        return UnknownHost("the name of the host leads to no address", place=place)
    if isinstance(error, ssl.SSLCertVerificationError):
        return TLSFailed(f"the server's certificate: {error.verify_message}", place=place)
    if isinstance(error, ssl.SSLError):
        # A server without TLS answers in plain text, which is no version of TLS.
        plain = error.reason == "WRONG_VERSION_NUMBER"
        cause = "the server does not offer TLS" if plain else f"TLS broke off ({error.reason})"
        return TLSFailed(cause, place=place)
    if isinstance(error, TimeoutError):
        return ConnectTimedOut("the network gave up", place=place)
    if isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return SourceConnectionFailed("the connection was cut while logging in", place=place)
    return Refused(
        f"nobody listens there, or the network has no way to it ({_code(error)})", place=place
    )


def _code(error: OSError) -> str:
    # asyncio makes one nameless error of several when a host has several addresses.
    return f"errno {error.errno}" if error.errno else "at none of its addresses"
