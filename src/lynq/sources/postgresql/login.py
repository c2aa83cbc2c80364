"""Keeps the password from servers that ask for it without proof of who they are.

The server chooses how the client logs in, and asyncpg answers every request: in clear text, or as
an MD5 hash, which is as good as the password. Both are refused unless the server's certificate was
verified. SCRAM is always allowed: it proves the password without sending it, and proves the server.

asyncpg has no setting for that. Its protocol is replaced by one that reads the requests first; a
request to refuse is replaced by an error of the server.
"""

import ssl
from collections.abc import Iterator
from typing import Any, Final

from asyncpg import protocol

REFUSED_STATE: Final = "28LYN"
"""The SQLSTATE of a refused login; no server sends it."""

_REFUSED: Final = frozenset((3, 5))
"""AuthenticationCleartextPassword and AuthenticationMD5Password."""
_HEADER: Final = 5
"""Bytes of the type and the length of a message."""
_LONGEST: Final = 64 * 1024
"""Bytes of a message before the login; those of PostgreSQL are shorter than one KiB."""


class LoginFilter:
    """Filters the messages of a server until the login is done."""

    def __init__(self) -> None:
        self._buffer = b""
        self._is_done = False
        self._is_refused = False

    def feed(self, data: bytes) -> bytes:
        """Return the messages for the client; a refused request becomes an error."""
        if self._is_done:
            return data
        if self._is_refused:
            return b""
        self._buffer += data
        passed = b""
        for message in self._messages():
            if _must_be_refused(message):
                self._is_refused = True
                return passed + _error_response()
            passed += message
            # Not before: the driver would answer another request that follows AuthenticationOk.
            if message.startswith(b"Z"):
                self._is_done = True
                return passed + self._buffer
        return passed

    def _messages(self) -> Iterator[bytes]:
        """Remove the complete messages from the buffer."""
        while len(self._buffer) >= _HEADER:
            size = 1 + _length(self._buffer)
            if _HEADER <= size <= _LONGEST and len(self._buffer) < size:
                return
            message, self._buffer = self._buffer[:size], self._buffer[size:]
            yield message


def _must_be_refused(message: bytes) -> bool:
    """Return whether a message asks for the password, or is not one of PostgreSQL."""
    if not _HEADER <= len(message) <= _LONGEST or len(message) != 1 + _length(message):
        return True
    if not message.startswith(b"R"):
        return False
    request = message[_HEADER : _HEADER + 4]
    return len(request) < 4 or int.from_bytes(request, "big") in _REFUSED  # noqa: PLR2004


def _length(message: bytes) -> int:
    """Return the length in a message, which counts itself and not the type."""
    return int.from_bytes(message[1:_HEADER], "big")


def _error_response() -> bytes:
    fields = f"SFATAL\0VFATAL\0C{REFUSED_STATE}\0Mthe login is refused by the client\0\0".encode()
    return b"E" + (len(fields) + 4).to_bytes(4, "big") + fields


# asyncpg has no types.
class _GuardedProtocol(protocol.Protocol):  # type: ignore[misc]
    """asyncpg's protocol, with a filter if the server is not verified."""

    def __init__(self, addr: Any, connected: Any, params: Any, *args: Any) -> None:  # noqa: ANN401
        super().__init__(addr, connected, params, *args)
        is_verified = params.ssl and params.ssl.verify_mode is not ssl.CERT_NONE
        self._filter = None if is_verified else LoginFilter()

    def data_received(self, data: bytes) -> None:
        if self._filter is not None:
            data = self._filter.feed(data)
        if data:
            super().data_received(data)


def guard_logins() -> None:
    """Make every later connection of asyncpg refuse requests for the password."""
    protocol.Protocol = _GuardedProtocol
