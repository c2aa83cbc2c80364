"""Strings: trimming, searching, slicing, replacing, letter case and quoting, by bytes as in Go."""

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.lists import join_texts, texts_of
from lynq.template.functions.runes import (
    SPACES,
    is_lower,
    is_space,
    is_title,
    is_upper,
    paced,
    to_lower,
    to_title,
    to_upper,
    valid,
    whole,
)
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import show
from lynq.template.gofmt.quoting import quote as go_quote
from lynq.template.values import byte_len, from_bytes, to_bytes

_LABEL_BYTES = 63


@function("trim", "func(string) string")
def trim(text: str) -> str:
    """Remove leading and trailing white space."""
    return text.strip(SPACES)


@function("trimAll", "func(string, string) string")
@function("trimall", "func(string, string) string")
def trim_all(cutset: str, text: str) -> str:
    """Remove the leading and trailing characters that are in the cutset."""
    if cutset.isascii() and text.isascii():
        return text.strip(cutset) if cutset else text
    return _trim_runes(cutset, text)


@function("trimSuffix", "func(string, string) string")
def trim_suffix(suffix: str, text: str) -> str:
    """Remove the suffix once."""
    if not has_suffix(suffix, text):
        return text
    return _cut(text, 0, byte_len(text) - byte_len(suffix))


@function("trimPrefix", "func(string, string) string")
def trim_prefix(prefix: str, text: str) -> str:
    """Remove the prefix once."""
    if not has_prefix(prefix, text):
        return text
    return _cut(text, byte_len(prefix), byte_len(text))


@function("contains", "func(string, string) bool")
def contains(part: str, text: str) -> bool:
    """Report whether the text contains the part."""
    if text.isascii():
        return part in text
    return to_bytes(part) in to_bytes(text)


@function("hasPrefix", "func(string, string) bool")
def has_prefix(prefix: str, text: str) -> bool:
    """Report whether the text begins with the prefix."""
    if text.isascii():
        return text.startswith(prefix)
    return to_bytes(text).startswith(to_bytes(prefix))


@function("hasSuffix", "func(string, string) bool")
def has_suffix(suffix: str, text: str) -> bool:
    """Report whether the text ends with the suffix."""
    if text.isascii():
        return text.endswith(suffix)
    return to_bytes(text).endswith(to_bytes(suffix))


@function("repeat", "func(int, string) string", needs=Needs.LIMITS)
def repeat(context: Context, count: int, text: str) -> str:
    """Repeat the text `count` times."""
    if count < 0:
        raise FunctionError("strings: negative Repeat count")
    context.limits.check_text(count * byte_len(text))
    return whole(text * count)


@function("replace", "func(string, string, string) string", needs=Needs.LIMITS)
def replace(context: Context, old: str, new: str, text: str) -> str:
    """Replace every `old` with `new`; an empty `old` matches around every rune."""
    growth = byte_len(new) - byte_len(old)
    if text.isascii() or not old:
        # Python matches the empty string where Go does: before, between and after the runes.
        context.limits.check_text(byte_len(text) + text.count(old) * growth)
        return whole(text.replace(old, new))
    data, part = to_bytes(text), to_bytes(old)
    context.limits.check_text(len(data) + data.count(part) * growth)
    return from_bytes(data.replace(part, to_bytes(new)))


@function("substr", "func(int, int, string) string")
def substr(start: int, end: int, text: str) -> str:
    """Return the bytes from start to end; a negative bound is the text's own."""
    size = byte_len(text)
    if start < 0:
        _check_bound(end, size)
        return _cut(text, 0, end)
    if end < 0 or end > size:
        if start > size:
            raise FunctionError(f"runtime error: slice bounds out of range [{start}:{size}]")
        return _cut(text, start, size)
    if start > end:
        raise FunctionError(f"runtime error: slice bounds out of range [{start}:{end}]")
    return _cut(text, start, end)


@function("trunc", "func(int, string) string")
def trunc(length: int, text: str) -> str:
    """Keep the first `length` bytes, or the last if it is negative."""
    size = byte_len(text)
    if length >= 0:
        return text if size <= length else _cut(text, 0, length)
    return text if size + length <= 0 else _cut(text, size + length, size)


@function("trunc63", "func(string) string")
def trunc63(text: str) -> str:
    """Keep the first 63 bytes, the maximum of a label value or a DNS label."""
    if text.isascii():
        return text[:_LABEL_BYTES]
    return trunc(_LABEL_BYTES, text)


