"""Wait on a condition with a deadline, in place of sleeping and hoping."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def eventually(
    condition: Callable[[], Awaitable[T]], *, within: float = ..., every: float = ...
) -> T: ...


@overload
async def eventually(
    condition: Callable[[], T], *, within: float = ..., every: float = ...
) -> T: ...


async def eventually(
    condition: Callable[[], Any], *, within: float = 10.0, every: float = 0.02
) -> Any:
    """Return the first truthy answer of `condition`, or fail when the deadline has passed.

    An AssertionError of the condition counts as "not yet"; the last one is what the test shows.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        problem: AssertionError | None = None
        try:
            answer = condition()
            value = await answer if inspect.isawaitable(answer) else answer
        except AssertionError as error:
            problem = error
        else:
            if value:
                return value
        if loop.time() >= deadline:
            raise problem or AssertionError(f"not so within {within} s")
        await asyncio.sleep(every)
