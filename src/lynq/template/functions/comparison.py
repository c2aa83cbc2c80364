"""text/template's comparisons: eq, ne, lt, le, gt, ge, and the errors between types."""

from lynq.template.errors import FunctionError
from lynq.template.functions.signature import function
from lynq.template.gofmt.printf import sprintf
from lynq.template.gofmt.printing import show
from lynq.template.values import (
    SIGNED_KINDS,
    UNSIGNED_KINDS,
    Kind,
    is_nil,
    kind_of,
    to_bytes,
    type_name,
)

_BASIC = {
    Kind.BOOL: "bool",
    Kind.STRING: "string",
    Kind.FLOAT64: "float",
    **dict.fromkeys(SIGNED_KINDS, "int"),
    **dict.fromkeys(UNSIGNED_KINDS, "uint"),
}
_WHOLE = frozenset({"int", "uint"})
_VALUE = "reflect.Value"


@function("eq", f"func({_VALUE}, ...{_VALUE}) (bool, error)")
def eq(first: object, *others: object) -> bool:
    """Tell whether the first equals any of the others."""
    if not others:
        raise FunctionError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


@function("ne", f"func({_VALUE}, {_VALUE}) (bool, error)")
def ne(first: object, second: object) -> bool:
    """Tell whether two values differ."""
    return not _equal(first, second)


@function("lt", f"func({_VALUE}, {_VALUE}) (bool, error)")
def lt(first: object, second: object) -> bool:
    """Tell whether the first is smaller."""
    return _less(first, second)


@function("le", f"func({_VALUE}, {_VALUE}) (bool, error)")
def le(first: object, second: object) -> bool:
    """Tell whether the first is smaller, or equal."""
    return _less(first, second) or _equal(first, second)


@function("gt", f"func({_VALUE}, {_VALUE}) (bool, error)")
def gt(first: object, second: object) -> bool:
    """Tell whether the first is neither smaller nor equal: so it is for NaN, as in Go."""
    return not le(first, second)


@function("ge", f"func({_VALUE}, {_VALUE}) (bool, error)")
def ge(first: object, second: object) -> bool:
    """Tell whether the first is not smaller."""
    return not _less(first, second)


def _equal(first: object, second: object) -> bool:
    if type(first) is str and type(second) is str:
        return first == second
    basic = _BASIC.get(kind_of(first))
    other = _BASIC.get(kind_of(second))
    if basic is not None and (basic == other or {basic, other} == _WHOLE):
        return first == second
    if basic != other:
        if first is not None and second is not None:
            raise _incompatible(first, second)
        return False
    return _equal_compound(first, second)


def _equal_compound(first: object, second: object) -> bool:
    """Compare nil, lists, maps and structs: only nil and structs can be equal."""
    if not _comparable(first, second):
        first_text, second_text = sprintf("%s", first), show(second)
        raise FunctionError(
            f"non-comparable types {first_text}: {type_name(first)}, "
            f"{type_name(second)}: {second_text}"
        )
    if is_nil(first) or is_nil(second):
        return is_nil(first) == is_nil(second)
    if kind_of(second) in (Kind.SLICE, Kind.MAP):
        raise FunctionError(f"non-comparable type {sprintf('%s', second)}: {type_name(second)}")
    return type_name(first) == type_name(second) and first == second


def _comparable(first: object, second: object) -> bool:
    return kind_of(first) == kind_of(second) or first is None or second is None


def _less(first: object, second: object) -> bool:
    basic = _BASIC.get(kind_of(first))
    other = _BASIC.get(kind_of(second))
    if basic is None or other is None:
        raise FunctionError("invalid type for comparison")
    if basic != other and {basic, other} != _WHOLE:
        raise _incompatible(first, second)
    if isinstance(first, str) and isinstance(second, str):
        return _less_text(first, second)
    if basic != "bool" and isinstance(first, int | float) and isinstance(second, int | float):
        return first < second
    raise FunctionError("invalid type for comparison")


def _less_text(first: str, second: str) -> bool:
    if first.isascii() and second.isascii():
        return first < second
    return to_bytes(first) < to_bytes(second)


def _incompatible(first: object, second: object) -> FunctionError:
    return FunctionError(
        f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
    )
