"""Lists of strings: joining, splitting and sorting."""

from collections.abc import Iterable

from lynq.template.context import Context
from lynq.template.functions.runes import whole
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printing import show
from lynq.template.values import Strings, byte_len, from_bytes, to_bytes


@function("toStrings", "func(interface{}) []string", needs=Needs.LIMITS)
def to_strings(context: Context, value: object) -> list[str]:
    """Give the text of every item that is not nil; what is no list is a list of itself."""
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
    # A []string is sorted where it lies, as in Go: the template sees its own list change.
    texts.sort(key=to_bytes)
    return texts


@function("splitList", "func(string, string) []string", needs=Needs.LIMITS)
def split_list(context: Context, separator: str, text: str) -> list[str]:
    """Split at every separator; an empty one splits into runes."""
    return _split(context, separator, text, -1)


@function("split", "func(string, string) map[string]string", needs=Needs.LIMITS)
def split(context: Context, separator: str, text: str) -> dict[str, str]:
    """Split into a map with the keys `_0`, `_1` and so on."""
    return _numbered(_split(context, separator, text, -1))


@function("splitn", "func(string, int, string) map[string]string", needs=Needs.LIMITS)
def splitn(context: Context, separator: str, count: int, text: str) -> dict[str, str]:
    """Split into at most `count` parts; negative means all."""
    return _numbered(_split(context, separator, text, count))


def texts_of(context: Context, values: Iterable[object]) -> list[str]:
    """Print every value that is not nil; all that is printed together is not too long."""
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
    """Join texts, as long as the whole is not too long."""
    taken: list[str] = []
    size, between = 0, byte_len(separator)
    for text in texts:
        size += byte_len(text) + (between if taken else 0)
        context.limits.check_text(size)
        taken.append(text)
    return whole(separator.join(taken))


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
    return [from_bytes(each) for each in data.split(part, count - 1 if count > 0 else -1)]


def _split_runes(context: Context, text: str, count: int) -> list[str]:
    if count < 0 or count > len(text):
        count = len(text)
    context.limits.check_items(count)
    return [*text[: count - 1], text[count - 1 :]] if count else []
