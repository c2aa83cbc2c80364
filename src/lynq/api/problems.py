"""A problem of a hub or form: where it is, what is wrong, and whether it can be used anyway."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.api.events import EventReason
from lynq.api.text import and_more

SHOWN: Final = 20
"""How many problems a message lists, unless told."""
_LONGEST: Final = 500
_WORD: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")


class ProblemKind(Enum):
    """How much a problem matters."""

    ERROR = "error"
    """The object cannot be used."""
    WARNING = "warning"
    """It can be used, and somebody will wonder."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct in a hub or form."""

    path: str
    """The field, for example `spec.deployments[1].nameTemplate`."""
    message: str
    kind: ProblemKind = ProblemKind.ERROR
    event: EventReason | None = None
    """The event of its own that scripts know this problem by, if it has one."""

    def __str__(self) -> str:
        """Write it as admission answers it."""
        return f"{self.path}: {self.message}"


def at_key(path: str, key: str) -> str:
    """Return the path of a key in a map."""
    return f"{path}.{key}" if _WORD.fullmatch(key) else f"{path}[{key}]"


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that keep the object from being used."""
    return tuple(each for each in problems if each.kind is ProblemKind.ERROR)


def warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that do not."""
    return tuple(each for each in problems if each.kind is ProblemKind.WARNING)


def summary(problems: Sequence[Problem], *, shown: int = SHOWN) -> str:
    """Return the problems as one message that fits into a condition, however many there are."""
    return and_more([_cut(str(each)) for each in problems], shown=shown, separator="; ")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