@function("indent", "func(int, string) string", needs=Needs.LIMITS)
def indent(context: Context, spaces: int, text: str) -> str:
    """Indent every line with spaces."""
    if spaces < 0:
        raise FunctionError("strings: negative Repeat count")
    context.limits.check_text(byte_len(text) + spaces * (text.count("\n") + 1))
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


@function("nindent", "func(int, string) string", needs=Needs.LIMITS)
def nindent(context: Context, spaces: int, text: str) -> str:
    """Begin a new line, then indent."""
    return "\n" + indent(context, spaces, text)


@function("plural", "func(string, string, int) string")
def plural(one: str, many: str, count: int) -> str:
    """Return the singular for a count of one, else the plural."""
    return one if count == 1 else many


def _cut(text: str, start: int, end: int) -> str:
    if text.isascii():
        return text[start:end]
    return from_bytes(to_bytes(text)[start:end])


def _check_bound(end: int, size: int) -> None:
    if end < 0:
        raise FunctionError(f"runtime error: slice bounds out of range [:{end}]")
    if end > size:
        raise FunctionError(f"runtime error: slice bounds out of range [:{end}] with length {size}")


def _trim_runes(cutset: str, text: str) -> str:
    # To Go an invalid byte is U+FFFD, both in the cutset and in the text.
    cut_runes = frozenset(valid(cutset))
    runes = valid(text)
    start, end = 0, len(runes)
    while start < end and runes[start] in cut_runes:
        start += 1
    while end > start and runes[end - 1] in cut_runes:
        end -= 1
    return text[start:end]


@function("upper", "func(string) string")
def upper(text: str) -> str:
    """Map every letter to upper case."""
    return text.upper() if text.isascii() else "".join(map(to_upper, valid(text)))


@function("lower", "func(string) string")
def lower(text: str) -> str:
    """Map every letter to lower case."""
    return text.lower() if text.isascii() else "".join(map(to_lower, valid(text)))


@function("title", "func(string) string", needs=Needs.LIMITS)
def title(context: Context, text: str) -> str:
    """Map the first letter of every word to title case, and keep the others."""
    mapped = []
    before = " "
    for char in paced(context, valid(text)):
        mapped.append(to_title(char) if _separates(before) else char)
        before = char
    return "".join(mapped)


@function("untitle", "func(string) string", needs=Needs.LIMITS)
def untitle(context: Context, text: str) -> str:
    """Map the first letter of every word to lower case; words end at white space only."""
    mapped = []
    before = " "
    for char in paced(context, valid(text)):
        mapped.append(to_lower(char) if is_space(before) else char)
        before = char
    return "".join(mapped)


@function("swapcase", "func(string) string", needs=Needs.LIMITS)
def swapcase(context: Context, text: str) -> str:
    """Swap upper and lower case; a word that begins in lower case gets a title letter."""
    mapped = []
    at_start = True
    for char in paced(context, valid(text)):
        if is_upper(char) or is_title(char):
            mapped.append(to_lower(char))
            at_start = False
        elif is_lower(char):
            mapped.append(to_title(char) if at_start else to_upper(char))
            at_start = False
        else:
            mapped.append(char)
            at_start = is_space(char)
    return "".join(mapped)


def _separates(char: str) -> bool:
    """Report whether a word may begin after the character, by the rule of strings.Title."""
    if char.isascii():
        return not (char.isalnum() or char == "_")
    return is_space(char)


_STRETCH = 4_096


@function("toString", "func(interface{}) string", needs=Needs.LIMITS)
def to_string(context: Context, value: object) -> str:
    """Return the value as `%v` prints it."""
    return show(value, context.limits)


@function("quote", "func(...interface{}) string", needs=Needs.LIMITS)
def quote(context: Context, *values: object) -> str:
    """Quote the text of each value as a Go string literal; nil is skipped."""
    texts = texts_of(context, values)
    return join_texts(context, " ", (_quoted(context, text) for text in texts))


@function("squote", "func(...interface{}) string", needs=Needs.LIMITS)
def squote(context: Context, *values: object) -> str:
    """Put the text of each value in single quotes, without escaping; nil is skipped."""
    return join_texts(context, " ", (f"'{text}'" for text in texts_of(context, values)))


@function("cat", "func(...interface{}) string", needs=Needs.LIMITS)
def cat(context: Context, *values: object) -> str:
    """Join the texts of the values with spaces; nil is skipped."""
    return join_texts(context, " ", texts_of(context, values))


def _quoted(context: Context, text: str) -> str:
    quoted = ['"']
    for start in range(0, len(text), _STRETCH):
        context.check_deadline()
        quoted.append(go_quote(text[start : start + _STRETCH])[1:-1])
    return "".join((*quoted, '"'))
