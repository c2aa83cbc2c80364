"""Checks a statement that is run in a transaction which is always rolled back.

Only INSERT, UPDATE and DELETE are accepted: other statements commit implicitly, or act outside of
the transaction. One statement is accepted: a second one could commit the first.
"""

import re
from typing import Final

from lynq.sources.errors import Endpoint, StatementFailed, StatementRefused

_BEGINNING: Final = re.compile(r"""['"`#]|--|/\*""")
_IGNORED: Final = {
    "'": re.compile(r"'(?:[^'\\]|''|\\.)*'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|""|\\.)*"', re.DOTALL),
    "`": re.compile(r"`[^`]*`"),
    "#": re.compile(r"#[^\n]*"),
    "--": re.compile(r"--[^\n]*"),
    "/*": re.compile(r"/\*.*?\*/", re.DOTALL),
}
"""Texts, quoted names and comments, by their beginning."""
_ACCEPTED: Final = ("INSERT", "UPDATE", "DELETE")


def statement_failed(error: Exception, endpoint: Endpoint) -> StatementFailed:
    """Return the error with the database's own message: the statement is the reader's own."""
    message = " ".join(str(error.args[-1] if error.args else error).split())
    return StatementFailed(f"the statement failed: {message}", endpoint=endpoint)


def check_statement(statement: str) -> None:
    """Raise StatementRefused unless the statement can be rolled back."""
    if "/*!" in statement or "$$" in statement:
        raise StatementRefused("executable comments and dollar quotes are not accepted")
    text = _without_ignored(statement).strip().removesuffix(";").rstrip()
    word = text.split(None, 1)[0].upper() if text else ""
    if word not in _ACCEPTED:
        found = f"{word} is not" if word else "the statement is not"
        raise StatementRefused(f"{found} INSERT, UPDATE or DELETE")
    if ";" in text:
        raise StatementRefused("only one statement is accepted")


def _without_ignored(statement: str) -> str:
    """Replace texts, quoted names and comments by a space.

    Behind a beginning without an end, no other of its kind has an end: it is not looked for again.
    """
    parts: list[str] = []
    unending: set[str] = set()
    copied = position = 0
    while beginning := _BEGINNING.search(statement, position):
        kind, start = beginning[0], beginning.start()
        ignored = None if kind in unending else _IGNORED[kind].match(statement, start)
        if ignored is None:
            unending.add(kind)
            position = start + 1
        else:
            parts.append(statement[copied:start])
            copied = position = ignored.end()
    return " ".join([*parts, statement[copied:]])
