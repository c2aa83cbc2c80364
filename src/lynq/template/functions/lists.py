"""Lists: building, slicing, joining, splitting and sorting, for slices of any item type.

A function and its `must` form are one: text/template turns a panic into the same error.
"""

from collections.abc import Iterable

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.casts import to_int
from lynq.template.functions.comparison import Collection, is_among
from lynq.template.functions.runes import whole
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import show
from lynq.template.values import NilList, Strings, byte_len, from_bytes, kind_of, to_bytes

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
    """Create a list."""
    return list(values)


@function("first", "func(interface{}) interface{}")
@function("mustFirst", "func(interface{}) (interface{}, error)")
def first(value: object) -> object:
    """Return the first item, or nil."""
    items = items_of(value, "Cannot find first on type {}")
    return items[0] if items else None


@function("last", "func(interface{}) interface{}")
@function("mustLast", "func(interface{}) (interface{}, error)")
def last(value: object) -> object:
    """Return the last item, or nil."""
    items = items_of(value, "Cannot find last on type {}")
    return items[-1] if items else None


@function("rest", "func(interface{}) []interface{}")
@function("mustRest", "func(interface{}) ([]interface{}, error)")
def rest(value: object) -> list[object] | None:
    """Return all items but the first; for an empty list, a nil slice."""
    items = items_of(value, "Cannot find rest on type {}")
    return list(items[1:]) if items else None


@function("initial", "func(interface{}) []interface{}")
@function("mustInitial", "func(interface{}) ([]interface{}, error)")
def initial(value: object) -> list[object] | None:
    """Return all items but the last; for an empty list, a nil slice."""
    items = items_of(value, "Cannot find initial on type {}")
    return list(items[:-1]) if items else None


@function("append", _GROW, needs=Needs.LIMITS)
@function("push", _GROW, needs=Needs.LIMITS)
@function("mustAppend", _MUST_GROW, needs=Needs.LIMITS)
@function("mustPush", _MUST_GROW, needs=Needs.LIMITS)
def append(context: Context, value: object, item: object) -> list[object]:
    """Return a new list with one more item at its end."""
    items = items_of(value, "Cannot push on type {}")
    context.limits.check_items(len(items) + 1)
    return [*items, item]


@function("prepend", _GROW, needs=Needs.LIMITS)
@function("mustPrepend", _MUST_GROW, needs=Needs.LIMITS)
def prepend(context: Context, value: object, item: object) -> list[object]:
    """Return a new list with one more item at its start."""
    items = items_of(value, "Cannot prepend on type {}")
    context.limits.check_items(len(items) + 1)
    return [item, *items]


@function("concat", "func(...interface{}) interface{}", needs=Needs.LIMITS)
def concat(context: Context, *values: object) -> list[object]:
    """Concatenate lists; without arguments, return a nil slice."""
    items_so_far: list[object] = []
    for value in values:
        items = items_of(value, "Cannot concat type {} as list")
        context.limits.check_items(len(items_so_far) + len(items))
        items_so_far += items
    return items_so_far or NilList()


@function("reverse", "func(interface{}) []interface{}")
@function("mustReverse", "func(interface{}) ([]interface{}, error)")
def reverse(value: object) -> list[object]:
    """Return the items in reverse order."""
    return list(reversed(items_of(value, "Cannot find reverse on type {}")))


@function("compact", "func(interface{}) []interface{}")
@function("mustCompact", "func(interface{}) ([]interface{}, error)")
def compact(value: object) -> list[object]:
    """Return the items that are not empty."""
    return [item for item in items_of(value, "Cannot compact on type {}") if item]


@function("uniq", "func(interface{}) []interface{}", needs=Needs.LIMITS)
@function("mustUniq", "func(interface{}) ([]interface{}, error)", needs=Needs.LIMITS)
def uniq(context: Context, value: object) -> list[object]:
    """Return the items without duplicates, in the order of their first occurrence."""
    seen = Collection(context)
    unique: list[object] = []
    for item in items_of(value, "Cannot find uniq on type {}"):
        if item not in seen:
            seen.add(item)
            unique.append(item)
    return unique


@function("without", _SIFT, needs=Needs.LIMITS)
@function("mustWithout", _MUST_SIFT, needs=Needs.LIMITS)
def without(context: Context, value: object, *unwanted: object) -> list[object]:
    """Return the items that are equal to none of the arguments."""
    refused = Collection(context, unwanted)
    items = items_of(value, "Cannot find without on type {}")
    return [item for item in items if item not in refused]


