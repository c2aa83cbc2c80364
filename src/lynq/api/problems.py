"""Problems of the spec of a hub or form: errors and warnings with the path of the field."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.api.events import EventReason
from lynq.api.text import and_more

SHOWN: Final = 20
"""Number of problems in a message, unless the caller chooses another."""
_MAX_LENGTH: Final = 500
_LIST_ENTRY: Final = re.compile(r"^spec\.\w+\[\d+\]\.")
_WORD: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")


class ProblemKind(Enum):
    """Severity of a problem."""

    ERROR = "error"
    """The object is invalid."""
    WARNING = "warning"
    """The object is valid, but may not do what its author expects."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a hub or form."""

    path: str
    """The field, for example `spec.deployments[1].nameTemplate`."""
    message: str
    kind: ProblemKind = ProblemKind.ERROR
    event: EventReason | None = None
    """The event reason of this problem, if it has one of its own."""
    resource: str = ""
    """The id of the resource that an error of a form is limited to: on every node, that resource
    fails and the others are applied. Empty if the error makes the whole object invalid."""

    @property
    def field_message(self) -> str:
        """The problem with the path of the field within its resource."""
        return f"{_LIST_ENTRY.sub('', self.path)}: {self.message}"

    def __str__(self) -> str:
        """Return path and message, as in a denial of the webhook."""
        return f"{self.path}: {self.message}"


def at_key(path: str, key: str) -> str:
    """Return the path of a key in a map."""
    return f"{path}.{key}" if _WORD.fullmatch(key) else f"{path}[{key}]"


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that make the object invalid."""
    return tuple(problem for problem in problems if problem.kind is ProblemKind.ERROR)


def fatal_errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the errors that are not limited to one resource."""
    return tuple(problem for problem in errors(problems) if not problem.resource)


def refused_resources(problems: Iterable[Problem]) -> dict[str, str]:
    """Return the resources of a form that fail on every node: the first error of each, by id."""
    refused: dict[str, str] = {}
    for problem in errors(problems):
        if problem.resource:
            refused.setdefault(problem.resource, problem.field_message)
    return refused


def warnings(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems of a valid object."""
    return tuple(problem for problem in problems if problem.kind is ProblemKind.WARNING)


def summary(problems: Sequence[Problem], *, shown: int = SHOWN) -> str:
    """Return the problems as one message of bounded length."""
    return and_more([_truncated(str(problem)) for problem in problems], shown=shown, separator="; ")


def _truncated(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
