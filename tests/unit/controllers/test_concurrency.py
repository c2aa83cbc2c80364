"""Concurrent requests of a reconcile, and background jobs."""

import asyncio
import gc
from collections.abc import Callable
from functools import partial

import pytest

from background_tasks import run_in_background
from lynq.controllers.concurrency import (
    MAX_PARALLEL,
    BackgroundJobs,
    for_each_parallel,
    gather_or_cancel,
    run_beside,
)
from virtual_time import virtual_time
from waiting import eventually, stays


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


def delays(*seconds: float) -> Callable[[], float]:
    """Return these delays one after the other, and then none."""
    return partial(next, iter(seconds), 0)


async def test_action_runs_beside_work_that_takes_long() -> None:
    acted = asyncio.Event()

    async def act() -> None:
        acted.set()

    async def work() -> str:
        await acted.wait()
        return "done"

    assert await run_beside(work(), delays(0.01), act) == "done"


@virtual_time
async def test_action_waits_until_there_is_no_delay_any_more() -> None:
    loop = asyncio.get_running_loop()
    acted_at = 0.0

    async def act() -> None:
        nonlocal acted_at
        acted_at = loop.time()

    started = loop.time()
    await run_beside(asyncio.sleep(10), delays(1, 2, 3), act)
    assert acted_at - started == pytest.approx(6)


async def test_quick_work_needs_no_action() -> None:
    async def act() -> None:
        raise AssertionError

    async def work() -> str:
        return "done"

    assert await run_beside(work(), delays(10), act) == "done"


async def test_failed_action_cancels_the_work() -> None:
    ended = asyncio.Event()

    async def act() -> None:
        raise KeyError("changed")

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(KeyError, match="changed"):
        await run_beside(work(), delays(0.01), act)
    assert ended.is_set()


async def test_failed_work_is_raised_as_itself() -> None:
    async def act() -> None:
        return

    async def work() -> None:
        await asyncio.sleep(0.01)
        raise KeyError("one")

    with pytest.raises(KeyError, match="one"):
        await run_beside(work(), delays(), act)


async def test_failure_of_work_is_not_logged_if_the_action_fails_too() -> None:
    unretrieved: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unretrieved.append(context))

    async def act() -> None:
        await asyncio.sleep(0.02)
        raise KeyError("action")

    async def work() -> None:
        await asyncio.sleep(0.01)
        raise KeyError("work")

    with pytest.raises(KeyError, match="action"):
        await run_beside(work(), delays(), act)
    gc.collect()
    assert not unretrieved


async def test_parallel_items_are_bounded() -> None:
    started: list[int] = []
    running = peak = 0

    async def process(item: int) -> None:
        nonlocal running, peak
        started.append(item)
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1

    await for_each_parallel(range(200), process)

    assert started == list(range(200))
    assert peak == MAX_PARALLEL


async def test_changed_limit_counts_for_the_next_item() -> None:
    running = 0
    limit = 4
    peaks: list[int] = []

    async def process(item: int) -> None:
        nonlocal running, limit
        running += 1
        peaks.append(running)
        await asyncio.sleep(0)
        limit = {10: 1, 20: 6}.get(item, limit)
        running -= 1

    await for_each_parallel(range(40), process, lambda: limit)

    assert len(peaks) == 40
    assert max(peaks[:10]) == 4
    # Three more were started before the limit fell.
    assert set(peaks[14:20]) == {1}
    assert max(peaks[21:30]) == 6


async def test_limit_of_zero_starts_nothing_until_it_is_raised() -> None:
    limit = 0
    processed: list[int] = []

    async def process(item: int) -> None:
        processed.append(item)

    work = asyncio.create_task(for_each_parallel(range(40), process, lambda: limit))
    await stays(lambda: not processed and not work.done(), seconds=0.1)
    limit = 4
    await work
    assert processed == list(range(40))


async def test_failure_is_raised_as_itself_and_cancels_the_rest() -> None:
    started = 0

    async def process(item: int) -> None:
        nonlocal started
        started += 1
        await asyncio.sleep(0)
        if item == 3:
            raise ValueError("the third")
        await asyncio.sleep(60)

    with pytest.raises(ValueError, match="the third"):
        await for_each_parallel(range(200), process)
    assert started == MAX_PARALLEL


async def test_no_items_is_a_no_op() -> None:
    async def process(item: int) -> None:
        raise AssertionError(item)

    await for_each_parallel([], process)


async def test_jobs_started_before_and_after_run_both_run() -> None:
    jobs, done = BackgroundJobs(), list[str]()

    async def work() -> None:
        done.append("done")

    jobs.start(work, name="before")
    async with run_in_background(jobs.run()):
        jobs.start(work, name="after")
        await eventually(lambda: len(done) == 2)


async def test_canceled_job_ends_and_pending_one_never_starts() -> None:
    jobs, ended = BackgroundJobs(), asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def never() -> None:
        raise AssertionError("canceled before its start")

    job = jobs.start(wait, name="long")
    jobs.start(never, name="never").cancel()
    async with run_in_background(jobs.run()):
        await asyncio.sleep(0.01)
        assert not ended.is_set()
        job.cancel()
        await asyncio.wait_for(ended.wait(), 1)


async def test_end_of_run_cancels_all_jobs() -> None:
    jobs, ended = BackgroundJobs(), asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with run_in_background(jobs.run()):
        jobs.start(wait, name="long")
        await asyncio.sleep(0.01)
    assert ended.is_set()
