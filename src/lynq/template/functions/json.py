"""toJson and its relatives: JSON as Go's encoding/json writes it."""

import math
from typing import Protocol, runtime_checkable

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.floats import format_float
from lynq.template.gofmt.gojson import go_number
from lynq.template.values import Object, byte_len, is_nil, sorted_keys

_RAW = (
    {chr(code): f"\\u{code:04x}" for code in (*range(0x20), 0x2028, 0x2029)}
    | {chr(code): "\\ufffd" for code in range(0xD800, 0xE000)}
    | {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)
_HTML = _RAW | {char: f"\\u{ord(char):04x}" for char in "<>&"}


@runtime_checkable
class Marshaler(Protocol):
    """An object that stands in JSON as a text of its own, such as a time."""

    def json(self) -> str:
        """Give that text."""


@function("toJson", "func(interface{}) string", needs=Needs.LIMITS)
def to_json(context: Context, value: object) -> str:
    """Write a value on one line; one that JSON cannot hold gives nothing."""
    try:
        return must_to_json(context, value)
    except FunctionError:
        return ""


@function("mustToJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def must_to_json(context: Context, value: object) -> str:
    """Write a value on one line, with `<`, `>` and `&` escaped."""
    return Writer(context).text(value)


@function("toPrettyJson", "func(interface{}) string", needs=Needs.LIMITS)
def to_pretty_json(context: Context, value: object) -> str:
    """Write a value indented; one that JSON cannot hold gives nothing."""
    try:
        return must_to_pretty_json(context, value)
    except FunctionError:
        return ""


@function("mustToPrettyJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def must_to_pretty_json(context: Context, value: object) -> str:
    """Write a value with two spaces for each level."""
    return Writer(context, indent="  ").text(value)


@function("toRawJson", "func(interface{}) string", needs=Needs.LIMITS)
@function("mustToRawJson", "func(interface{}) (string, error)", needs=Needs.LIMITS)
def to_raw_json(context: Context, value: object) -> str:
    """Write a value on one line, with `<`, `>` and `&` as they are."""
    return Writer(context, html=False).text(value)


class Writer:
    """Collects JSON, and refuses to collect more than a string may hold."""

    def __init__(self, context: Context, *, indent: str = "", html: bool = True) -> None:
        self._context = context
        self._limits = context.limits
        self._indent = indent
        self._special = _HTML if html else _RAW
        self._out: list[str] = []
        self._size = 0

    def text(self, value: object) -> str:
        """Write one value and give the whole text."""
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
        # A table of all that occurs: a character that is in none is slow to translate.
        return f'"{text.translate({ord(char): self._special.get(char, char) for char in chars})}"'


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise FunctionError(f"json: unsupported value: {format_float(number)}")
    return go_number(number)
