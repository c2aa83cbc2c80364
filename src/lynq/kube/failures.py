"""How a contained exception is logged: its own words and where it was raised.

The usual traceback would also print the words of whatever caused it, and those of a database
driver or an API server can hold values that must not be in a log.
"""

import traceback
from typing import Final

_FRAMES: Final = 12


def error_text(error: BaseException) -> str:
    """Return what kind of exception it is and what it says itself."""
    return f"{type(error).__name__}: {error}"


def error_location(error: BaseException) -> str:
    """Return where it was raised: files, lines and source, no values."""
    return "".join(traceback.format_tb(error.__traceback__, limit=-_FRAMES))
