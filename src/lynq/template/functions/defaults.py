"""Defaults: what counts as empty, and what stands in for it.

Empty is what is false to Python too, for every Go type: zero, false, nil, and what has no items.
"""

from lynq.template.functions.signature import function


@function("default", "func(interface{}, ...interface{}) interface{}", passes=True)
def default(fallback: object, *given: object) -> object:
    """Give the value, or the fallback if there is none or it is empty."""
    return given[0] if given and given[0] else fallback


@function("empty", "func(interface{}) bool")
def empty(value: object) -> bool:
    """Tell whether a value is empty."""
    return not value


@function("coalesce", "func(...interface{}) interface{}", passes=True)
def coalesce(*values: object) -> object:
    """Give the first value that is not empty, or nil."""
    return next((value for value in values if value), None)


@function("all", "func(...interface{}) bool")
def all_set(*values: object) -> bool:
    """Tell whether none is empty."""
    return all(values)


@function("any", "func(...interface{}) bool")
def any_set(*values: object) -> bool:
    """Tell whether one is not empty."""
    return any(values)


@function("ternary", "func(interface{}, interface{}, bool) interface{}", passes=True)
def ternary(if_true: object, if_false: object, condition: bool) -> object:  # noqa: FBT001 - as in Go
    """Choose by a condition."""
    return if_true if condition else if_false
