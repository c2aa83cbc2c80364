"""Sends many independent writes at once, a bounded number at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 32
"""How many writes are on their way at most."""


async def each_in_parallel(items: Sequence[T], write: Callable[[T], Awaitable[None]]) -> None:
    """Write all items, begun in their order; what one raises ends all, and is raised as it is."""
    remaining = iter(items)

    async def worker() -> None:
        for item in remaining:
            await write(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(items))):
                group.create_task(worker())
    except BaseExceptionGroup as failures:
        # One is enough to know: the others are of the same pass, which is tried again as a whole.
        raise failures.exceptions[0] from None
