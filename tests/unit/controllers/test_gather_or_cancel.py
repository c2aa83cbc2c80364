"""Several requests at once."""

import asyncio

import pytest

from lynq.controllers.concurrency import gather_or_cancel


async def test_results_keep_their_order() -> None:
    async def after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    assert await gather_or_cancel(after(seconds) for seconds in (0.02, 0.0, 0.01)) == [
        0.02,
        0.0,
        0.01,
    ]


async def test_first_failure_is_raised_as_itself_and_cancels_the_rest() -> None:
    ended = asyncio.Event()

    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("one")

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(KeyError, match="one"):
        await gather_or_cancel([fail(), wait()])
    assert ended.is_set()
