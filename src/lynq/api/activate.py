"""The words of the activate column: yes, no, and what is neither.

A row is active if its text is exactly one of the words of the Go operator; nothing is trimmed. A
text that would be a yes without its blanks or in another case was most likely a yes that an import
has spoilt: `true `, `Y`, a 1 before a carriage return. It is unclear, and its row is set apart like
one without a usable uid. Every other text is a no. Only a word that means no deactivates a row at
once.
"""

from typing import Final

ACTIVE: Final = frozenset(("1", "true", "TRUE", "True", "yes", "YES", "Yes"))
"""The exact texts that make a row active."""

_YES: Final = frozenset(("1", "true", "yes", "y", "on", "t"))
_NO: Final = frozenset(("", "0", "false", "no", "off", "n", "f", "disabled", "inactive"))


def is_unclear(text: str) -> bool:
    """Return whether the text is neither yes nor no: it becomes a yes if it is normalized."""
    return text not in ACTIVE and text.strip().lower() in _YES


def means_no(text: str) -> bool:
    """Return whether the text is a word that means no, in any case, or empty; NULL is empty."""
    return text.lower() in _NO
