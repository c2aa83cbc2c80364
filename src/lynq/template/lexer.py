"""Cuts a template's source into tokens, after Go's text/template/parse/lex.go."""

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from lynq.template.gofmt.quoting import is_print, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Kind(Enum):
    """The kinds of token."""

    ERROR = auto()
    BOOL = auto()
    CHAR = auto()
    CHAR_CONSTANT = auto()
    COMPLEX = auto()
    ASSIGN = auto()
    DECLARE = auto()
    EOF = auto()
    FIELD = auto()
    IDENTIFIER = auto()
    LEFT_DELIM = auto()
    LEFT_PAREN = auto()
    NUMBER = auto()
    PIPE = auto()
    RAW_STRING = auto()
    RIGHT_DELIM = auto()
    RIGHT_PAREN = auto()
    SPACE = auto()
    STRING = auto()
    TEXT = auto()
    VARIABLE = auto()
    BLOCK = auto()
    BREAK = auto()
    CONTINUE = auto()
    DOT = auto()
    DEFINE = auto()
    ELSE = auto()
    END = auto()
    IF = auto()
    NIL = auto()
    RANGE = auto()
    TEMPLATE = auto()
    WITH = auto()


_KEYWORDS: Final = {
    "block": Kind.BLOCK,
    "break": Kind.BREAK,
    "continue": Kind.CONTINUE,
    "define": Kind.DEFINE,
    "else": Kind.ELSE,
    "end": Kind.END,
    "if": Kind.IF,
    "range": Kind.RANGE,
    "nil": Kind.NIL,
    "template": Kind.TEMPLATE,
    "with": Kind.WITH,
    "true": Kind.BOOL,
    "false": Kind.BOOL,
}
KEYWORD_KINDS: Final = frozenset(_KEYWORDS.values()) - {Kind.BOOL} | {Kind.DOT}
_SPACES: Final = " \t\r\n"
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_QUOTED: Final = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"', re.DOTALL)
_CHARACTER: Final = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'", re.DOTALL)
_NUMBER: Final = re.compile(
    r"""
    [+-]?
    (?: 0[xX] [0-9a-fA-F_]* (?:\.[0-9a-fA-F_]*)? (?:[pP][+-]?[0-9_]*)?
      | 0[oO] [0-7_]* (?:\.[0-7_]*)?
      | 0[bB] [01_]* (?:\.[01_]*)?
      | [0-9_]* (?:\.[0-9_]*)? (?:[eE][+-]?[0-9_]*)?
    ) i?
    """,
    re.VERBOSE,
)
_TRIM_MARKER: Final = len("- ")
_LONGEST_SHOWN: Final = 10


class Token(NamedTuple):
    """A token, where it starts, and on which line."""

    kind: Kind
    position: int
    text: str
    line: int

    def __str__(self) -> str:
        """Format the token as Go's parse errors do."""
        if self.kind is Kind.EOF:
            return "EOF"
        if self.kind is Kind.ERROR:
            return self.text
        if self.kind in KEYWORD_KINDS:
            return f"<{self.text}>"
        if len(self.text.encode("utf-8", "surrogatepass")) > _LONGEST_SHOWN:
            return quote(self.text[:_LONGEST_SHOWN]) + "..."
        return quote(self.text)


