"""Jobs run in one group, end when they are cancelled, and need nobody to wait for them."""

import asyncio

from background_tasks import run_in_background
from lynq.controllers.concurrency import BackgroundJobs
from waiting import eventually


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
        raise AssertionError("it was cancelled before it began")

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
