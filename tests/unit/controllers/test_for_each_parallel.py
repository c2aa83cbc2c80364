"""Many writes at once: bounded, in order, and one clear failure."""

import asyncio

import pytest

from lynq.controllers.concurrency import MAX_PARALLEL, for_each_parallel


async def test_parallel_items_are_bounded() -> None:
    begun: list[int] = []
    running = most = 0

    async def write(item: int) -> None:
        nonlocal running, most
        begun.append(item)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await for_each_parallel(range(200), write)

    assert begun == list(range(200))
    assert most == MAX_PARALLEL


async def test_failure_is_raised_as_itself_and_cancels_the_rest() -> None:
    begun = 0

    async def write(item: int) -> None:
        nonlocal begun
        begun += 1
        await asyncio.sleep(0)
        if item == 3:
            raise ValueError("the third")
        await asyncio.sleep(60)

    with pytest.raises(ValueError, match="the third"):
        await for_each_parallel(range(200), write)
    assert begun == MAX_PARALLEL


async def test_no_items_is_a_no_op() -> None:
    async def write(item: int) -> None:
        raise AssertionError(item)

    await for_each_parallel([], write)