class Lexer:
    """Returns one token at a time, up to the first error or the end."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._start = 0
        self._line = 1
        self._inside = False
        self._parens = 0
        self._starts: Mapping[str, Callable[[], Token]] = {
            **dict.fromkeys(_SPACES, self._space),
            **dict.fromkeys("+-.0123456789", self._number_or_field),
            "=": lambda: self._take(Kind.ASSIGN, self._at + 1),
            "|": lambda: self._take(Kind.PIPE, self._at + 1),
            ":": self._declare,
            '"': self._quoted,
            "`": self._raw,
            "$": self._variable,
            "'": self._character,
            "(": self._left_paren,
            ")": self._right_paren,
        }

    def next(self) -> Token:
        """Return the next token."""
        return self._in_action() if self._inside else self._in_text()

    # Positions and lines.

    def _take(self, kind: Kind, end: int) -> Token:
        token = Token(kind, self._start, self._source[self._start : end], self._line)
        self._skip_to(end)
        return token

    def _skip_to(self, end: int) -> None:
        self._line += self._source.count("\n", self._start, end)
        self._start = self._at = end

    def _error(self, message: str) -> Token:
        token = Token(Kind.ERROR, self._start, message, self._line)
        self._source = ""
        self._start = self._at = 0
        self._inside = False
        return token

    # Text and comments.

    def _in_text(self) -> Token:
        while True:
            opening = self._source.find("{{", self._at)
            end = len(self._source) if opening < 0 else opening
            if opening >= 0 and self._trims_left(opening + 2):
                end = self._at + len(self._source[self._at : opening].rstrip(_SPACES))
            if end > self._at:
                text = self._take(Kind.TEXT, end)
                self._skip_to(opening if opening >= 0 else end)
                return text
            if opening < 0:
                return Token(Kind.EOF, self._at, "EOF", self._line)
            self._skip_to(opening)
            token = self._left_delimiter()
            if token is not None:
                return token

    def _trims_left(self, at: int) -> bool:
        return self._source[at : at + 1] == "-" and self._source[at + 1 : at + 2] in tuple(_SPACES)

    def _left_delimiter(self) -> Token | None:
        inside = self._at + 2
        after = inside + (_TRIM_MARKER if self._trims_left(inside) else 0)
        if self._source.startswith("/*", after):
            self._skip_to(after)
            return self._comment()
        token = self._take(Kind.LEFT_DELIM, inside)
        self._skip_to(after)
        self._inside = True
        self._parens = 0
        return token

    def _comment(self) -> Token | None:
        closing = self._source.find("*/", self._at + 2)
        if closing < 0:
            return self._error("unclosed comment")
        delimiter, trims = self._right_delimiter_at(closing + 2)
        if not delimiter:
            return self._error("comment ends before closing delimiter")
        self._skip_delimiter(closing + 2 + (_TRIM_MARKER if trims else 0), trims=trims)
        return None

    def _right_delimiter_at(self, at: int) -> tuple[bool, bool]:
        """Report whether a right delimiter is here, and whether it has a trim marker."""
        source = self._source
        if source[at : at + 1] in tuple(_SPACES) and source.startswith("-}}", at + 1):
            return True, True
        return source.startswith("}}", at), False

    def _skip_delimiter(self, at: int, *, trims: bool) -> None:
        end = at + 2
        if trims:
            while self._source[end : end + 1] in tuple(_SPACES):
                end += 1
        self._skip_to(end)

    # Inside an action.

    def _in_action(self) -> Token:
        delimiter, trims = self._right_delimiter_at(self._at)
        if delimiter:
            return self._right_delimiter(trims=trims)
        char = self._source[self._at : self._at + 1]
        if not char:
            return self._error("unclosed action")
        if char in self._starts:
            return self._starts[char]()
        if _is_word(char):
            return self._identifier()
        if char.isascii() and is_print(char):
            return self._take(Kind.CHAR, self._at + 1)
        return self._error(f"unrecognized character in action: {_unicode(char)}")

    def _right_delimiter(self, *, trims: bool) -> Token:
        if self._parens:
            return self._error("unclosed left paren")
        if trims:
            self._skip_to(self._at + _TRIM_MARKER)
        token = Token(Kind.RIGHT_DELIM, self._at, "}}", self._line)
        self._skip_delimiter(self._at, trims=trims)
        self._inside = False
        return token

    def _space(self) -> Token:
        match = _SPACE.match(self._source, self._at)
        end = match.end() if match else self._at
        # The last space may be part of a trim marker, ` -}}`.
        if self._right_delimiter_at(end - 1) == (True, True):
            end -= 1
        return self._take(Kind.SPACE, end)

    def _declare(self) -> Token:
        if not self._source.startswith(":=", self._at):
            return self._error("expected :=")
        return self._take(Kind.DECLARE, self._at + 2)

    def _quoted(self) -> Token:
        match = _QUOTED.match(self._source, self._at)
        if match is None:
            return self._error("unterminated quoted string")
        return self._take(Kind.STRING, match.end())

    def _raw(self) -> Token:
        closing = self._source.find("`", self._at + 1)
        if closing < 0:
            return self._error("unterminated raw quoted string")
        return self._take(Kind.RAW_STRING, closing + 1)

    def _character(self) -> Token:
        match = _CHARACTER.match(self._source, self._at)
        if match is None:
            return self._error("unterminated character constant")
        return self._take(Kind.CHAR_CONSTANT, match.end())

    def _left_paren(self) -> Token:
        self._parens += 1
        return self._take(Kind.LEFT_PAREN, self._at + 1)

    def _right_paren(self) -> Token:
        self._parens -= 1
        if self._parens < 0:
            return self._error("unexpected right paren")
        return self._take(Kind.RIGHT_PAREN, self._at + 1)

    def _variable(self) -> Token:
        return self._name(Kind.VARIABLE, Kind.VARIABLE)

    def _number_or_field(self) -> Token:
        char = self._source[self._at]
        after = self._source[self._at + 1 : self._at + 2]
        if char == "." and not (after.isascii() and after.isdigit()) and after:
            return self._name(Kind.FIELD, Kind.DOT)
        return self._number()

    def _name(self, kind: Kind, alone: Kind) -> Token:
        """Scan the rest of `.name` or `$name`, after `.` or `$`."""
        end = self._word_end(self._at + 1)
        if end == self._at + 1 and self._terminates(end):
            return self._take(alone, end)
        if not self._terminates(end):
            return self._error(f"bad character {_unicode(self._source[end : end + 1])}")
        return self._take(kind, end)

    def _identifier(self) -> Token:
        end = self._word_end(self._at)
        if not self._terminates(end):
            return self._error(f"bad character {_unicode(self._source[end : end + 1])}")
        return self._take(_KEYWORDS.get(self._source[self._at : end], Kind.IDENTIFIER), end)

    def _word_end(self, at: int) -> int:
        while at < len(self._source) and _is_word(self._source[at]):
            at += 1
        return at

    def _terminates(self, at: int) -> bool:
        char = self._source[at : at + 1]
        return not char or char in " \t\r\n.,|:)(" or self._source.startswith("}}", at)

    def _number(self) -> Token:
        end, good = self._scan_number(self._at)
        if good and self._source[end : end + 1] in ("+", "-"):
            end, good = self._scan_number(end)
            if good and self._source[end - 1] == "i":
                return self._take(Kind.COMPLEX, end)
            good = False
        if not good:
            return self._error(f"bad number syntax: {quote(self._source[self._start : end])}")
        return self._take(Kind.NUMBER, end)

    def _scan_number(self, at: int) -> tuple[int, bool]:
        match = _NUMBER.match(self._source, at)
        end = match.end() if match else at
        if end < len(self._source) and _is_word(self._source[end]):
            return end + 1, False
        return end, True


def _is_word(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _unicode(char: str) -> str:
    """Format a character as `%#U` does."""
    if not char:
        return "U+FFFFFFFFFFFFFFFF"
    code = f"U+{ord(char):04X}"
    return f"{code} '{char}'" if is_print(char) else code
