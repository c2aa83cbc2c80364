"""How long a sentence may be in a node's status, an object of at most 1.5 MB."""

from typing import Final

from lynq.api.text import one_line

_LONGEST: Final = 1000
_CONDITION: Final = 8000


def fit(text: str) -> str:
    """Return the text for one resource."""
    return one_line(text, _LONGEST)


def fit_condition(text: str) -> str:
    """Return the text for a condition, which the API server takes up to 32,768 characters."""
    return one_line(text, _CONDITION)
