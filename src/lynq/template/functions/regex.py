"""Regular expressions: sprig's functions, with Go's replacement templates."""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.quoting import can_backquote, quote
from lynq.template.regex import Pattern, Span, Text, compile_pattern, find_all, replacements
from lynq.template.values import byte_len, from_bytes, to_bytes

_SPECIAL: Final = r"\.+*?()|[]{}^$"
_ESCAPES: Final = {ord(character): "\\" + character for character in _SPECIAL}
_MOST_GROUP: Final = 100_000_000

Expand: TypeAlias = Callable[[list[Span]], Iterable[bytes]]


def _compile_or_panic(source: str) -> Pattern:
    """Compile a pattern; the error names it, as regexp.MustCompile's panic does."""
    try:
        return compile_pattern(source)
    except FunctionError as problem:
        quoted = f"`{source}`" if can_backquote(source) else quote(source)
        raise FunctionError(f"regexp: Compile({quoted}): {problem.message}") from None


@function("mustRegexMatch", "func(string, string) (bool, error)", needs=Needs.LIMITS)
def must_regex_match(context: Context, source: str, text: str) -> bool:
    """Report whether the text contains a match."""
    pattern = compile_pattern(source)
    return any(True for _ in find_all(context, pattern, Text(text), 1))


@function("regexMatch", "func(string, string) bool", needs=Needs.LIMITS)
def regex_match(context: Context, source: str, text: str) -> bool:
    """Report whether the text contains a match; an invalid pattern matches nothing."""
    try:
        return must_regex_match(context, source, text)
    except FunctionError:
        return False


def _find(context: Context, pattern: Pattern, text: str) -> str:
    subject = Text(text)
    for start, end in find_all(context, pattern, subject, 1):
        return from_bytes(subject.cut(start, end))
    return ""


@function("regexFind", "func(string, string) string", needs=Needs.LIMITS)
def regex_find(context: Context, source: str, text: str) -> str:
    """Return the first match, or an empty string."""
    return _find(context, _compile_or_panic(source), text)


@function("mustRegexFind", "func(string, string) (string, error)", needs=Needs.LIMITS)
def must_regex_find(context: Context, source: str, text: str) -> str:
    """Return the first match, or an empty string."""
    return _find(context, compile_pattern(source), text)


def _find_all(context: Context, pattern: Pattern, text: str, most: int) -> list[str] | None:
    subject = Text(text)
    matches: list[str] = []
    for start, end in find_all(context, pattern, subject, most):
        context.limits.check_items(len(matches) + 1)
        matches.append(from_bytes(subject.cut(start, end)))
    return matches or None


@function("regexFindAll", "func(string, string, int) []string", needs=Needs.LIMITS)
def regex_find_all(context: Context, source: str, text: str, most: int) -> list[str] | None:
    """List the matches, at most `most`; a negative number has no limit."""
    return _find_all(context, _compile_or_panic(source), text, most)


@function("mustRegexFindAll", "func(string, string, int) ([]string, error)", needs=Needs.LIMITS)
def must_regex_find_all(context: Context, source: str, text: str, most: int) -> list[str] | None:
    """List the matches, at most `most`; a negative number has no limit."""
    return _find_all(context, compile_pattern(source), text, most)


def _split(context: Context, pattern: Pattern, text: str, most: int) -> list[str] | None:
    if most == 0:
        return None
    if pattern.source and not text:
        return [""]
    subject = Text(text)
    parts: list[str] = []
    begin = end = 0
    for start, stop in find_all(context, pattern, subject, most):
        if most > 0 and len(parts) >= most - 1:
            break
        end = start
        if stop != 0:
            context.limits.check_items(len(parts) + 1)
            parts.append(from_bytes(subject.cut(begin, end)))
        begin = stop
    if end != len(subject):
        parts.append(from_bytes(subject.cut(begin, len(subject))))
    return parts


@function("regexSplit", "func(string, string, int) []string", needs=Needs.LIMITS)
def regex_split(context: Context, source: str, text: str, most: int) -> list[str] | None:
    """Split a text at the matches, into at most `most` parts."""
    return _split(context, _compile_or_panic(source), text, most)


