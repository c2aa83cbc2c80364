"""Sends many independent writes at once, a bounded number at a time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from lynq.controllers.together import together

T = TypeVar("T")

AT_ONCE: Final = 32
"""How many writes are on their way at most."""


async def each_in_parallel(items: Sequence[T], write: Callable[[T], Awaitable[None]]) -> None:
    """Write all items, begun in their order; what one raises ends all, and is raised as it is."""
    remaining = iter(items)

    async def worker() -> None:
        for item in remaining:
            await write(item)

    await together(worker() for _ in range(min(AT_ONCE, len(items))))
