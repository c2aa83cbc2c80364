"""What can be wrong with ids and dependIds, in words for people and kinds for code."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_IDS_SHOWN = 12
_PROBLEMS_SHOWN = 20


class GraphProblemKind(Enum):
    """Which rule is broken."""

    EMPTY_ID = "empty id"
    DUPLICATE_ID = "duplicate id"
    UNKNOWN_DEPENDENCY = "unknown dependency"
    SELF_DEPENDENCY = "self-dependency"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """One thing that keeps resources from making a graph."""

    kind: GraphProblemKind
    ids: tuple[str, ...]
    """Whom it is about: the resource, then its dependency; or the circle, each id once."""
    message: str


class GraphError(Exception):
    """Ids and dependIds make no graph; nothing can be written."""

    def __init__(self, problems: Sequence[GraphProblem]) -> None:
        self.problems = tuple(problems)
        told = [problem.message for problem in self.problems[:_PROBLEMS_SHOWN]]
        if untold := len(self.problems) - len(told):
            told.append(f"and {untold} more")
        super().__init__("; ".join(told))


def empty_id(place: str) -> GraphProblem:
    """Tell of a resource without an id."""
    return GraphProblem(
        GraphProblemKind.EMPTY_ID, ("",), f"{place} has an empty id: every resource needs one"
    )


def duplicate_id(this: str, places: Sequence[str]) -> GraphProblem:
    """Tell of resources that share an id."""
    message = (
        f'duplicate id "{this}" of {_shortened(places, ", ")}: ids must be unique over all lists'
    )
    return GraphProblem(GraphProblemKind.DUPLICATE_ID, (this,), message)


def unknown_dependency(this: str, dependency: str) -> GraphProblem:
    """Tell of a dependency on something that is not there."""
    message = f'"{this}" depends on "{dependency}", which is the id of no resource'
    return GraphProblem(GraphProblemKind.UNKNOWN_DEPENDENCY, (this, dependency), message)


def self_dependency(this: str) -> GraphProblem:
    """Tell of a resource that waits for itself."""
    return GraphProblem(GraphProblemKind.SELF_DEPENDENCY, (this,), _circular([this]))


def cycle(ids: Sequence[str]) -> GraphProblem:
    """Tell of resources that wait for each other."""
    return GraphProblem(GraphProblemKind.CYCLE, tuple(ids), _circular(ids))


def _circular(ids: Sequence[str]) -> str:
    return f"circular dependency detected: {_shortened([*ids, ids[0]], ' -> ')}"


def _shortened(names: Sequence[str], separator: str) -> str:
    """Join the names; of many, the first ones and the last."""
    if untold := max(0, len(names) - _IDS_SHOWN):
        names = [*names[: _IDS_SHOWN - 1], f"({untold} more)", names[-1]]
    return separator.join(names)
