r"""Go's regexp on RE2: compiles patterns and iterates over matches as Go does.

Go rejects `\C` and group names beyond ASCII, has more names of Unicode classes, and its own
error texts. Everything else is RE2's syntax.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from lynq.template.environment import Context
from lynq.template.errors import FunctionError, LimitError
from lynq.template.values import from_bytes, to_bytes

# What has no end takes in the rest, so that no text is read twice; RE2 rejects it anyway.
_PIECE: Final = re.compile(
    r"(?P<quoted>\\Q(?:.*?\\E|.*))"
    r"|(?P<class>\[\^?\]?(?:\\[pP]\{[^}\]]{0,64}\}|\\.|\[:\^?\w+:\]|[^\]\\])*+(?:\]|\Z))"
    r"|(?P<property>\\[pP]\{[^}]*(?:\}|\Z))"
    r"|(?P<escape>\\.)"
    r"|(?P<named>\(\?P?<(?P<name>[^>]*)(?:>|\Z))"
    r"|(?P<uncounted>\(\?)"
    r"|(?P<group>\()"
    r"|(?P<end>\))",
    re.DOTALL,
)
_PROPERTY: Final = re.compile(r"\\([pP])\{(\^?)([^}]{0,64})\}")
_BETWEEN_WORDS: Final = str.maketrans("", "", " _-")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_OPEN_CODE: Final = r"\x{"
_MAX_HEIGHT: Final = 1000
_GO_MESSAGES: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_CATEGORIES: Final = {
    "Any": ("Any",),
    "Lc": ("Lu", "Ll", "Lt"),
    "Casedletter": ("Lu", "Ll", "Lt"),
    "Assigned": ("L", "M", "N", "P", "S", "Z", "C"),
    "Closepunctuation": ("Pe",),
    "Combiningmark": ("M",),
    "Connectorpunctuation": ("Pc",),
    "Control": ("Cc",),
    "Cntrl": ("Cc",),
    "Currencysymbol": ("Sc",),
    "Dashpunctuation": ("Pd",),
    "Decimalnumber": ("Nd",),
    "Digit": ("Nd",),
    "Enclosingmark": ("Me",),
    "Finalpunctuation": ("Pf",),
    "Format": ("Cf",),
    "Initialpunctuation": ("Pi",),
    "Letter": ("L",),
    "Letternumber": ("Nl",),
    "Lineseparator": ("Zl",),
    "Lowercaseletter": ("Ll",),
    "Mark": ("M",),
    "Mathsymbol": ("Sm",),
    "Modifierletter": ("Lm",),
    "Modifiersymbol": ("Sk",),
    "Nonspacingmark": ("Mn",),
    "Number": ("N",),
    "Openpunctuation": ("Ps",),
    "Other": ("C",),
    "Otherletter": ("Lo",),
    "Othernumber": ("No",),
    "Otherpunctuation": ("Po",),
    "Othersymbol": ("So",),
    "Paragraphseparator": ("Zp",),
    "Privateuse": ("Co",),
    "Punctuation": ("P",),
    "Punct": ("P",),
    "Separator": ("Z",),
    "Spaceseparator": ("Zs",),
    "Spacingmark": ("Mc",),
    "Surrogate": ("Cs",),
    "Symbol": ("S",),
    "Titlecaseletter": ("Lt",),
    "Uppercaseletter": ("Lu",),
}


def go_only_error(pattern: str) -> str | None:
    """Return Go's error for a pattern that RE2 accepts and Go rejects."""
    open_groups: list[bool] = []
    for piece in _PIECE.finditer(pattern):
        if piece["escape"] == r"\C":
            return r"invalid escape sequence: `\C`"
        if piece["named"] and not _NAME.fullmatch(piece["name"]):
            return f"invalid named capture: `{piece[0]}`"
        if piece["named"] or piece["group"] or piece["uncounted"]:
            open_groups.append(not piece["uncounted"])
        elif piece["end"]:
            open_groups.pop()
        # Only capturing groups add to the height of Go's tree.
        if len(open_groups) >= _MAX_HEIGHT and sum(open_groups) >= _MAX_HEIGHT:
            return f"expression nests too deeply: `{pattern}`"
    return None


