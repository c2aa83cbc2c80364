"""Sort ids into waves: the level of an id is one more than the highest of its dependencies."""

from dataclasses import dataclass

from lynq.core.graph.model import Edges, Waves, reverse


@dataclass(frozen=True, slots=True)
class Layers:
    """Ids by level, in the canonical order within one."""

    waves: Waves
    rest: tuple[str, ...]
    """What has no level: the members of circles, and everything that depends on one."""


def layer(dependencies: Edges) -> Layers:
    """Give every id the lowest level that is above all of its dependencies."""
    levels = _levels(dependencies)
    waves: list[list[str]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    rest: list[str] = []
    # Filled in the canonical order, so that no wave has to be sorted.
    for this in dependencies:
        place = waves[levels[this]] if this in levels else rest
        place.append(this)
    return Layers(tuple(map(tuple, waves)), tuple(rest))


def _levels(dependencies: Edges) -> dict[str, int]:
    dependents = reverse(dependencies)
    missing = {this: len(ends) for this, ends in dependencies.items()}
    levels: dict[str, int] = {}
    wave = [this for this, count in missing.items() if count == 0]
    level = 0
    while wave:
        following: list[str] = []
        for this in wave:
            levels[this] = level
            for dependent in dependents[this]:
                missing[dependent] -= 1
                if missing[dependent] == 0:
                    following.append(dependent)
        wave = following
        level += 1
    return levels
