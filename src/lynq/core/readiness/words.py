"""Make what other controllers wrote fit for our status: one line, one word, of bounded length."""

import re

from lynq.api.text import one_line

MAX_CHARACTERS = 300
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


def bounded_line(text: str) -> str:
    """Return the text on one line, without control characters, cut at 300 characters."""
    return one_line(text, MAX_CHARACTERS)


def word(text: str, otherwise: str) -> str:
    """Return a reason as it is if it is one word; what is no word is not passed on."""
    return text if _WORD.fullmatch(text) else otherwise


def with_detail(sentence: str, detail: str) -> str:
    """Return the sentence, with the detail if there is any."""
    return f"{sentence}: {detail}" if detail else sentence
