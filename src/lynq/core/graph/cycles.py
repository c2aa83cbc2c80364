"""Find the circles in a graph: one for every knot of ids that all depend on each other.

A knot (a strongly connected component) can hold more circles than anyone wants to read, so one
stands for it: the shortest through the knot's first id in the canonical order. To find the
shortest of all would take quadratic time, and which id comes first does not change from one look
to the next.

Knots are found by Kosaraju's two walks: what a walk along the dependencies leaves last, and can
be reached against them, is one knot.
"""

from collections import deque
from collections.abc import Collection, Iterator

from lynq.core.graph.model import Edges, reverse


def find_cycles(dependencies: Edges) -> Iterator[tuple[str, ...]]:
    """Yield a circle per knot, each id once: every id depends on the next, the last on the first.

    An id that depends on itself alone makes no knot.
    """
    for knot in _components(dependencies):
        if len(knot) > 1:
            yield _cycle_in(dependencies, knot[0], set(knot))


def _components(dependencies: Edges) -> Iterator[list[str]]:
    """Yield the knots in the order of their first ids, each in the canonical order."""
    dependents = reverse(dependencies)
    knot_of: dict[str, str] = {}
    for root in reversed(_in_finish_order(dependencies)):
        ahead = [root]
        while ahead:
            this = ahead.pop()
            if this not in knot_of:
                knot_of[this] = root
                ahead += dependents[this]
    knots: dict[str, list[str]] = {}
    for this in dependencies:
        knots.setdefault(knot_of[this], []).append(this)
    yield from knots.values()


def _in_finish_order(edges: Edges) -> list[str]:
    """Walk depth-first, and return the ids as the walk leaves them for good."""
    left: list[str] = []
    seen: set[str] = set()
    for root in edges:
        if root in seen:
            continue
        seen.add(root)
        trail = [(root, iter(edges[root]))]
        while trail:
            this, ahead = trail[-1]
            step = next((end for end in ahead if end not in seen), None)
            if step is None:
                trail.pop()
                left.append(this)
            else:
                seen.add(step)
                trail.append((step, iter(edges[step])))
    return left


def _cycle_in(edges: Edges, first: str, knot: Collection[str]) -> tuple[str, ...]:
    """Return the shortest way from `first` back to it, breadth-first."""
    came_from: dict[str, str] = {}
    ahead = deque([first])
    while first not in came_from:
        this = ahead.popleft()
        for end in edges[this]:
            if end in knot and end not in came_from:
                came_from[end] = this
                ahead.append(end)
    way = [came_from[first]]
    while way[-1] != first:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))
