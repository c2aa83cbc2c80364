"""Read a text piece by piece, and tell where it goes wrong."""

import re
from typing import Final, NoReturn

from lynq.core.node.ignore_fields.jsonpath import PathError

_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?([eE][-+]?\d{1,3})?")


class Scanner:
    """A text, and how far it has been read."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position == len(self.text)

    def take(self, *words: str) -> str:
        """Read the first of the words that comes next; "" if none does."""
        for word in words:
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return word
        return ""

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what the pattern matches here."""
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found

    def skip_space(self) -> None:
        """Read white space, where it may be."""
        self.match(_SPACE)

    def expect(self, word: str) -> None:
        """Read the word, after any white space, or refuse the text."""
        self.skip_space()
        if not self.take(word):
            self.refuse(f'"{word}" is missing')

    def quoted(self) -> str | None:
        """Read a text in either kind of quotes; a backslash takes the next character as it is."""
        found = self.match(_QUOTED)
        if found is None:
            return None
        return _ESCAPE.sub(r"\1", found[1] if found[1] is not None else found[2])

    def number(self) -> int | float | None:
        """Read a number."""
        found = self.match(_NUMBER)
        if found is None:
            return None
        return float(found[0]) if found[1] or found[2] else int(found[0])

    def integer(self) -> int | None:
        """Read a whole number, or refuse another."""
        number = self.number()
        if isinstance(number, float):
            self.refuse("a whole number is wanted")
        return number

    def refuse(self, problem: str) -> NoReturn:
        """Say what is wrong here."""
        raise PathError(self.text, self.position, problem)
