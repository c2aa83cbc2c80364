"""What can be wrong with ids and dependIds, in words for people and kinds for code."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_IDS_SHOWN = 12
_PROBLEMS_SHOWN = 20


class ProblemKind(Enum):
    """Which rule is broken."""

    EMPTY_ID = "empty id"
    DUPLICATE_ID = "duplicate id"
    UNKNOWN_DEPENDENCY = "unknown dependency"
    SELF_DEPENDENCY = "self-dependency"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps resources from making a graph."""

    kind: ProblemKind
    ids: tuple[str, ...]
    """Whom it is about: the resource, then its dependency; or the circle, each id once."""
    message: str


class GraphError(Exception):
    """Ids and dependIds make no graph; nothing can be written."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        told = [problem.message for problem in self.problems[:_PROBLEMS_SHOWN]]
        if untold := len(self.problems) - len(told):
            told.append(f"and {untold} more")
        super().__init__("; ".join(told))


def empty_id(place: str) -> Problem:
    """Tell of a resource without an id."""
    return Problem(
        ProblemKind.EMPTY_ID, ("",), f"{place} has an empty id: every resource needs one"
    )


def duplicate_id(this: str, places: Sequence[str]) -> Problem:
    """Tell of resources that share an id."""
    message = (
        f'duplicate id "{this}" of {_shortened(places, ", ")}: ids must be unique over all lists'
    )
    return Problem(ProblemKind.DUPLICATE_ID, (this,), message)


def unknown_dependency(this: str, dependency: str) -> Problem:
    """Tell of a dependency on something that is not there."""
    message = f'"{this}" depends on "{dependency}", which is the id of no resource'
    return Problem(ProblemKind.UNKNOWN_DEPENDENCY, (this, dependency), message)


def self_dependency(this: str) -> Problem:
    """Tell of a resource that waits for itself."""
    return Problem(ProblemKind.SELF_DEPENDENCY, (this,), _circular([this]))


def cycle(ids: Sequence[str]) -> Problem:
    """Tell of resources that wait for each other."""
    return Problem(ProblemKind.CYCLE, tuple(ids), _circular(ids))


def _circular(ids: Sequence[str]) -> str:
    return f"circular dependency detected: {_shortened([*ids, ids[0]], ' -> ')}"


def _shortened(names: Sequence[str], separator: str) -> str:
    """Join the names; of many, the first ones and the last."""
    if untold := max(0, len(names) - _IDS_SHOWN):
        names = [*names[: _IDS_SHOWN - 1], f"({untold} more)", names[-1]]
    return separator.join(names)
