"""JSON as Go's encoding/json reads and writes it, with its error texts.

The search for the first syntax error runs only on rejected text. A text that ends too early is
read as if a space followed: an error is only what cannot continue with a space.
"""

import json
import math
import re
from typing import NoReturn, Protocol, runtime_checkable

from lynq.api.nesting import exceeds_depth
from lynq.template.environment import Context
from lynq.template.errors import FunctionError, LimitError
from lynq.template.functions.runes import REPLACEMENT, valid
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.floats import format_float, go_number
from lynq.template.gofmt.quoting import quote
from lynq.template.values import Object, byte_len, is_nil, sorted_keys, to_bytes

_RAW = (
    {chr(code): f"\\u{code:04x}" for code in (*range(0x20), 0x2028, 0x2029)}
    | {chr(code): "\\ufffd" for code in range(0xD800, 0xE000)}
    | {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)
_HTML = _RAW | {char: f"\\u{ord(char):04x}" for char in "<>&"}


@runtime_checkable
class Marshaler(Protocol):
    """An object with its own JSON encoding, such as a time."""

    def json(self) -> str:
        """Return the JSON encoding."""


@function("toJson", "func(interface{}) string", needs=Needs.LIMITS)
def to_json(context: Context, value: object) -> str:
    """Encode a value on one line; a value without JSON encoding results in an empty string."""
    try:
        return must_to_json(context, value)
    except FunctionError:
        return ""


@function("mustToJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def must_to_json(context: Context, value: object) -> str:
    """Encode a value on one line, with `<`, `>` and `&` escaped."""
    return Writer(context).text(value)


@function("toPrettyJson", "func(interface{}) string", needs=Needs.LIMITS)
def to_pretty_json(context: Context, value: object) -> str:
    """Encode a value indented; a value without JSON encoding results in an empty string."""
    try:
        return must_to_pretty_json(context, value)
    except FunctionError:
        return ""


@function("mustToPrettyJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def must_to_pretty_json(context: Context, value: object) -> str:
    """Encode a value, indented by two spaces per level."""
    return Writer(context, indent="  ").text(value)


@function("toRawJson", "func(interface{}) string", needs=Needs.LIMITS)
@function("mustToRawJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def to_raw_json(context: Context, value: object) -> str:
    """Encode a value on one line, with `<`, `>` and `&` unescaped."""
    return Writer(context, html=False).text(value)


class Writer:
    """Encodes JSON, and fails when the text exceeds the limit."""

    def __init__(self, context: Context, *, indent: str = "", html: bool = True) -> None:
        self._context = context
        self._limits = context.limits
        self._indent = indent
        self._special = _HTML if html else _RAW
        self._out: list[str] = []
        self._size = 0

    def text(self, value: object) -> str:
        """Encode one value and return the whole text."""
        self._value(value, 0)
        return "".join(self._out)

    def _write(self, text: str) -> None:
        self._size += byte_len(text)
        self._limits.check_text(self._size)
        self._out.append(text)

    def _value(self, value: object, depth: int) -> None:
        if isinstance(value, dict) and not is_nil(value):
            self._items("{}", [(key, value[key]) for key in sorted_keys(value)], depth)
        elif isinstance(value, list) and not is_nil(value):
            self._items("[]", [(None, item) for item in value], depth)
        elif isinstance(value, Object) and not isinstance(value, int | Marshaler):
            self._items("{}", list(value.fields().items()), depth)
        else:
            self._write(self._scalar(value))

    def _items(self, brackets: str, items: list[tuple[str | None, object]], depth: int) -> None:
        self._context.check_deadline()
        self._limits.check_depth(depth)
        self._write(brackets[0])
        for number, (key, item) in enumerate(items):
            self._write("," if number else "")
            self._line(depth + 1)
            if key is not None:
                self._write(self._quote(key) + (": " if self._indent else ":"))
            self._value(item, depth + 1)
        if items:
            self._line(depth)
        self._write(brackets[1])

    def _line(self, depth: int) -> None:
        if self._indent:
            self._write("\n" + self._indent * depth)

    def _scalar(self, value: object) -> str:
        if isinstance(value, str):
            return self._quote(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return _float(value)
        return self._quote(value.json()) if isinstance(value, Marshaler) else "null"

    def _quote(self, text: str) -> str:
        chars = set(text)
        if self._special.keys().isdisjoint(chars):
            return f'"{text}"'
        # The table holds every character that occurs: str.translate is slow for the others.
        return f'"{text.translate({ord(char): self._special.get(char, char) for char in chars})}"'


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise FunctionError(f"json: unsupported value: {format_float(number)}")
    return go_number(number)


_BLANK = re.compile(rb"[ \t\r\n]*")
_PLAIN_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_ESCAPABLE = frozenset(b'"\\/bfnrt')
_HEX = frozenset(b"0123456789abcdefABCDEF")
_DIGITS = re.compile(rb"[0-9]*")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_NUMBER_STARTS = frozenset(b"-0123456789")
_END = "unexpected end of JSON input"


class _SyntaxFailure(Exception):  # noqa: N818 - internal control flow
    """The message of a syntax error."""


def find_syntax_error(data: bytes) -> str | None:
    """Return the first syntax error of a text as Go reports it, or None."""
    try:
        _Scanner(data).scan()
    except _SyntaxFailure as fault:
        return str(fault)
    return None


class _Scanner:
    """Scans the text; `open` is the stack of open brackets."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.open: list[int] = []

    def scan(self) -> None:
        self._value()
        while self.open:
            self._after_item()
        if self._peek() is not None:
            self._invalid_character("after top-level value")

    def _value(self) -> None:
        """Read a scalar, or open brackets down to the first scalar or empty pair."""
        byte = self._require_byte()
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
            self._invalid_character("looking for beginning of value")

    def _first_item(self) -> None:
        if self._require_byte() == self._closing():
            self.at += 1
            self.open.pop()
        else:
            self._item()

    def _item(self) -> None:
        if self.open[-1] == ord("{"):
            if self._require_byte() != ord('"'):
                self._invalid_character("looking for beginning of object key string")
            self._string()
            if self._require_byte() != ord(":"):
                self._invalid_character("after object key")
            self.at += 1
        self._value()

    def _after_item(self) -> None:
        byte = self._require_byte()
        if byte == ord(","):
            self.at += 1
            self._item()
        elif byte == self._closing():
            self.at += 1
            self.open.pop()
        elif self.open[-1] == ord("{"):
            self._invalid_character("after object key:value pair")
        else:
            self._invalid_character("after array element")

    def _closing(self) -> int:
        return ord("}") if self.open[-1] == ord("{") else ord("]")

    def _string(self) -> None:
        self._skip(_PLAIN_STRING, self.at + 1)
        if self.at == len(self.data):
            raise _SyntaxFailure(_END)
        if self.data[self.at] == ord("\\"):
            self._escape()
        if self.data[self.at] != ord('"'):
            self._invalid_character("in string literal")
        self.at += 1

    def _escape(self) -> NoReturn:
        self.at += 1
        if self._byte() != ord("u"):
            self._invalid_character("in string escape code")
        self.at += 1
        while self._byte() in _HEX:
            self.at += 1
        self._invalid_character("in \\u hexadecimal character escape")

    def _literal(self, word: bytes) -> None:
        for byte in word:
            if self._byte() != byte:
                self._invalid_character(f"in literal {word.decode()} (expecting '{chr(byte)}')")
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
            self._invalid_character(context)

    def _skip(self, pattern: re.Pattern[bytes], start: int) -> None:
        match = pattern.match(self.data, start)
        self.at = match.end() if match else start

    def _peek(self) -> int | None:
        self._skip(_BLANK, self.at)
        return self.data[self.at] if self.at < len(self.data) else None

    def _require_byte(self) -> int:
        byte = self._peek()
        if byte is None:
            raise _SyntaxFailure(_END)
        return byte

    def _byte(self) -> int:
        return self.data[self.at] if self.at < len(self.data) else ord(" ")

    def _invalid_character(self, context: str) -> NoReturn:
        char = chr(self._byte())
        quoted = {"'": r"'\''", '"': "'\"'"}.get(char) or f"'{quote(char)[1:-1]}'"
        raise _SyntaxFailure(f"invalid character {quoted} {context}")


_GO_DEPTH = 10_000
_ITEM_BYTES = 64
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _TooLargeError(ValueError):
    """A number that no float64 can hold."""


@function("fromJson", "func(string) interface{}", needs=Needs.LIMITS)
def from_json(context: Context, text: str) -> object:
    """Parse JSON; invalid JSON is an empty map."""
    try:
        return must_from_json(context, text)
    except FunctionError:
        return {}


@function("mustFromJson", "func(string) (interface{}, error)", needs=Needs.LIMITS)
def must_from_json(context: Context, text: str) -> object:
    """Parse JSON, or fail with Go's error."""
    _check_size(context, text)
    try:
        value: object = _DECODER.decode(valid(text))
    except _TooLargeError as too_large:
        raise FunctionError(find_syntax_error(to_bytes(text)) or str(too_large)) from None
    except ValueError:
        raise FunctionError(find_syntax_error(to_bytes(text)) or "invalid JSON") from None
    return _replace_surrogates(value) if _SURROGATE_ESCAPE.search(text) else value


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _TooLargeError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_reject_constant)


def _check_size(context: Context, text: str) -> None:
    """Check the limits by the structural characters, before a value is built."""
    items = text.count("[") + text.count("{") + text.count(",")
    context.limits.check_items(items)
    context.charge(len(text) + items * _ITEM_BYTES)
    deepest = context.limits.value_depth
    if not exceeds_depth(text, deepest):
        return
    if exceeds_depth(text, _GO_DEPTH):
        raise FunctionError("invalid character '[' exceeded max depth")
    raise LimitError(f"JSON nested deeper than the limit of {deepest}")


def _replace_surrogates(value: object) -> object:
    """Replace each escaped lone surrogate with U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {
            _SURROGATE.sub(REPLACEMENT, key): _replace_surrogates(item)
            for key, item in value.items()
        }
    return value
