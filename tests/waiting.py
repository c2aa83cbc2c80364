"""Wait on conditions.

`eventually` returns when one holds, `settled` when a value rests, `stays` if one keeps holding, and
`at_most` fails if a block takes too long.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

T = TypeVar("T")


class DeadlineError(AssertionError):
    """A condition did not hold in time."""


class InvariantError(AssertionError):
    """A condition that must keep holding ceased to hold: a slow machine is no excuse."""


@contextmanager
def at_most(*, seconds: float) -> Iterator[None]:
    """Fail with a DeadlineError if the block takes longer: the machine may have been slow."""
    start = time.monotonic()
    yield
    if (elapsed := time.monotonic() - start) > seconds:
        raise DeadlineError(f"the block took {elapsed:.2f} s, not at most {seconds} s")


@overload
async def eventually(
    condition: Callable[[], Awaitable[T]], *, within: float = ..., every: float = ...
) -> T: ...


@overload
async def eventually(
    condition: Callable[[], T], *, within: float = ..., every: float = ...
) -> T: ...


async def eventually(
    condition: Callable[[], Any], *, within: float = 20.0, every: float = 0.02
) -> Any:
    """Return the first truthy result of `condition`, or fail after the deadline.

    The deadline is generous: it is no claim about speed, and a shared machine is slow at times.
    An AssertionError of the condition counts as "not yet", and so does the absence of a key or item
    that it reads; the last one is the failure's cause.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        problem: AssertionError | LookupError | None = None
        try:
            value = await _evaluate(condition)
        except (AssertionError, LookupError) as error:
            problem = error
        else:
            if value:
                return value
        if loop.time() >= deadline:
            why = f": {problem!r}" if problem else ""
            raise DeadlineError(f"the condition did not hold within {within} s{why}") from problem
        await asyncio.sleep(every)


async def stays(condition: Callable[[], Any], *, seconds: float, every: float = 0.02) -> None:
    """Return when `condition` held at every poll for `seconds`; fail as soon as it does not.

    The condition is a sync or async callable; a falsy result or an AssertionError is a failure.
    It is evaluated at the start and at the end, also if `seconds` is shorter than `every`.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    deadline = start + seconds
    while True:
        value = await _evaluate(condition)
        now = loop.time()
        if not value:
            elapsed = now - start
            raise InvariantError(f"the condition ceased to hold after {elapsed:.2f} of {seconds} s")
        if now >= deadline:
            return
        # `seconds` minus what elapsed may be too little to change the time of a virtual clock.
        await asyncio.sleep(min(every, deadline - now))


async def settled(value: Callable[[], object], *, seconds: float, within: float = 30.0) -> None:
    """Return when `value` was the same at every poll for `seconds`; fail after the deadline."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    last, since = value(), loop.time()
    while loop.time() - since < seconds:
        await asyncio.sleep(0.02)
        if (current := value()) != last:
            last, since = current, loop.time()
        if loop.time() >= deadline:
            raise DeadlineError(f"the value still changed after {within} s")


async def _evaluate(condition: Callable[[], Any]) -> Any:
    result = condition()
    return await result if inspect.isawaitable(result) else result