@function("mustRegexSplit", "func(string, string, int) ([]string, error)", needs=Needs.LIMITS)
def must_regex_split(context: Context, source: str, text: str, most: int) -> list[str] | None:
    """Split a text at the matches, into at most `most` parts."""
    return _split(context, compile_pattern(source), text, most)


def _replace(context: Context, pattern: Pattern, subject: Text, expand: Expand) -> str:
    """Replace every match; the size is checked before the parts are joined."""
    parts: list[bytes] = []
    size = 0
    for unmatched, groups in replacements(context, pattern, subject):
        for part in (subject.cut(*unmatched), *(expand(groups) if groups else ())):
            size += len(part)
            context.limits.check_text(size)
            parts.append(part)
    return from_bytes(b"".join(parts))


def _template(pattern: Pattern, template: str, subject: Text) -> Expand:
    """Parse a replacement such as "${1}-$name" once, for all matches."""
    pieces = _template_pieces(template, pattern.names)

    def expand(groups: list[Span]) -> Iterable[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            matched = next((groups[index] for index in piece if groups[index][0] >= 0), None)
            if matched is not None:
                yield subject.cut(*matched)

    return expand


def _template_pieces(template: str, names: list[str]) -> list[bytes | list[int]]:
    """Split a replacement into literal bytes and references to groups."""
    pieces: list[bytes | list[int]] = []
    before, dollar, rest = template.partition("$")
    while dollar:
        pieces.append(to_bytes(before))
        name, after = _reference(rest)
        if rest.startswith("$"):
            pieces.append(b"$")
            rest = rest[1:]
        elif name:
            pieces.append(_groups(name, names))
            rest = after
        else:
            pieces.append(b"$")
        before, dollar, rest = rest.partition("$")
    return [*pieces, to_bytes(before)]


def _reference(rest: str) -> tuple[str, str]:
    """Parse what follows a $: the longest possible name, or a name in braces."""
    braced = rest.startswith("{")
    start = end = 1 if braced else 0
    while end < len(rest) and (rest[end].isalpha() or rest[end].isdecimal() or rest[end] == "_"):
        end += 1
    name, after = rest[start:end], rest[end:]
    if braced:
        return (name, after[1:]) if after.startswith("}") else ("", rest)
    return name, after


def _groups(name: str, names: list[str]) -> list[int]:
    number = name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")
    if number and len(name) <= len(str(_MOST_GROUP)):
        return [int(name)] if int(name) < len(names) else []
    return [index for index, each in enumerate(names) if each == name]


@function("regexReplaceAll", "func(string, string, string) string", needs=Needs.LIMITS)
def regex_replace_all(context: Context, source: str, text: str, template: str) -> str:
    """Replace every match; $1, ${1} and $name refer to groups."""
    pattern, subject = _compile_or_panic(source), Text(text)
    return _replace(context, pattern, subject, _template(pattern, template, subject))


@function("mustRegexReplaceAll", "func(string, string, string) (string, error)", needs=Needs.LIMITS)
def must_regex_replace_all(context: Context, source: str, text: str, template: str) -> str:
    """Replace every match; $1, ${1} and $name refer to groups."""
    pattern, subject = compile_pattern(source), Text(text)
    return _replace(context, pattern, subject, _template(pattern, template, subject))


@function("regexReplaceAllLiteral", "func(string, string, string) string", needs=Needs.LIMITS)
def regex_replace_all_literal(context: Context, source: str, text: str, literal: str) -> str:
    """Replace every match with a literal text."""
    data = (to_bytes(literal),)
    return _replace(context, _compile_or_panic(source), Text(text), lambda _: data)


@function(
    "mustRegexReplaceAllLiteral", "func(string, string, string) (string, error)", needs=Needs.LIMITS
)
def must_regex_replace_all_literal(context: Context, source: str, text: str, literal: str) -> str:
    """Replace every match with a literal text."""
    data = (to_bytes(literal),)
    return _replace(context, compile_pattern(source), Text(text), lambda _: data)


@function("regexQuoteMeta", "func(string) string", needs=Needs.LIMITS)
def regex_quote_meta(context: Context, text: str) -> str:
    """Escape all regular expression metacharacters."""
    special = sum(text.count(character) for character in _SPECIAL)
    context.limits.check_text(byte_len(text) + special)
    return text.translate(_ESCAPES)