def group_names(pattern: str) -> list[str]:
    """Return the names of the capturing groups, whole match first; most have none."""
    groups = (piece for piece in _PIECE.finditer(pattern) if piece["named"] or piece["group"])
    return ["", *(piece["name"] or "" for piece in groups)]


def rewrite_classes(pattern: str) -> str:
    r"""Replace class names that RE2 lacks by equivalent ones: `\p{Letter}` by `\p{L}`."""
    return "".join(_rewritten(pattern))


def _rewritten(pattern: str) -> Iterator[str]:
    at = 0
    for piece in _PIECE.finditer(pattern):
        yield pattern[at : piece.start()]
        at = piece.end()
        if piece["class"]:
            yield _PROPERTY.sub(lambda match: _property(match, inside=True), piece[0])
        elif piece["property"]:
            yield _PROPERTY.sub(lambda match: _property(match, inside=False), piece[0])
        else:
            yield piece[0]
    yield pattern[at:]


def _property(match: re.Match[str], *, inside: bool) -> str:
    negated = (match[1] == "P") != (match[2] == "^")
    name = match[3].translate(_BETWEEN_WORDS).capitalize()
    if name == "Ascii":
        names = [r"\x00-\x7f"]
    else:
        names = [rf"\p{{{category}}}" for category in _CATEGORIES.get(name, (name,))]
    if name == "Cn":
        names, negated = [rf"\p{{{category}}}" for category in _CATEGORIES["Assigned"]], not negated
    if inside and not negated:
        return "".join(names)
    if len(names) == 1 and name != "Ascii":
        return names[0].replace("p", "P", 1) if negated else names[0]
    # A negated union has no form inside another class; RE2 rejects the pattern.
    return f"[{'^' if negated else ''}{''.join(names)}]" if not inside else match[0]


def translate_error(message: str, pattern: str) -> str:
    """Translate RE2's error to Go's."""
    reason, _, excerpt = message.partition(": ")
    if excerpt.startswith("(?<"):
        return f"invalid named capture: `{pattern[pattern.rindex(excerpt) :]}`"
    if reason == "invalid UTF-8" and not excerpt and _OPEN_CODE in pattern:
        return f"invalid escape sequence: `{pattern[pattern.rindex(_OPEN_CODE) :]}`"
    return f"{_GO_MESSAGES.get(reason, reason)}: `{excerpt}`"


Span: TypeAlias = tuple[int, int]

_TOO_LARGE: Final = "pattern too large"
# Compiling takes time and memory in proportion to the pattern, and RE2 uses up to this memory
# for each pattern. The caches stay below 32 MiB: 32 small patterns and 8 large ones.
_MOST_BYTES: Final = 2048
_SMALL: Final = 512 * 1024
_LARGE: Final = 2 * 1024 * 1024
# RE2's slowest matcher takes up to 25 ns per byte of the text and instruction of the pattern.
_MOST_STEPS: Final = 10_000_000
_CONTINUATION: Final = range(0x80, 0xC0)
_WRONG: Final = re.compile("[\udc80-\udcff]")


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "names", "source")

    def __init__(self, source: str, compiled: Any) -> None:  # noqa: ANN401 - re2 has no types
        self.source = source
        self.names = group_names(source)
        self._compiled = compiled

    def search(self, text: "Text", at: int) -> list[Span] | None:
        """Find the first match at or after a byte; a group without a match is (-1, -1)."""
        match = self._compiled.search(text.view, at)
        while match is not None and text.inside_char(match.start()):
            # In RE2 \B matches between the bytes of a character, in Go it does not.
            match = self._compiled.search(text.view, text.after_char(match.start()))
        return match and [match.span(group) for group in range(len(self.names))]

    def check_cost(self, text: "Text") -> None:
        """Fail for a search that could take seconds."""
        if len(text.view) * self._compiled.programsize > _MOST_STEPS:
            raise LimitError("a regular expression and a text too large for one another")


