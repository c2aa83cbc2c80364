"""Letter case: upper, lower, title and their relatives, rune by rune."""

from lynq.template.context import Context
from lynq.template.functions.runes import (
    is_lower,
    is_space,
    is_title,
    is_upper,
    paced,
    to_lower,
    to_title,
    to_upper,
    valid,
)
from lynq.template.functions.signature import Needs, function


@function("upper", "func(string) string")
def upper(text: str) -> str:
    """Turn every letter to upper case."""
    return text.upper() if text.isascii() else "".join(map(to_upper, valid(text)))


@function("lower", "func(string) string")
def lower(text: str) -> str:
    """Turn every letter to lower case."""
    return text.lower() if text.isascii() else "".join(map(to_lower, valid(text)))


@function("title", "func(string) string", needs=Needs.LIMITS)
def title(context: Context, text: str) -> str:
    """Turn the first letter of every word to title case, and leave the others."""
    made = []
    before = " "
    for char in paced(context, valid(text)):
        made.append(to_title(char) if _separates(before) else char)
        before = char
    return "".join(made)


@function("untitle", "func(string) string", needs=Needs.LIMITS)
def untitle(context: Context, text: str) -> str:
    """Turn the first letter of every word to lower case; words end at white space only."""
    made = []
    before = " "
    for char in paced(context, valid(text)):
        made.append(to_lower(char) if is_space(before) else char)
        before = char
    return "".join(made)


@function("swapcase", "func(string) string", needs=Needs.LIMITS)
def swapcase(context: Context, text: str) -> str:
    """Swap upper and lower case; a word that begins in lower case gets a title letter."""
    made = []
    at_start = True
    for char in paced(context, valid(text)):
        if is_upper(char) or is_title(char):
            made.append(to_lower(char))
            at_start = False
        elif is_lower(char):
            made.append(to_title(char) if at_start else to_upper(char))
            at_start = False
        else:
            made.append(char)
            at_start = is_space(char)
    return "".join(made)


def _separates(char: str) -> bool:
    """Tell whether a word may begin after this character, by the rule of Go's strings.Title."""
    if char.isascii():
        return not (char.isalnum() or char == "_")
    return is_space(char)
