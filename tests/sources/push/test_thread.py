"""A thread of its own for what blocks: it always comes back."""

import asyncio
import threading

import pytest

from lynq.sources.push.thread import CoalescedCallback, run_in_thread
from waiting import eventually

NAME = "test worker"


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def wait_for(event: threading.Event) -> None:
    event.wait()


async def test_what_the_work_raises_is_raised_to_whoever_waits() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_in_thread(work, stop=lambda: None, name=NAME)
    assert not workers()


async def test_cancelling_stops_the_work_and_waits_for_the_thread() -> None:
    stopped = threading.Event()
    task = asyncio.create_task(
        run_in_thread(lambda: wait_for(stopped), stop=stopped.set, name=NAME)
    )
    await eventually(workers)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not workers()


async def test_cancelling_twice_still_waits_for_the_thread() -> None:
    told, allowed = threading.Event(), threading.Event()

    def work() -> None:
        told.wait()
        allowed.wait()

    task = asyncio.create_task(run_in_thread(work, stop=told.set, name=NAME))
    await eventually(workers)
    task.cancel()
    await eventually(told.is_set)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    allowed.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not workers()


async def test_pulls_while_the_loop_is_busy_ring_once() -> None:
    rings: list[int] = []
    callback = CoalescedCallback(lambda: rings.append(1))

    def pull() -> None:
        for _ in range(10_000):
            callback.schedule()

    thread = threading.Thread(target=pull)
    thread.start()
    thread.join()  # the loop is busy
    await eventually(lambda: rings)
    assert len(rings) == 1


async def test_the_last_pull_is_never_lost() -> None:
    seen: list[int] = []
    count = 0

    def work() -> None:
        nonlocal count
        for _ in range(20_000):
            count += 1
            callback.schedule()

    callback = CoalescedCallback(lambda: seen.append(count))
    await run_in_thread(work, stop=lambda: None, name=NAME)
    await eventually(lambda: seen and seen[-1] == 20_000)
