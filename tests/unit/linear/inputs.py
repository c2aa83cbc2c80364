"""Inputs that are hostile to a pattern or a parser: the same families for all, and its own."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

UNITS: tuple[str, ...] = (
    "a", "A", "0", "9", "_", "é", " ", "\t", "\n", "\r\n", ".", ",", ":", ";", "-", "+", "/", "\\",
    '"', "'", "`", "(", ")", "[", "]", "{", "}", "<", "=", "!", "%", "$", "#", "@", "*", "?", "|",
    "\x00", "\ud800", "ab ", "a.", "a-", ".a", "a:", "a:b\n", "a=b,", "k: v\n", "0.", "1e", "-0",
    "1h", "00", "%4", "\\\\", '\\"', "\\u", '""', '"a"', "a[0].", "[a", "[=", "[]", "{}", "{{",
    "}}", "{{ .a }}", "{{-", "((", "(?", "[[:", "\\p{L}", "\\Q", "..", "::", "//", "a/b", "://",
    "@a", " a = b,", " | a", "$.a", "?(@.a", "&&", ": expected string, got ", "requested: a=",
    "Invalid value: ",
    "denied ", "-----BEGIN X-----\n", "-----END X-----\n", "---\n", "~", "^",
    "&", "\u2028", "#x", "T0", "2024-01-01", "usage per ", "json: cannot unmarshal ",
    ' User "a" cannot get resource "',
)  # fmt: skip
"""What is repeated."""
END = "\n!"
"""What follows: a pattern that fits to the end of the text has nothing to try again."""


@cache
def family(unit: str, size: int) -> str:
    """Return the text of a family."""
    return (unit * (size // len(unit) + 1))[:size] + END


def pumps(pattern: "re.Pattern[Any]") -> Iterator[Callable[[int], str]]:
    """Yield the inputs that are made for each repetition in a pattern, by size.

    The prefix matches what is before the repetition and the unit one round of it, so that the
    pattern is inside of the repetition for as long as the text lasts.
    """
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    tree = re._parser.parse(text, pattern.flags)  # type: ignore[attr-defined]
    found: dict[tuple[str, str], None] = {}
    _walk(tree, "", found)
    for prefix, unit in found:
        yield partial(_pumped, prefix, unit)
        if prefix:
            # Each beginning reads to the end of the text.
            yield partial(_pumped, "", prefix + unit)


def _pumped(prefix: str, unit: str, size: int) -> str:
    return prefix + unit * (size // len(unit)) + END


def _walk(tree: Any, before: str, found: dict[tuple[str, str], None]) -> None:
    """Collect the repetitions of a sequence, each with a text that matches what is before it."""
    for item in tree:
        operator, value = item
        name = str(operator)
        if name in _REPETITIONS:
            _, most, body = value
            units = [_sample(body), *_samples(body)]
            units += [first + second for first, second in product(units[:6], repeat=2)]
            if most > _FEW:
                found.update(((before, unit), None) for unit in units if unit)
            _walk(body, before, found)
        elif name == "BRANCH":
            for branch in value[1]:
                _walk(branch, before, found)
        elif name == "SUBPATTERN":
            _walk(value[-1], before, found)
        elif name == "ATOMIC_GROUP":
            _walk(value, before, found)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            _walk(value[1], before, found)
        before += _sample([item])


_REPETITIONS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_FEW = 16
"""Repetitions that are bounded by a small number are no loop."""


def _sample(tree: Any) -> str:
    """Return a text that a sequence matches, as far as that is easy to find."""
    text = ""
    for operator, value in tree:
        name = str(operator)
        if name in _REPETITIONS:
            text += _sample(value[2]) * max(value[0], 1)
        elif name == "BRANCH":
            text += max((_sample(branch) for branch in value[1]), key=len)
        elif name == "SUBPATTERN":
            text += _sample(value[-1])
        elif name == "ATOMIC_GROUP":
            text += _sample(value)
        elif name == "ASSERT" and value[0] < 0:
            text += _sample(value[1])
        else:
            text += (_characters(operator, value) or [""])[0]
    return text


def _samples(tree: Any) -> list[str]:
    """Return the texts of one round of a repetition: of each branch, of some characters."""
    texts: list[str] = []
    for operator, value in tree:
        if str(operator) == "BRANCH":
            texts += [text for branch in value[1] for text in (_sample(branch), *_samples(branch))]
        elif str(operator) == "SUBPATTERN":
            texts += _samples(value[-1])
        else:
            texts += _characters(operator, value)
    return texts[:8]


_CANDIDATES: Sequence[str] = "a=0 .:-\"_/\\'[](){},A\n\té!%"


def _characters(operator: Any, value: Any) -> list[str]:
    name = str(operator)
    if name == "LITERAL":
        return [chr(value)]
    if name == "ANY":
        return ["a", '"', " "]
    if name == "NOT_LITERAL":
        return [char for char in _CANDIDATES if ord(char) != value][:4]
    if name == "IN":
        return [char for char in _CANDIDATES if _is_in(char, value)][:8] or [
            chr(item[1] if str(item[0]) == "LITERAL" else item[1][0])
            for item in value
            if str(item[0]) in {"LITERAL", "RANGE"}
        ][:2]
    return []


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def _is_in(char: str, items: Any) -> bool:
    is_negated = str(items[0][0]) == "NEGATE"
    return bool(is_negated != any(_fits(char, *item) for item in items))


def _fits(char: str, operator: Any, value: Any) -> bool:
    if str(operator) == "LITERAL":
        return bool(ord(char) == value)
    if str(operator) == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    if str(operator) == "CATEGORY":
        return bool(re.fullmatch(_CATEGORIES[str(value)], char))
    return False
