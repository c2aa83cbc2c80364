"""What is wrong with a JSON text: the first fault, in the words of Go's scanner.

It runs only on texts that were refused already. A text that ends too early is read as if a space
followed: only what cannot go on with a space is a fault at that place.
"""

import re
from typing import NoReturn

from lynq.template.gofmt.quoting import quote

_BLANK = re.compile(rb"[ \t\r\n]*")
_PLAIN_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_ESCAPABLE = frozenset(b'"\\/bfnrt')
_HEX = frozenset(b"0123456789abcdefABCDEF")
_DIGITS = re.compile(rb"[0-9]*")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_NUMBER_STARTS = frozenset(b"-0123456789")
_END = "unexpected end of JSON input"


class _Fault(Exception):  # noqa: N818 - an answer, not an error
    """The text of a fault."""


def find_fault(data: bytes) -> str | None:
    """Give the first fault of a text, or None if it has none."""
    try:
        _Scanner(data).scan()
    except _Fault as fault:
        return str(fault)
    return None


class _Scanner:
    """Walks over the text; `open` holds the brackets it is in."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.open: list[int] = []

    def scan(self) -> None:
        self._value()
        while self.open:
            self._after_item()
        if self._peek() is not None:
            self._fault("after top-level value")

    def _value(self) -> None:
        """Read a scalar, or open brackets down to the first scalar or empty pair."""
        byte = self._need()
        if byte in b"[{":
            self.at += 1
            self.open.append(byte)
            self._first_item()
        elif byte == ord('"'):
            self._string()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        elif byte in _NUMBER_STARTS:
            self._number()
        else:
            self._fault("looking for beginning of value")

    def _first_item(self) -> None:
        if self._need() == self._closing():
            self.at += 1
            self.open.pop()
        else:
            self._item()

    def _item(self) -> None:
        if self.open[-1] == ord("{"):
            if self._need() != ord('"'):
                self._fault("looking for beginning of object key string")
            self._string()
            if self._need() != ord(":"):
                self._fault("after object key")
            self.at += 1
        self._value()

    def _after_item(self) -> None:
        byte = self._need()
        if byte == ord(","):
            self.at += 1
            self._item()
        elif byte == self._closing():
            self.at += 1
            self.open.pop()
        elif self.open[-1] == ord("{"):
            self._fault("after object key:value pair")
        else:
            self._fault("after array element")

    def _closing(self) -> int:
        return ord("}") if self.open[-1] == ord("{") else ord("]")

    def _string(self) -> None:
        self._skip(_PLAIN_STRING, self.at + 1)
        if self.at == len(self.data):
            raise _Fault(_END)
        if self.data[self.at] == ord("\\"):
            self._escape()
        if self.data[self.at] != ord('"'):
            self._fault("in string literal")
        self.at += 1

    def _escape(self) -> NoReturn:
        self.at += 1
        if self._byte() != ord("u"):
            self._fault("in string escape code")
        self.at += 1
        while self._byte() in _HEX:
            self.at += 1
        self._fault("in \\u hexadecimal character escape")

    def _literal(self, word: bytes) -> None:
        for byte in word:
            if self._byte() != byte:
                self._fault(f"in literal {word.decode()} (expecting '{chr(byte)}')")
            self.at += 1

    def _number(self) -> None:
        if self._byte() == ord("-"):
            self.at += 1
        if self._byte() == ord("0"):
            self.at += 1
        else:
            self._digits("in numeric literal")
        if self._byte() == ord("."):
            self.at += 1
            self._digits("after decimal point in numeric literal")
        if self._byte() in b"eE":
            self.at += 1
            if self._byte() in b"+-":
                self.at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, context: str) -> None:
        start = self.at
        self._skip(_DIGITS, start)
        if self.at == start:
            self._fault(context)

    def _skip(self, pattern: re.Pattern[bytes], start: int) -> None:
        found = pattern.match(self.data, start)
        self.at = found.end() if found else start

    def _peek(self) -> int | None:
        self._skip(_BLANK, self.at)
        return self.data[self.at] if self.at < len(self.data) else None

    def _need(self) -> int:
        byte = self._peek()
        if byte is None:
            raise _Fault(_END)
        return byte

    def _byte(self) -> int:
        return self.data[self.at] if self.at < len(self.data) else ord(" ")

    def _fault(self, context: str) -> NoReturn:
        char = chr(self._byte())
        shown = {"'": r"'\''", '"': "'\"'"}.get(char) or f"'{quote(char)[1:-1]}'"
        raise _Fault(f"invalid character {shown} {context}")
