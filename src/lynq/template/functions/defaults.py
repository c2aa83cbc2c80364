"""Defaults for empty values, `fail` and `hello`, and the names of types and kinds.

Empty is false in Python too, for every Go type: zero, false, nil, and a collection without items.
"""

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.comparison import deep_equal
from lynq.template.functions.signature import Needs, function
from lynq.template.values import kind_of as kind
from lynq.template.values import type_name


@function("default", "func(interface{}, ...interface{}) interface{}", passes=True)
def default(fallback: object, *value: object) -> object:
    """Return the value, or the fallback if it is missing or empty."""
    return value[0] if value and value[0] else fallback


@function("empty", "func(interface{}) bool")
def empty(value: object) -> bool:
    """Report whether a value is empty."""
    return not value


@function("coalesce", "func(...interface{}) interface{}", passes=True)
def coalesce(*values: object) -> object:
    """Return the first value that is not empty, or nil."""
    return next((value for value in values if value), None)


@function("all", "func(...interface{}) bool")
def all_set(*values: object) -> bool:
    """Report whether no value is empty."""
    return all(values)


@function("any", "func(...interface{}) bool")
def any_set(*values: object) -> bool:
    """Report whether any value is not empty."""
    return any(values)


@function("ternary", "func(interface{}, interface{}, bool) interface{}", passes=True)
def ternary(if_true: object, if_false: object, condition: bool) -> object:  # noqa: FBT001 - as in Go
    """Return one of two values by a condition."""
    return if_true if condition else if_false


@function("fail", "func(string) (string, error)")
def fail(message: str) -> str:
    """Fail the render with a message."""
    raise FunctionError(message)


@function("hello", "func() string")
def hello() -> str:
    """Return a greeting."""
    return "Hello!"


@function("kindOf", "func(interface{}) string")
def kind_of(value: object) -> str:
    """Return the kind, such as `slice`."""
    return str(kind(value))


@function("kindIs", "func(string, interface{}) bool")
def kind_is(name: str, value: object) -> bool:
    """Report whether the value is of this kind."""
    return kind(value) == name


@function("typeOf", "func(interface{}) string")
def type_of(value: object) -> str:
    """Return the type, such as `[]interface {}`."""
    return type_name(value)


@function("typeIs", "func(string, interface{}) bool")
def type_is(name: str, value: object) -> bool:
    """Report whether the value is of this type."""
    return type_name(value) == name


@function("typeIsLike", "func(string, interface{}) bool")
def type_is_like(name: str, value: object) -> bool:
    """Report whether the value is of this type, or a pointer to it."""
    return type_name(value) in (name, "*" + name)


@function("deepEqual", "func(interface{}, interface{}) bool", needs=Needs.LIMITS)
def deep_equals(context: Context, left: object, right: object) -> bool:
    """Report whether two values are deeply equal, types included."""
    return deep_equal(context, left, right)
