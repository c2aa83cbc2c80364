"""IP addresses as net/netip reads them, with its errors."""

import re
from dataclasses import dataclass
from typing import Final

from lynq.template.errors import FunctionError
from lynq.template.gofmt.quoting import quote
from lynq.template.values import from_view

_GROUP: Final = re.compile(r"[0-9a-fA-F]{0,5}")
_FIRST_SIGN: Final = re.compile(r"[.:%]")
_OCTETS: Final = 4
_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class Address:
    """The 4 or 16 bytes of an address, and an IPv6 zone."""

    packed: bytes
    zone: str = ""


def parse_address(text: str) -> Address:
    """Parse an address from a byte view."""
    sign = _FIRST_SIGN.search(text)
    if sign is None:
        raise _failure(text, "unable to parse IP")
    if sign[0] == "%":
        raise _failure(text, "missing IPv6 address")
    if sign[0] == ".":
        return Address(_parse_ipv4(text, text))
    return _parse_ipv6(text)


def _failure(text: str, message: str, at: str = "") -> FunctionError:
    suffix = f" (at {quote(from_view(at))})" if at else ""
    return FunctionError(f"ParseAddr({quote(from_view(text))}): {message}{suffix}")


def _parse_ipv4(part: str, whole: str) -> bytes:
    """Parse four octets; the order of the checks is Go's, from left to right."""
    octets = [0]
    digits = 0
    for at, char in enumerate(part):
        if char in "0123456789":
            if digits == 1 and octets[-1] == 0:
                raise _failure(whole, "IPv4 field has octet with leading zero")
            octets[-1] = octets[-1] * 10 + int(char)
            digits += 1
            if octets[-1] > 255:  # noqa: PLR2004
                raise _failure(whole, "IPv4 field has value >255")
        elif char == ".":
            if at == 0 or at == len(part) - 1 or part[at - 1] == ".":
                raise _failure(whole, "IPv4 field must have at least one digit", part[at:])
            if len(octets) == _OCTETS:
                raise _failure(whole, "IPv4 address too long")
            octets.append(0)
            digits = 0
        else:
            raise _failure(whole, "unexpected character", part[at:])
    if len(octets) < _OCTETS:
        raise _failure(whole, "IPv4 address too short")
    return bytes(octets)


def _parse_ipv6(whole: str) -> Address:
    rest, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _failure(whole, "zone must be a non-empty string")
    return Address(_Groups(whole).read(rest), zone)


class _Groups:
    """Parses the groups of an IPv6 address, and the position of `::`."""

    def __init__(self, whole: str) -> None:
        self._whole = whole
        self._packed = b""
        self._ellipsis = -1

    def read(self, rest: str) -> bytes:
        if rest.startswith("::"):
            self._ellipsis, rest = 0, rest[2:]
        while len(self._packed) < _SIZE and (rest or self._ellipsis != len(self._packed)):
            rest = self._group(rest)
            if not rest:
                break
            rest = self._separator(rest)
        if rest:
            raise _failure(self._whole, "trailing garbage after address", rest)
        return self._expanded()

    def _group(self, rest: str) -> str:
        """Parse one group of digits, or the IPv4 address at the end."""
        match = _GROUP.match(rest)
        digits = match[0] if match else ""
        if len(digits) > _OCTETS:
            raise _failure(self._whole, "each group must have 4 or less digits", rest)
        if not digits:
            message = "each colon-separated field must have at least one digit"
            raise _failure(self._whole, message, rest)
        if rest[len(digits) :].startswith("."):
            self._packed += self._embedded(rest)
            return ""
        self._packed += int(digits, 16).to_bytes(2, "big")
        return rest[len(digits) :]

    def _embedded(self, rest: str) -> bytes:
        if self._ellipsis < 0 and len(self._packed) != _SIZE - _OCTETS:
            message = "embedded IPv4 address must replace the final 2 fields of the address"
            raise _failure(self._whole, message, rest)
        if len(self._packed) + _OCTETS > _SIZE:
            message = "too many hex fields to fit an embedded IPv4 at the end of the address"
            raise _failure(self._whole, message, rest)
        return _parse_ipv4(rest, self._whole)

    def _separator(self, rest: str) -> str:
        """Skip one or two colons."""
        if rest[0] != ":":
            raise _failure(self._whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _failure(self._whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] != ":":
            return rest
        if self._ellipsis >= 0:
            raise _failure(self._whole, "multiple :: in address", rest)
        self._ellipsis = len(self._packed)
        return rest[1:]

    def _expanded(self) -> bytes:
        missing = _SIZE - len(self._packed)
        if missing and self._ellipsis < 0:
            raise _failure(self._whole, "address string too short")
        if not missing and self._ellipsis >= 0:
            raise _failure(self._whole, "the :: must expand to at least one field of zeros")
        at = max(self._ellipsis, 0)
        return self._packed[:at] + bytes(missing) + self._packed[at:]
