"""Make what other controllers wrote fit for our status: one line, one word, of bounded length."""

import re

MAX_CHARACTERS = 300
# What is looked at in order to find that many; a condition may hold 32 KiB, a custom kind any text.
_LOOKED_AT = 4 * MAX_CHARACTERS
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


def one_line(text: str) -> str:
    """Return the text on one line, without control characters, cut at 300 characters."""
    shown = (char if char.isprintable() else " " for char in text[:_LOOKED_AT])
    line = " ".join("".join(shown).split())
    return line if len(line) <= MAX_CHARACTERS else f"{line[: MAX_CHARACTERS - 1]}…"


def word(text: str, otherwise: str) -> str:
    """Return a reason as it is if it is one word; what is no word is not passed on."""
    return text if _WORD.fullmatch(text) else otherwise


def told(sentence: str, detail: str) -> str:
    """Return the sentence, with the detail if there is any."""
    return f"{sentence}: {detail}" if detail else sentence
