"""Conversions to numbers and booleans, after Go's package cast: what is no number is 0.

Types are compared by name: a named type, such as time.Duration, is not the int64 below it. `int`,
`float` and `bool` are Lynq's own: their result gives a whole field its type.
"""

import re
from collections.abc import Iterable, Iterator

from lynq.template.environment import Context
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import show
from lynq.template.values import TypedBool, TypedFloat, TypedInt, type_name, wrap_int64

_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_INTEGER_TYPES = frozenset(
    {"int", "int32", "int64", "uint", "uint8", "uint32", "uint64", "bool"}
    | {"time.Month", "time.Weekday"}
)

_DIGITS = "[0-9](?:_?[0-9])*"
_HEX_DIGITS = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_INTEGER_LITERAL = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>(?:_?[0-9a-fA-F])+)|0[bB](?P<binary>(?:_?[01])+)"
    r"|(?:0[oO]?(?P<octal>(?:_?[0-7])+))|(?P<decimal>0|[1-9](?:_?[0-9])*))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_DECIMAL_INTEGER = re.compile("[+-]?[0-9]+")
_OCTAL_INTEGER = re.compile("[+-]?[0-7]+")
_DECIMAL_FLOAT = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEX_FLOAT = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_SPECIAL_FLOAT = re.compile("[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)
_ZERO_FRACTION = re.compile(r"\.0+\.*\Z")
# Go parses longer literals too. Parsing takes time, and no real number is that long.
_LONGEST = 1_000
_STRETCH = 128


@function("int64", "func(interface{}) int64")
def to_int(value: object) -> int:
    """Convert as cast.ToInt64 does, and as cast.ToInt does on 64-bit machines."""
    if isinstance(value, str):
        return _parse_any_base(_ZERO_FRACTION.sub("", value)) if len(value) <= _LONGEST else 0
    if isinstance(value, float):
        return truncate(value)
    if isinstance(value, int) and type_name(value) in _INTEGER_TYPES:
        return wrap_int64(value)
    return 0


@function("float64", "func(interface{}) float64")
def to_float(value: object) -> float:
    """Convert as cast.ToFloat64 does."""
    if isinstance(value, str):
        number = parse_float(value)
        return number if number is not None else 0.0
    if isinstance(value, float):
        return value
    if isinstance(value, int) and type_name(value) in _INTEGER_TYPES:
        return float(value)
    return 0.0


@function("atoi", "func(string) int")
def atoi(text: str) -> int:
    """Convert as strconv.Atoi does, without its error: out of range is clamped."""
    if not _DECIMAL_INTEGER.fullmatch(text):
        return 0
    return max(_MIN_INT64, min(_read(text, 10), _MAX_INT64))


@function("toDecimal", "func(interface{}) int64", needs=Needs.LIMITS)
def to_decimal(context: Context, value: object) -> int:
    """Parse the value's text as an octal number, such as a file mode."""
    text = show(value, context.limits)
    if not _OCTAL_INTEGER.fullmatch(text):
        return 0
    number = _read(text, 8)
    return number if _fits(number) else 0


def parse_int(text: str) -> int | None:
    """Parse as strconv.Atoi does; None where it returns an error."""
    if not _DECIMAL_INTEGER.fullmatch(text):
        return None
    number = _read(text, 10)
    return number if _fits(number) else None


def parse_float(text: str) -> float | None:
    """Parse as strconv.ParseFloat does; None where it returns an error, such as out of range."""
    if len(text) > _LONGEST:
        return None
    if _DECIMAL_FLOAT.fullmatch(text):
        number = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        number = _parse_hex(text)
    elif _SPECIAL_FLOAT.fullmatch(text):
        return float(text)
    else:
        return None
    return number if abs(number) != float("inf") else None


def to_ints(context: Context, values: Iterable[object]) -> Iterator[int]:
    """Convert the values, checking the deadline: they may be thousands, and each may be long."""
    for number, value in enumerate(values, start=1):
        if number % _STRETCH == 0:
            context.check_deadline()
        yield to_int(value)


def to_floats(context: Context, values: Iterable[object]) -> Iterator[float]:
    """Convert the values, checking the deadline: they may be thousands, and each may be long."""
    for number, value in enumerate(values, start=1):
        if number % _STRETCH == 0:
            context.check_deadline()
        yield to_float(value)


def truncate(number: float) -> int:
    """Convert a float64 to an int64 as x86 does: out of range is the smallest int64."""
    return int(number) if _MIN_INT64 <= number <= _MAX_INT64 else _MIN_INT64


def _parse_any_base(text: str) -> int:
    match = _INTEGER_LITERAL.fullmatch(text)
    if not match:
        return 0
    base = match.lastgroup or ""
    number = _read(match["sign"] + match[base].replace("_", ""), _BASES[base])
    return number if _fits(number) else 0


def _read(text: str, base: int) -> int:
    # A number with more digits than an int64 is out of range; parsing it would take time.
    sign = text[0] if text[0] in "+-" else ""
    digits = text[len(sign) :].lstrip("0")
    return int(sign + digits[:65], base) if digits else 0


def _fits(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


def _parse_hex(text: str) -> float:
    try:
        return float.fromhex(text.replace("_", ""))
    except OverflowError:
        return float("inf")


_TRUE_WORDS = frozenset({"true", "1", "yes", "on", "t", "y"})
_SIGNED = frozenset({"int", "int32", "int64"})


@function("int", "func(interface{}) int")
def as_int(value: object) -> TypedInt:
    """Convert to an int: a fraction is truncated, and a value that is not a number is 0."""
    if isinstance(value, str):
        return TypedInt(_int_of_text(value))
    if isinstance(value, bool):
        return TypedInt(value)
    number = _number(value)
    return TypedInt(truncate(number) if isinstance(number, float) else number)


@function("float", "func(interface{}) float64")
def as_float(value: object) -> TypedFloat:
    """Convert to a float64: a value that is not a number is 0."""
    if isinstance(value, str):
        return TypedFloat(to_float(value))
    if isinstance(value, bool):
        return TypedFloat(value)
    return TypedFloat(_number(value))


@function("bool", "func(interface{}) bool")
def as_bool(value: object) -> TypedBool:
    """Convert to a bool: a few words and every number but 0 are true."""
    if isinstance(value, str):
        return TypedBool(value.lower() in _TRUE_WORDS)
    if isinstance(value, bool):
        return TypedBool(value)
    return TypedBool(_number(value) != 0)


def _int_of_text(text: str) -> int:
    whole = parse_int(text)
    return whole if whole is not None else truncate(to_float(text))


def _number(value: object) -> int | float:
    if isinstance(value, float):
        return value
    return value if isinstance(value, int) and type_name(value) in _SIGNED else 0