class Text:
    """The view of a text that RE2 searches: valid UTF-8, with U+FFFD for each invalid byte."""

    __slots__ = ("_data", "_replaced", "view")

    def __init__(self, text: str) -> None:
        self._data = to_bytes(text)
        self.view = self._data
        self._replaced: list[int] = []
        whole = text if text.isascii() else from_bytes(self._data)
        if _WRONG.search(whole):
            self.view = _WRONG.sub("\ufffd", whole).encode()
            self._replaced = list(_replaced_positions(whole))

    def __len__(self) -> int:
        """Return the length of the view in bytes."""
        return len(self.view)

    def cut(self, start: int, end: int) -> bytes:
        """Return the original bytes between two positions of the view."""
        return self._data[self._original(start) : self._original(end)]

    def _original(self, position: int) -> int:
        return position - 2 * bisect_left(self._replaced, position)

    def inside_char(self, at: int) -> bool:
        """Report whether a position is between the bytes of one character."""
        return at < len(self.view) and self.view[at] in _CONTINUATION

    def after_char(self, at: int) -> int:
        """Return the position after the character; at the end, the same position."""
        if at < len(self.view):
            at += 1
            while self.inside_char(at):
                at += 1
        return at


def _replaced_positions(whole: str) -> Iterator[int]:
    """Yield the positions in the view where U+FFFD replaces a byte."""
    at = 0
    for part in _WRONG.split(whole)[:-1]:
        at += len(part.encode())
        yield at
        at += len("\ufffd".encode())


def compile_pattern(source: str) -> Pattern:
    """Compile a pattern, or fail with Go's error."""
    if len(source) > _MOST_BYTES:
        raise LimitError(f"a pattern of {len(source)} bytes is over the limit of {_MOST_BYTES}")
    compiled = _compile_small(source)
    if compiled == _TOO_LARGE:
        compiled = _compile_large(source)
    if compiled == _TOO_LARGE:
        raise LimitError("a regular expression is too large")
    if isinstance(compiled, str):
        raise FunctionError(f"error parsing regexp: {compiled}")
    return compiled


@lru_cache(maxsize=32)
def _compile_small(source: str) -> Pattern | str:
    return _compile(source, _SMALL)


@lru_cache(maxsize=8)
def _compile_large(source: str) -> Pattern | str:
    return _compile(source, _LARGE)


def _compile(source: str, memory: int) -> Pattern | str:
    """Return the pattern, or its error."""
    compiled = _compile_re2(source, memory)
    if not isinstance(compiled, str):
        return go_only_error(source) or Pattern(source, compiled)
    if compiled.startswith(_TOO_LARGE):
        return _TOO_LARGE
    # The pattern may contain class names that only Go supports.
    rewritten = rewrite_classes(source)
    recompiled = _compile_re2(rewritten, memory) if rewritten != source else compiled
    if isinstance(recompiled, str):
        return translate_error(compiled, source)
    return Pattern(source, recompiled)


def _compile_re2(source: str, memory: int) -> Any:  # noqa: ANN401 - re2 has no types
    """Return RE2's compiled pattern, or its error as a string."""
    import re2  # noqa: PLC0415 - few templates need its memory

    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    try:
        return re2.compile(to_bytes(source), options)
    except re2.error as problem:
        message = problem.args[0]
        return message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    finally:
        # The binding caches 128 patterns without a bound on memory; the caches here have one.
        re2.purge()


def find_all(context: Context, pattern: Pattern, text: Text, most: int) -> Iterator[Span]:
    """Yield successive matches; an empty match adjacent to the previous one is ignored."""
    pattern.check_cost(text)
    at, count, previous_end = 0, 0, -1
    while at <= len(text) and (most < 0 or count < most):
        context.check_deadline()
        spans = pattern.search(text, at)
        if spans is None:
            return
        start, end = spans[0]
        accepted = end != at or start != previous_end
        at = (text.after_char(at) if at < len(text) else at + 1) if end == at else end
        previous_end = end
        if accepted:
            count += 1
            yield start, end


def replacements(
    context: Context, pattern: Pattern, text: Text
) -> Iterator[tuple[Span, list[Span] | None]]:
    """Yield the parts of a text for a replacement: an unmatched part, and the match or None."""
    pattern.check_cost(text)
    at, last_end = 0, 0
    while at <= len(text):
        context.check_deadline()
        spans = pattern.search(text, at)
        if spans is None:
            break
        start, end = spans[0]
        yield (last_end, start), spans if end > last_end or start == 0 else None
        last_end = end
        at = max(end, text.after_char(at) if at < len(text) else at + 1)
    yield (last_end, len(text)), None
