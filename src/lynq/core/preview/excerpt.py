"""Underlines the part of a template that failed."""

from typing import Final

_CUT: Final = "..."
"""Ends an action that Go has cut after twenty characters."""


def underlined(source: str, line: int, column: int, action: str) -> tuple[str, str]:
    """Return the line of a template, and a line of `^` under its failing part.

    `column` counts the bytes before a place within the action, as Go does.
    """
    lines = source.split("\n")
    text = lines[min(max(line, 1), len(lines)) - 1]
    at = len(text.encode()[:column].decode(errors="ignore"))
    start, end = _span(text, at, action.removesuffix(_CUT))
    return text, " " * start + "^" * max(1, end - start)


def _span(text: str, at: int, action: str) -> tuple[int, int]:
    start = text.find(action) if action else -1
    while start >= 0:
        if start <= at <= start + len(action):
            return start, start + len(action)
        start = text.find(action, start + 1)
    # Go prints an action in its own way: underline the rest of the action instead.
    end = text.find("}}", at)
    rest = text[at:end] if end >= 0 else text[at:]
    return at, at + len(rest.rstrip(" -"))
