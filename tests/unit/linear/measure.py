"""Measures whether work grows in proportion to its input."""

from collections.abc import Callable
from math import inf
from time import thread_time

SIZES = (1_024, 2_048, 4_096)
FAST = 0.001
"""Seconds. Quadratic work on 4,096 characters takes at least eight times as long."""
LIMIT = 8
"""Times as long for four times the input: linear work takes 4, quadratic 16."""
_FIRST_SIZES = range(16, 168, 8)
"""Exponential work is found here, before it takes forever: eight characters double it eight times
at the most."""


def seconds(work: Callable[[], object], *, rounds: int) -> float:
    """Return the CPU time of this thread, the least of some rounds."""
    best = inf
    for _ in range(rounds):
        began = thread_time()
        work()
        best = min(best, thread_time() - began)
    return best


def growth(work: Callable[[str], object], text: Callable[[int], str]) -> float:
    """Return how many times as long four times the input takes; 0 if that is fast anyway.

    Another process that runs meanwhile does not count, and a slow moment counts only if it comes
    back in each of five rounds.
    """

    def cost(size: int, rounds: int) -> float:
        sample = text(size)
        return seconds(lambda: work(sample), rounds=rounds)

    for size in _FIRST_SIZES:
        if cost(size, 1) > FAST and cost(size, 5) > FAST:
            return inf
    if cost(SIZES[-1], 1) < FAST:
        return 0
    small, _, large = (cost(size, 5) for size in SIZES)
    return large / small