@function("has", "func(interface{}, interface{}) bool", needs=Needs.LIMITS)
@function("mustHas", "func(interface{}, interface{}) (bool, error)", needs=Needs.LIMITS)
def has(context: Context, needle: object, value: object) -> bool:
    """Report whether an item is equal to the needle; nil has no items."""
    if value is None:
        return False
    items = items_of(value, "Cannot find has on type {}")
    return is_among(context, needle, items)


@function("slice", "func(interface{}, ...interface{}) interface{}")
@function("mustSlice", "func(interface{}, ...interface{}) (interface{}, error)")
def part(value: object, *indices: object) -> object:
    """Return the items from one index up to, but not including, another; for an empty list, nil."""
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
    """Split into lists of `size` items; the last one has the remaining items."""
    items = items_of(value, "Cannot chunk type {}")
    if size <= 0:
        return _nonpositive_chunks(size, items)
    return [list(items[at : at + size]) for at in range(0, len(items), size)]


def items_of(value: object, complaint: str) -> list[object]:
    """Return a slice's items, or fail with the function's error for other kinds."""
    if isinstance(value, list):
        return value
    if value is None:
        raise FunctionError(_NIL_TYPE)
    raise FunctionError(complaint.format(kind_of(value)))


def _nonpositive_chunks(size: int, items: list[object]) -> list[list[object]]:
    # The results of Go's formulas for the number and the length of chunks of such a size.
    count = (len(items) - 1) // size + 1 if size else -1
    if count == 0:
        return []
    if count == 1 and len(items) % -size:
        return [list(items)]
    raise FunctionError(_BAD_LENGTH)


@function("toStrings", "func(interface{}) []string", needs=Needs.LIMITS)
def to_strings(context: Context, value: object) -> list[str]:
    """Return the text of every item that is not nil; any other value is a list of one item."""
    if isinstance(value, Strings):
        return value
    return texts_of(context, value if isinstance(value, list) else [value])


@function("join", "func(string, interface{}) string", needs=Needs.LIMITS)
def join(context: Context, separator: str, value: object) -> str:
    """Join the texts of a list."""
    return join_texts(context, separator, to_strings(context, value))


@function("sortAlpha", "func(interface{}) []string", needs=Needs.LIMITS)
def sort_alpha(context: Context, value: object) -> list[str]:
    """Sort the texts of a list by their bytes."""
    texts = to_strings(context, value) if isinstance(value, list) else [show(value, context.limits)]
    # A []string is sorted in place, as in Go: the template's own list changes.
    texts.sort(key=to_bytes)
    return texts


@function("splitList", "func(string, string) []string", needs=Needs.LIMITS)
def split_list(context: Context, separator: str, text: str) -> list[str]:
    """Split at every separator; an empty separator splits into runes."""
    return _split(context, separator, text, -1)


@function("split", "func(string, string) map[string]string", needs=Needs.LIMITS)
def split(context: Context, separator: str, text: str) -> dict[str, str]:
    """Split into a map with the keys `_0`, `_1` and so on."""
    return _numbered(_split(context, separator, text, -1))


@function("splitn", "func(string, int, string) map[string]string", needs=Needs.LIMITS)
def splitn(context: Context, separator: str, count: int, text: str) -> dict[str, str]:
    """Split into at most `count` parts; a negative count has no limit."""
    return _numbered(_split(context, separator, text, count))


def texts_of(context: Context, values: Iterable[object]) -> list[str]:
    """Print every value that is not nil; their total size is limited."""
    texts: list[str] = []
    size = 0
    for value in values:
        if isinstance(value, str):
            texts.append(value)
        elif value is not None:
            texts.append(show(value, context.limits))
            size += len(texts[-1])
            context.limits.check_text(size)
            context.check_deadline()
    return texts


def join_texts(context: Context, separator: str, texts: Iterable[str]) -> str:
    """Join texts, up to the limit on the size of a text."""
    joined: list[str] = []
    size, between = 0, byte_len(separator)
    for text in texts:
        size += byte_len(text) + (between if joined else 0)
        context.limits.check_text(size)
        joined.append(text)
    return whole(separator.join(joined))


def _numbered(parts: list[str]) -> dict[str, str]:
    return {f"_{number}": part for number, part in enumerate(parts)}


def _split(context: Context, separator: str, text: str, count: int) -> list[str]:
    if count == 0:
        return []
    if not separator:
        return _split_runes(context, text, count)
    data, part = to_bytes(text), to_bytes(separator)
    parts = data.count(part) + 1
    context.limits.check_items(parts if count < 0 else min(parts, count))
    return [from_bytes(field) for field in data.split(part, count - 1 if count > 0 else -1)]


def _split_runes(context: Context, text: str, count: int) -> list[str]:
    if count < 0 or count > len(text):
        count = len(text)
    context.limits.check_items(count)
    return [*text[: count - 1], text[count - 1 :]] if count else []
