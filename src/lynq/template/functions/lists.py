"""Lists: building them, and taking parts. Any slice will do, whatever its items are.

Each function and its `must` form fail with the same words, since text/template turns a panic into
an error: they are one.
"""

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.casts import to_int
from lynq.template.functions.equality import Collection, is_among
from lynq.template.functions.signature import Needs, function
from lynq.template.values import NilList, kind_of

_GROW = "func(interface{}, interface{}) []interface{}"
_MUST_GROW = "func(interface{}, interface{}) ([]interface{}, error)"
_SIFT = "func(interface{}, ...interface{}) []interface{}"
_MUST_SIFT = "func(interface{}, ...interface{}) ([]interface{}, error)"

_NIL_TYPE = "runtime error: invalid memory address or nil pointer dereference"
_OUT_OF_BOUNDS = "reflect.Value.Slice: slice index out of bounds"
_BAD_LENGTH = "runtime error: makeslice: len out of range"


@function("list", "func(...interface{}) []interface{}")
@function("tuple", "func(...interface{}) []interface{}")
def make_list(*values: object) -> list[object]:
    """Make a list."""
    return list(values)


@function("first", "func(interface{}) interface{}")
@function("mustFirst", "func(interface{}) (interface{}, error)")
def first(value: object) -> object:
    """Give the first item, or nil."""
    items = items_of(value, "Cannot find first on type {}")
    return items[0] if items else None


@function("last", "func(interface{}) interface{}")
@function("mustLast", "func(interface{}) (interface{}, error)")
def last(value: object) -> object:
    """Give the last item, or nil."""
    items = items_of(value, "Cannot find last on type {}")
    return items[-1] if items else None


@function("rest", "func(interface{}) []interface{}")
@function("mustRest", "func(interface{}) ([]interface{}, error)")
def rest(value: object) -> list[object] | None:
    """Give all but the first item; of an empty list, a nil slice."""
    items = items_of(value, "Cannot find rest on type {}")
    return list(items[1:]) if items else None


@function("initial", "func(interface{}) []interface{}")
@function("mustInitial", "func(interface{}) ([]interface{}, error)")
def initial(value: object) -> list[object] | None:
    """Give all but the last item; of an empty list, a nil slice."""
    items = items_of(value, "Cannot find initial on type {}")
    return list(items[:-1]) if items else None


@function("append", _GROW, needs=Needs.LIMITS)
@function("push", _GROW, needs=Needs.LIMITS)
@function("mustAppend", _MUST_GROW, needs=Needs.LIMITS)
@function("mustPush", _MUST_GROW, needs=Needs.LIMITS)
def append(context: Context, value: object, item: object) -> list[object]:
    """Give a new list with one more item at its end."""
    items = items_of(value, "Cannot push on type {}")
    context.limits.check_items(len(items) + 1)
    return [*items, item]


@function("prepend", _GROW, needs=Needs.LIMITS)
@function("mustPrepend", _MUST_GROW, needs=Needs.LIMITS)
def prepend(context: Context, value: object, item: object) -> list[object]:
    """Give a new list with one more item at its start."""
    items = items_of(value, "Cannot prepend on type {}")
    context.limits.check_items(len(items) + 1)
    return [item, *items]


@function("concat", "func(...interface{}) interface{}", needs=Needs.LIMITS)
def concat(context: Context, *values: object) -> list[object]:
    """Give one list with the items of all; of none, a nil slice."""
    made: list[object] = []
    for value in values:
        items = items_of(value, "Cannot concat type {} as list")
        context.limits.check_items(len(made) + len(items))
        made += items
    return made or NilList()


@function("reverse", "func(interface{}) []interface{}")
@function("mustReverse", "func(interface{}) ([]interface{}, error)")
def reverse(value: object) -> list[object]:
    """Give the items from last to first."""
    return list(reversed(items_of(value, "Cannot find reverse on type {}")))


@function("compact", "func(interface{}) []interface{}")
@function("mustCompact", "func(interface{}) ([]interface{}, error)")
def compact(value: object) -> list[object]:
    """Give the items that are not empty."""
    return [item for item in items_of(value, "Cannot compact on type {}") if item]


@function("uniq", "func(interface{}) []interface{}", needs=Needs.LIMITS)
@function("mustUniq", "func(interface{}) ([]interface{}, error)", needs=Needs.LIMITS)
def uniq(context: Context, value: object) -> list[object]:
    """Give each item once, where it comes first."""
    known = Collection(context)
    made: list[object] = []
    for item in items_of(value, "Cannot find uniq on type {}"):
        if item not in known:
            known.add(item)
            made.append(item)
    return made


@function("without", _SIFT, needs=Needs.LIMITS)
@function("mustWithout", _MUST_SIFT, needs=Needs.LIMITS)
def without(context: Context, value: object, *unwanted: object) -> list[object]:
    """Give the items that are equal to none of the others."""
    refused = Collection(context, unwanted)
    items = items_of(value, "Cannot find without on type {}")
    return [item for item in items if item not in refused]


@function("has", "func(interface{}, interface{}) bool", needs=Needs.LIMITS)
@function("mustHas", "func(interface{}, interface{}) (bool, error)", needs=Needs.LIMITS)
def has(context: Context, needle: object, value: object) -> bool:
    """Tell whether an item is equal to the needle; nil has none."""
    if value is None:
        return False
    items = items_of(value, "Cannot find has on type {}")
    return is_among(context, needle, items)


@function("slice", "func(interface{}, ...interface{}) interface{}")
@function("mustSlice", "func(interface{}, ...interface{}) (interface{}, error)")
def part(value: object, *indices: object) -> object:
    """Give the items from one index to before another; of an empty list, nil."""
    items = items_of(value, "list should be type of slice or array but {}")
    if not items:
        return None
    start = to_int(indices[0]) if indices else 0
    end = to_int(indices[1]) if len(indices) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise FunctionError(_OUT_OF_BOUNDS)
    return type(items)(items[start:end])


@function("chunk", "func(int, interface{}) [][]interface{}")
@function("mustChunk", "func(int, interface{}) ([][]interface{}, error)")
def chunk(size: int, value: object) -> list[list[object]]:
    """Give lists of `size` items each; the last has what is left."""
    items = items_of(value, "Cannot chunk type {}")
    if size <= 0:
        return _odd_chunks(size, items)
    return [list(items[at : at + size]) for at in range(0, len(items), size)]


def items_of(value: object, complaint: str) -> list[object]:
    """Give a slice's items, or fail with the function's own complaint about another kind."""
    if isinstance(value, list):
        return value
    if value is None:
        raise FunctionError(_NIL_TYPE)
    raise FunctionError(complaint.format(kind_of(value)))


def _odd_chunks(size: int, items: list[object]) -> list[list[object]]:
    # What Go's formulas for the number and the length of chunks make of such a size.
    count = (len(items) - 1) // size + 1 if size else -1
    if count == 0:
        return []
    if count == 1 and len(items) % -size:
        return [list(items)]
    raise FunctionError(_BAD_LENGTH)
