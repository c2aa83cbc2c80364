"""Masks values of a row in text that others wrote: answers of the API server, foreign conditions.

Each value is replaced by the name of its variable in angle brackets. A value is also found as it
looks after quoting, encoding or a change of case. Names that are shown anyway, such as the name of
the object, are kept: a value that is part of such a name is not masked inside it.

A message about a row of too many values is not shown at all.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from lynq.api.nesting import depth_checked
from lynq.api.text import shown

_MAX_TEXT: Final = 8000
"""Characters of a text that are masked and shown."""
_MIN_ANYWHERE: Final = 5
"""A value of this length is masked anywhere, a shorter one only as a whole word."""
_MIN_WORD: Final = 3
"""A value of this length is masked as a word, a shorter one only in quotes."""
_WORDS: Final = frozenset({"true", "false", "null", "none"})
"""Texts that tell nothing of a row, and much of a rule that is violated."""
_MAX_PARTS: Final = 1000
"""Values, lines and JSON items that can be masked without blocking the event loop."""
_QUOTES: Final = "\"'`"
_UNNAMED: Final = "value"


class Mask:
    """Replaces the values of one row, and of what was rendered from it."""

    __slots__ = ("_forms", "_is_complete", "_shown")

    def __init__(
        self,
        values: Mapping[str, str],
        *,
        rendered: Iterable[str] = (),
        shown: Iterable[str] = (),
    ) -> None:
        """Take the values by variable, rendered texts, and names that are never masked."""
        self._shown = frozenset(name for name in shown if name)
        forms: dict[str, str] = {}
        named = (*values.items(), *((_UNNAMED, text) for text in rendered))
        parts = _distinct((part, name) for name, value in named for part in _parts(value))
        self._is_complete = len(parts) <= _MAX_PARTS
        for part, name in parts.items() if self._is_complete else ():
            for form in _forms(part):
                if form not in self._shown and form.lower() not in _WORDS:
                    forms.setdefault(form, name)
        # The longest first: a value may be part of another one.
        self._forms = dict(sorted(forms.items(), key=lambda item: -len(item[0])))

    def __call__(self, text: str) -> str:
        """Return the text without values, cut to a bounded length; "" if they are too many."""
        if not self._is_complete:
            return ""
        if len(text) > _MAX_TEXT:
            text = f"{text[:_MAX_TEXT]}…"
        kept = [span for name in self._shown for span in _words(name, text)]
        masked: list[tuple[int, int, str]] = []
        for form, name in self._forms.items():
            spans = _occurrences(form, text)
            masked.extend((*span, name) for span in spans if not _is_inside(span, kept))
        return _replaced(text, masked)


def _distinct(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the names by part; of too many parts, one more than can be masked."""
    distinct: dict[str, str] = {}
    for part, name in parts:
        if part.strip():
            # No more of a value can be part of a message.
            distinct.setdefault(part[:_MAX_TEXT], name)
        if len(distinct) > _MAX_PARTS:
            break
    return distinct


def _parts(value: str) -> Iterator[str]:
    """Yield a value, its lines and its JSON items."""
    yield value
    yield from value.splitlines()
    yield from _items(value)


def _forms(part: str) -> Iterator[str]:
    """Yield a text as it is quoted or encoded in messages."""
    stripped = part.strip()
    for case in dict.fromkeys((stripped, stripped.lower(), stripped.upper(), stripped.title())):
        yield case
        yield json.dumps(case, ensure_ascii=False)[1:-1]
        yield json.dumps(case)[1:-1]
        # As a message has it that was shown before it is masked.
        yield shown(case)
        yield shown(" ".join(case.split()))
    for text in dict.fromkeys((part, stripped)):
        encoded = text.encode("utf-8", "surrogatepass")
        yield quote(encoded, safe="")
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(encoded).decode().rstrip("=")


def _items(value: str) -> Iterator[str]:
    """Yield the strings and numbers of a JSON document."""
    if not value.lstrip().startswith(("{", "[")):
        return
    try:
        waiting: list[Any] = [json.loads(depth_checked(value))]
    except ValueError:
        return
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str | int | float):
            yield str(item)


def _occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    if len(form) < _MIN_WORD:
        yield from (span for span in _found(form, text) if _is_quoted(span, text))
    elif len(form) < _MIN_ANYWHERE:
        yield from _words(form, text)
    else:
        yield from _found(form, text)
        yield from _cut_off(form, text)


def _found(form: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


def _words(form: str, text: str) -> Iterator[tuple[int, int]]:
    for start, end in _found(form, text):
        if not _is_word(text[start - 1 : start]) and not _is_word(text[end : end + 1]):
            yield start, end


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_quoted(span: tuple[int, int], text: str) -> bool:
    start, end = span
    return start > 0 and text[start - 1] in _QUOTES and text[end : end + 1] in tuple(_QUOTES)


def _cut_off(form: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the beginning of a value at the end of a text that was cut."""
    if not text.endswith("…"):
        return
    end = len(text) - 1
    first = max(0, end - len(form))
    for offset, _ in _found(form[:_MIN_WORD], text[first:end]):
        if form.startswith(text[first + offset : end]):
            yield first + offset, end
            return


def _is_inside(span: tuple[int, int], kept: Iterable[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in kept)


def _replaced(text: str, masked: list[tuple[int, int, str]]) -> str:
    """Replace the spans; overlapping ones become one."""
    pieces: list[str] = []
    end = 0
    # Of spans that begin together, the longest names the variable.
    for start, stop, name in sorted(masked, key=lambda span: (span[0], -span[1])):
        if start >= end:
            pieces += (text[end:start], f"<{name}>")
        end = max(end, stop)
    return "".join((*pieces, text[end:]))
