"""Words within a text: snakecase, kebabcase and camelcase, after Go's package xstrings."""

import re
from collections.abc import Callable
from enum import Enum, auto

from lynq.template.environment import Context
from lynq.template.functions.runes import (
    REPLACEMENT,
    is_letter,
    is_number,
    is_punct,
    is_space,
    is_upper,
    paced,
    to_lower,
    to_upper,
    valid,
)
from lynq.template.functions.signature import Needs, function

_STRETCH = 4_096
# Chinese characters are letters in Unicode, but not part of words here.
_CHINESE = re.compile("[\u3400-\u4d85\u4e00-\u9fcc\U00020000-\U0002b81d]")


class Word(Enum):
    """The class of a run of characters."""

    INVALID = auto()
    NUMBER = auto()
    UPPER = auto()
    ALPHABET = auto()
    CONNECTOR = auto()
    PUNCTUATION = auto()
    OTHER = auto()


_GLUED = frozenset({Word.ALPHABET, Word.NUMBER})
_UNLINKED = frozenset({Word.CONNECTOR, Word.PUNCTUATION})


@function("snakecase", "func(string) string", needs=Needs.LIMITS)
def snakecase(context: Context, text: str) -> str:
    """Convert `HTTPServer` to `http_server`."""
    return _Separator(context, text, "_").separate()


@function("kebabcase", "func(string) string", needs=Needs.LIMITS)
def kebabcase(context: Context, text: str) -> str:
    """Convert `HTTPServer` to `http-server`."""
    return _Separator(context, text, "-").separate()


@function("camelcase", "func(string) string", needs=Needs.LIMITS)
def camelcase(context: Context, text: str) -> str:
    """Convert `http_server` to `HttpServer`; leading connectors are kept."""
    runes = valid(text)
    first = next((i for i, char in enumerate(runes) if not is_connector(char)), None)
    if first is None:
        # Of a text of only connectors, Go writes the last one twice.
        return runes + runes[-1:]
    return runes[:first] + _pascal(context, runes[first:])


def is_connector(char: str) -> bool:
    """Report whether the character is a hyphen, an underscore or white space."""
    return char in "-_" or is_space(char)


def is_alphabet(char: str) -> bool:
    """Report whether the character is a letter that can be part of a word."""
    return is_letter(char) and not _CHINESE.match(char)


def _pascal(context: Context, runes: str) -> str:
    converted = []
    current = to_upper(runes[0])
    upper_so_far = is_upper(runes[0])
    for char in paced(context, runes[1:]):
        before, current = current, char
        if is_connector(before):
            if is_connector(char):
                converted.append(before)
                continue
            upper_so_far = is_upper(char)
            current = to_upper(char)
            continue
        if upper_so_far:
            # In a word that begins in upper case, the upper case letters that follow are lowered.
            upper_so_far = is_upper(char)
            current = to_lower(char) if upper_so_far else char
        converted.append(before)
    return "".join((*converted, current))


class _Separator:
    """Lowers words and joins them with a connector, with one word of look-ahead."""

    def __init__(self, context: Context, text: str, connector: str) -> None:
        self.context = context
        self.text = text
        self.connector = connector
        self.at = 0
        self.kind = Word.INVALID
        self.word = ""
        self.written: list[str] = []

    def separate(self) -> str:
        self._advance()
        while self.at < len(self.text):
            if self.kind is not Word.CONNECTOR:
                self._write(self.kind, self.word)
            kind, word = self.kind, self.word
            self._advance()
            if kind is Word.NUMBER:
                self._after_number()
            elif kind is Word.CONNECTOR:
                self._write(kind, word)
            elif kind is not Word.PUNCTUATION:
                self._after_letters()
        self._write(self.kind, self.word)
        return "".join(self.written)

    def _after_number(self) -> None:
        self._write_glued()
        if self.kind is not Word.INVALID:
            self._link()

    def _after_letters(self) -> None:
        if self.kind is not Word.NUMBER:
            self._link()
            return
        if self.at == len(self.text):
            return
        number = self.word
        if self._advance() is not Word.ALPHABET:
            # The number belongs to the letters before it: Bld4Floor is bld4_floor.
            self._write(Word.NUMBER, number)
            self._link()
            return
        # The number belongs to the letters after it: HTTP2xx is http_2xx.
        self.written.append(self.connector)
        self._write(Word.NUMBER, number)
        self._after_number()

    def _write_glued(self) -> None:
        while self.kind in _GLUED:
            self._write(self.kind, self.word)
            self._advance()

    def _link(self) -> None:
        if self.kind not in _UNLINKED:
            self.written.append(self.connector)

    def _write(self, kind: Word, word: str) -> None:
        if kind is Word.CONNECTOR:
            word = "".join(self.connector if is_connector(c) else c for c in valid(word))
        elif kind is Word.UPPER:
            word = "".join(to_lower(c) if is_upper(c) else c for c in valid(word))
        self.written.append(word)

    def _advance(self) -> Word:
        self.context.check_deadline()
        start = self.at
        self.kind, self.at = _next_word(self.context, self.text, start)
        self.word = self.text[start : self.at]
        return self.kind


def _next_word(context: Context, text: str, start: int) -> tuple[Word, int]:
    if start == len(text):
        return Word.INVALID, start
    char, at = _next_rune(text, start, REPLACEMENT)
    if char == REPLACEMENT:
        return Word.INVALID, at
    if not is_upper(char):
        kind, belongs = _class_of(char)
        return kind, _end_of_run(context, text, at, belongs)[0]
    return Word.UPPER, _end_of_upper(context, text, at)


def _class_of(char: str) -> tuple[Word, Callable[[str], bool]]:
    if is_connector(char):
        return Word.CONNECTOR, is_connector
    if is_punct(char):
        return Word.PUNCTUATION, is_punct
    if is_alphabet(char):
        return Word.ALPHABET, _is_small
    if is_number(char):
        return Word.NUMBER, is_number
    return Word.OTHER, _is_other


def _end_of_run(
    context: Context, text: str, at: int, belongs: Callable[[str], bool]
) -> tuple[int, int]:
    """Return the end of a run and the start of its last rune. Invalid bytes belong to any run."""
    last = at
    while at < len(text):
        char, after = _next_rune(text, at, "")
        if char and not belongs(char):
            break
        last, at = at, after
        if at % _STRETCH == 0:
            context.check_deadline()
    return at, last


def _end_of_upper(context: Context, text: str, at: int) -> int:
    char, after = _next_rune(text, at, "")
    if _is_small(char):
        return _end_of_run(context, text, after, _is_small)[0]
    at, last = _end_of_run(context, text, at, is_upper)
    # Of HTTPStatus, the S begins the next word.
    return last if _is_small(_next_rune(text, at, "")[0]) else at


def _next_rune(text: str, at: int, otherwise: str) -> tuple[str, int]:
    """Return the next valid rune and its end, or `otherwise`."""
    for index in range(at, len(text)):
        char = text[index]
        if char != REPLACEMENT and not "\udc80" <= char <= "\udcff":
            return char, index + 1
    return otherwise, len(text)


def _is_small(char: str) -> bool:
    return bool(char) and is_alphabet(char) and not is_upper(char)


def _is_other(char: str) -> bool:
    return not (is_connector(char) or is_alphabet(char) or is_number(char) or is_punct(char))
