"""Several requests at once, each awaited, whatever becomes of the others."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 32
"""How many of many are on their way at most."""


async def gather_or_cancel(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results in their order; if one fails, the others are cancelled and it is raised.

    It is raised as itself and not as a group: a reconcile has one way to fail at a time.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


async def for_each_parallel(items: Sequence[T], write: Callable[[T], Awaitable[None]]) -> None:
    """Write all items, begun in their order; what one raises ends all, and is raised as it is."""
    remaining = iter(items)

    async def worker() -> None:
        for item in remaining:
            await write(item)

    await gather_or_cancel(worker() for _ in range(min(AT_ONCE, len(items))))


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
