"""Problems of ids and dependIds: a kind for code and a message for users."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.api.text import and_more

_IDS_SHOWN: Final = 12
_PROBLEMS_SHOWN: Final = 20


class GraphProblemKind(Enum):
    """The rule that is violated."""

    EMPTY_ID = "empty id"
    DUPLICATE_ID = "duplicate id"
    UNKNOWN_DEPENDENCY = "unknown dependency"
    SELF_DEPENDENCY = "self-dependency"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """One violation that prevents building the graph."""

    kind: GraphProblemKind
    ids: tuple[str, ...]
    """The ids concerned: the resource, then its dependency; or the cycle, each id once."""
    message: str


class GraphError(Exception):
    """The ids and dependIds of a spec are invalid, so nothing can be applied."""

    def __init__(self, problems: Sequence[GraphProblem]) -> None:
        self.problems = tuple(problems)
        messages = [problem.message for problem in self.problems]
        super().__init__(and_more(messages, shown=_PROBLEMS_SHOWN, separator="; "))


def empty_id(path: str) -> GraphProblem:
    """Return the problem of a resource without an id."""
    return GraphProblem(GraphProblemKind.EMPTY_ID, ("",), f"{path} has no id: an id is required")


def duplicate_id(resource_id: str, paths: Sequence[str]) -> GraphProblem:
    """Return the problem of resources that share an id."""
    message = (
        f'duplicate id "{resource_id}" in {_shortened(paths, ", ")}: '
        "ids must be unique across all lists"
    )
    return GraphProblem(GraphProblemKind.DUPLICATE_ID, (resource_id,), message)


def unknown_dependency(resource_id: str, dependency: str) -> GraphProblem:
    """Return the problem of a dependency on an id that no resource has."""
    message = f'"{resource_id}" depends on "{dependency}", but no resource has this id'
    return GraphProblem(GraphProblemKind.UNKNOWN_DEPENDENCY, (resource_id, dependency), message)


def self_dependency(resource_id: str) -> GraphProblem:
    """Return the problem of a resource that depends on itself."""
    return GraphProblem(GraphProblemKind.SELF_DEPENDENCY, (resource_id,), _circular([resource_id]))


def cycle(ids: Sequence[str]) -> GraphProblem:
    """Return the problem of resources that depend on each other."""
    return GraphProblem(GraphProblemKind.CYCLE, tuple(ids), _circular(ids))


def _circular(ids: Sequence[str]) -> str:
    return f"circular dependency detected: {_shortened([*ids, ids[0]], ' -> ')}"


def _shortened(names: Sequence[str], separator: str) -> str:
    """Join the names; of a long list, only the first names and the last."""
    if hidden := max(0, len(names) - _IDS_SHOWN):
        names = [*names[: _IDS_SHOWN - 1], f"({hidden} more)", names[-1]]
    return separator.join(names)
