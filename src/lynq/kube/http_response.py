"""Parses the response to an HTTP/1.1 request from bytes that end anywhere (RFC 9112).

Pure: the connection feeds what it receives. A body has a Content-Length, is chunked, or ends with
the connection. What violates the protocol raises, because the next response of the connection
would begin at an unknown byte.
"""

# ruff: noqa: N818 - named like the other errors of this package

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

_MAX_HEAD: Final = 64 * 1024
"""Bytes of all headers and the trailer of one exchange, or of one line between chunks."""
_STATUS_LINE: Final = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: |\r|$)")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH: Final = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;|\Z)")
_UNTIL_CLOSED: Final = -1
_FIRST_FINAL: Final = 200
"""Responses with a lower status are informational: another one follows."""
_WITHOUT_BODY: Final = frozenset({204, 304})


class InvalidResponse(Exception):
    """The bytes are not a response."""


class Head(Struct, frozen=True):
    """The status and the headers of a response, by name in lower case."""

    status: int
    headers: Mapping[str, str]
    keep_alive: bool
    """Whether the server lets the connection be used again."""


class ResponseParser:
    """Parses one response."""

    __slots__ = (
        "_after_chunk",
        "_buffer",
        "_chunked",
        "_head_size",
        "_in_trailer",
        "_remaining",
        "complete",
        "head",
    )

    def __init__(self) -> None:
        self.head: Head | None = None
        self.complete = False
        self._buffer = b""
        self._chunked = False
        self._head_size = 0
        self._remaining = 0
        """Bytes of the body, or of the current chunk, that are still to come."""
        self._after_chunk = False
        """Whether the line end that follows a chunk is still to come."""
        self._in_trailer = False

    def feed(self, data: bytes) -> bytes:
        """Return the part of the body in these bytes."""
        if self.complete:
            raise InvalidResponse("bytes after the end of the response")
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if self.head is None:
            data = self._parse_head(data)
            if self.head is None:
                return b""
        if self._chunked:
            return self._next_chunks(data)
        return self._next_bytes(data)

    def close(self) -> None:
        """End the body that ends with the connection."""
        if self.head is not None and self._remaining == _UNTIL_CLOSED:
            self.complete = True

    def _parse_head(self, data: bytes) -> bytes:
        while self.head is None:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._keep(data)
                return b""
            self._count(end)
            self._begin(data[:end].decode("latin-1"))
            data = data[end + 4 :]
        return data

    def _keep(self, data: bytes) -> None:
        _check_length(len(data))
        self._buffer = data

    def _count(self, size: int) -> None:
        self._head_size += size
        _check_length(self._head_size)

    def _begin(self, text: str) -> None:
        match = _STATUS_LINE.match(text)
        if not match:
            raise InvalidResponse("no status line")
        minor, status = match[1], int(match[2])
        if status < _FIRST_FINAL:
            return
        headers = _headers(text)
        options = headers.get("connection", "").lower()
        keep_alive = "close" not in options if minor == "1" else "keep-alive" in options
        self.head = Head(status, headers, keep_alive)
        self._begin_body(self.head)

    def _begin_body(self, head: Head) -> None:
        encoding = head.headers.get("transfer-encoding", "").lower()
        length = head.headers.get("content-length")
        if head.status in _WITHOUT_BODY:
            self.complete = True
        elif encoding:
            if encoding != "chunked" or length is not None:
                raise InvalidResponse("an unexpected Transfer-Encoding")
            self._chunked = True
        elif length is None:
            self._remaining = _UNTIL_CLOSED
        elif _LENGTH.fullmatch(length):
            self._remaining = int(length)
            self.complete = not self._remaining
        else:
            raise InvalidResponse("an invalid Content-Length")

    def _next_bytes(self, data: bytes) -> bytes:
        if self._remaining != _UNTIL_CLOSED:
            self._remaining -= len(data)
            if self._remaining < 0:
                raise InvalidResponse("bytes after the end of the response")
            self.complete = not self._remaining
        return data

    def _next_chunks(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        position = 0
        while position < len(data):
            if self._remaining:
                part = data[position : position + self._remaining]
                parts.append(part)
                position += len(part)
                self._remaining -= len(part)
                self._after_chunk = not self._remaining
            else:
                end = data.find(b"\r\n", position)
                if end < 0:
                    self._keep(data[position:])
                    break
                _check_length(end - position)
                self._parse_line(data[position:end])
                position = end + 2
                if self.complete and position < len(data):
                    raise InvalidResponse("bytes after the end of the response")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _parse_line(self, line: bytes) -> None:
        """Parse the end of a chunk, the size of the next one, or a line of the ignored trailer."""
        if self._in_trailer:
            self._count(len(line))
            self.complete = not line
            return
        if self._after_chunk:
            if line:
                raise InvalidResponse("a chunk is longer than its size")
            self._after_chunk = False
            return
        match = _CHUNK_SIZE.match(line)
        if not match:
            raise InvalidResponse("an invalid size of a chunk")
        self._remaining = int(match[1], 16)
        self._in_trailer = not self._remaining


def _check_length(size: int) -> None:
    if size > _MAX_HEAD:
        raise InvalidResponse("the headers, or a line between chunks, are too long")


def _headers(text: str) -> dict[str, str]:
    lines = text.split("\r\n")
    if not text.count("\r") == text.count("\n") == len(lines) - 1:
        raise InvalidResponse("an invalid end of a line")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        key, value = _header(line)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


@lru_cache(maxsize=256)
def _header(line: str) -> tuple[str, str]:
    """Return name and value; most lines are the same in all responses of a server."""
    name, colon, value = line.partition(":")
    if not (colon and _HEADER_NAME.fullmatch(name)):
        raise InvalidResponse("an invalid header")
    return name.lower(), value.strip(" \t")
