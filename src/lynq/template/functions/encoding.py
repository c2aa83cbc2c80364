"""Base64, base32 and checksums. Invalid input of a decoder renders Go's error text."""

import base64
import hashlib
import re
import zlib

from lynq.template.errors import FunctionError
from lynq.template.functions.signature import function
from lynq.template.values import from_bytes, to_bytes

_NEWLINES = re.compile(rb"[\r\n]+")
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_UNIT = 4
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/\r\n]*")
_BASE32_UNIT = 8
_BASE32_RUN = re.compile(rb"[A-Z2-7]*")
# Counts of symbols in the last group that do not decode to whole bytes.
_BASE32_BAD_LENGTHS = frozenset({1, 3, 6})
_PAD = ord("=")


class _Corrupt(Exception):  # noqa: N818 - internal control flow
    """The offset of the first invalid byte."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


@function("b64enc", "func(string) string")
def b64enc(text: str) -> str:
    """Encode in base64."""
    return base64.b64encode(to_bytes(text)).decode()


@function("b64dec", "func(string) string")
def b64dec(text: str) -> str:
    """Decode base64; line breaks are ignored."""
    try:
        return from_bytes(decode_base64(to_bytes(text)))
    except FunctionError as problem:
        return problem.message


def decode_base64(data: bytes) -> bytes:
    """Decode base64, or fail with Go's error."""
    bare = _NEWLINES.sub(b"", data)
    if _BASE64.fullmatch(bare):
        return base64.b64decode(bare)
    raise FunctionError(f"illegal base64 data at input byte {_base64_fault(data)}")


@function("b32enc", "func(string) string")
def b32enc(text: str) -> str:
    """Encode in base32."""
    return base64.b32encode(to_bytes(text)).decode()


@function("b32dec", "func(string) string")
def b32dec(text: str) -> str:
    """Decode base32; line breaks are ignored."""
    data = _NEWLINES.sub(b"", to_bytes(text))
    try:
        symbols = data[: _base32_length(data)]
    except _Corrupt as corrupt:
        return f"illegal base32 data at input byte {corrupt.at}"
    return from_bytes(base64.b32decode(symbols + b"=" * (-len(symbols) % _BASE32_UNIT)))


def _base64_fault(data: bytes) -> int:
    """Return the offset at which Go's decoder fails."""
    at = _end(_BASE64_RUN, data)
    in_unit = len(_NEWLINES.sub(b"", data[:at])) % _BASE64_UNIT
    if at == len(data):
        return at - in_unit
    if data[at] == _PAD and in_unit > 1:
        return _base64_padding_fault(data, at + 1, missing=_BASE64_UNIT - 1 - in_unit)
    return at


def _base64_padding_fault(data: bytes, at: int, *, missing: int) -> int:
    at = _end(_NEWLINES, data, at)
    if not missing or at == len(data):
        return at
    return at - 1 if data[at] != _PAD else _end(_NEWLINES, data, at + 1)


def _base32_length(data: bytes) -> int:
    """Return the number of symbols before the padding."""
    at = _end(_BASE32_RUN, data)
    in_unit = at % _BASE32_UNIT
    if at == len(data):
        if in_unit:
            raise _Corrupt(at - in_unit)
    elif data[at] == _PAD and in_unit > 1 and len(data) - at <= _BASE32_UNIT:
        _check_base32_padding(data, at, in_unit)
    else:
        raise _Corrupt(at)
    return at


def _check_base32_padding(data: bytes, at: int, in_unit: int) -> None:
    expected = _BASE32_UNIT - 1 - in_unit
    rest = data[at + 1 :]
    if len(rest) < expected:
        raise _Corrupt(len(data))
    for number, byte in enumerate(rest[:expected]):
        if byte != _PAD:
            raise _Corrupt(at + number)
    if in_unit in _BASE32_BAD_LENGTHS:
        raise _Corrupt(at)


def _end(run: re.Pattern[bytes], data: bytes, start: int = 0) -> int:
    match = run.match(data, start)
    return match.end() if match else start


@function("sha1sum", "func(string) string")
def sha1sum(text: str) -> str:
    """Return the SHA-1 of a text."""
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


@function("sha256sum", "func(string) string")
def sha256sum(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(to_bytes(text)).hexdigest()


@function("sha512sum", "func(string) string")
def sha512sum(text: str) -> str:
    """Return the SHA-512 of a text."""
    return hashlib.sha512(to_bytes(text)).hexdigest()


@function("adler32sum", "func(string) string")
def adler32sum(text: str) -> str:
    """Return the Adler-32 of a text."""
    return str(zlib.adler32(to_bytes(text)))
