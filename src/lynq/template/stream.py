"""A template's tokens as its parser reads them: with look-ahead, and with Go's parse errors."""

from typing import Final, NoReturn

from lynq.template.errors import ErrorKind, TemplateError
from lynq.template.lexer import Kind, Lexer, Token

ROOT_NAME: Final = "template"


class TokenStream:
    """Three tokens of look-ahead, as in Go: an error is on the line of the last scanned token."""

    def __init__(self, source: str, limit: int) -> None:
        self._source = source
        self._lexer = Lexer(source)
        self._tokens: list[Token] = [Token(Kind.EOF, 0, "", 0)] * 3
        self._peeked = 0
        self._limit = limit
        self._left = limit
        self.action_line = 0

    @property
    def scanned(self) -> int:
        """The number of tokens that have been scanned."""
        return self._limit - self._left

    def next(self) -> Token:
        """Return the next token."""
        if self._peeked:
            self._peeked -= 1
        else:
            self._cut()
        return self._tokens[self._peeked]

    def back(self) -> None:
        """Back up one token."""
        self._peeked += 1

    def back2(self, first: Token) -> None:
        """Back up two tokens, of which the second is still buffered."""
        self._tokens[1] = first
        self._peeked = 2

    def back3(self, first: Token, second: Token) -> None:
        """Back up three tokens, of which the third is still buffered."""
        self._tokens[1] = second
        self._tokens[2] = first
        self._peeked = 3

    def peek(self) -> Token:
        """Return but do not consume the next token."""
        if self._peeked:
            return self._tokens[self._peeked - 1]
        self._peeked = 1
        self._cut()
        return self._tokens[0]

    def _cut(self) -> None:
        self._tokens[0] = self._lexer.next()
        self._left -= 1
        if self._left < 0:
            self.fail(f"more tokens than the limit of {self._limit}", ErrorKind.LIMIT)

    def next_word(self) -> Token:
        """Return the next token that is not space."""
        while True:
            token = self.next()
            if token.kind is not Kind.SPACE:
                return token

    def peek_word(self) -> Token:
        """Return but do not consume the next token that is not space."""
        token = self.next_word()
        self.back()
        return token

    def expect(self, context: str, *kinds: Kind) -> Token:
        """Return the next token that is not space, which must be of one of the kinds."""
        token = self.next_word()
        if token.kind not in kinds:
            self.unexpected(token, context)
        return token

    def unexpected(self, token: Token, context: str) -> NoReturn:
        """Fail for an unexpected token."""
        if token.kind is not Kind.ERROR:
            self.fail(f"unexpected {token} in {context}")
        extra = ""
        if self.action_line not in (0, token.line):
            extra = f" in action started at {ROOT_NAME}:{self.action_line}"
            if token.text.endswith(" action"):
                extra = extra.removeprefix(" in action")
        self.fail(f"{token}{extra}")

    def fail(self, message: str, kind: ErrorKind = ErrorKind.PARSE) -> NoReturn:
        """Fail at the current token."""
        token = self._tokens[0]
        line_start = self._source.rfind("\n", 0, token.position) + 1
        column = len(self._source[line_start : token.position].encode("utf-8", "surrogatepass"))
        raise TemplateError(kind, token.line, column, message)
