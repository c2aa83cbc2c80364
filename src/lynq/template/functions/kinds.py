"""Types and kinds of values, by Go's names."""

from lynq.template.context import Context
from lynq.template.functions.equality import deep_equal
from lynq.template.functions.signature import Needs, function
from lynq.template.values import kind_of as kind
from lynq.template.values import type_name


@function("kindOf", "func(interface{}) string")
def kind_of(value: object) -> str:
    """Give the kind, such as `slice`."""
    return str(kind(value))


@function("kindIs", "func(string, interface{}) bool")
def kind_is(name: str, value: object) -> bool:
    """Tell whether the value is of this kind."""
    return kind(value) == name


@function("typeOf", "func(interface{}) string")
def type_of(value: object) -> str:
    """Give the type, such as `[]interface {}`."""
    return type_name(value)


@function("typeIs", "func(string, interface{}) bool")
def type_is(name: str, value: object) -> bool:
    """Tell whether the value is of this type."""
    return type_name(value) == name


@function("typeIsLike", "func(string, interface{}) bool")
def type_is_like(name: str, value: object) -> bool:
    """Tell whether the value is of this type, or a pointer to it."""
    return type_name(value) in (name, "*" + name)


@function("deepEqual", "func(interface{}, interface{}) bool", needs=Needs.LIMITS)
def deep_equals(context: Context, left: object, right: object) -> bool:
    """Tell whether two values are equal to their depths, types included."""
    return deep_equal(context, left, right)
