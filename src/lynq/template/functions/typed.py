"""Ours: `int`, `float` and `bool`, whose results make a number or a boolean of a whole field."""

from lynq.template.functions.casts import parse_int, to_float, truncate
from lynq.template.functions.signature import function
from lynq.template.values import TypedBool, TypedFloat, TypedInt, type_name

_TRUE_WORDS = frozenset({"true", "1", "yes", "on", "t", "y"})
_SIGNED = frozenset({"int", "int32", "int64"})


@function("int", "func(interface{}) int")
def as_int(value: object) -> TypedInt:
    """Give an int: a fraction is cut off, what is no number is 0."""
    if isinstance(value, str):
        return TypedInt(_int_of_text(value))
    if isinstance(value, bool):
        return TypedInt(value)
    number = _number(value)
    return TypedInt(truncate(number) if isinstance(number, float) else number)


@function("float", "func(interface{}) float64")
def as_float(value: object) -> TypedFloat:
    """Give a float64: what is no number is 0."""
    if isinstance(value, str):
        return TypedFloat(to_float(value))
    return TypedFloat(_number(value))


@function("bool", "func(interface{}) bool")
def as_bool(value: object) -> TypedBool:
    """Give a bool: a few words and every number but 0 are true."""
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
