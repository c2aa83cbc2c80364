"""Threads of push channels: they end with their channel."""

import asyncio
import threading
import time

import pytest

from lynq.sources.push.channel import MAX_UIDS
from lynq.sources.push.thread import CoalescedCallback, run_in_thread
from waiting import eventually

NAME = "test worker"


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def wait_for(event: threading.Event) -> None:
    event.wait()


async def test_exception_of_the_work_propagates() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_in_thread(work, stop=lambda: None, name=NAME)
    assert not workers()


async def test_cancellation_stops_the_work_and_waits_for_the_thread() -> None:
    stopped = threading.Event()
    task = asyncio.create_task(
        run_in_thread(lambda: wait_for(stopped), stop=stopped.set, name=NAME)
    )
    await eventually(workers)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not workers()


async def test_second_cancellation_still_waits_for_the_thread() -> None:
    stopped, allowed = threading.Event(), threading.Event()

    def work() -> None:
        stopped.wait()
        allowed.wait()

    task = asyncio.create_task(run_in_thread(work, stop=stopped.set, name=NAME))
    await eventually(workers)
    task.cancel()
    await eventually(stopped.is_set)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    allowed.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not workers()


async def test_schedules_while_the_loop_is_busy_run_the_callback_once() -> None:
    calls: list[int] = []
    callback = CoalescedCallback(lambda _: calls.append(1))

    def schedule() -> None:
        for _ in range(10_000):
            callback.schedule()

    thread = threading.Thread(target=schedule)
    thread.start()
    thread.join()  # the loop is busy
    await eventually(lambda: calls)
    assert len(calls) == 1


async def test_last_schedule_is_never_lost() -> None:
    seen: list[int] = []
    count = 0

    def work() -> None:
        nonlocal count
        for _ in range(20_000):
            count += 1
            callback.schedule()

    callback = CoalescedCallback(lambda _: seen.append(count))
    await run_in_thread(work, stop=lambda: None, name=NAME)
    await eventually(lambda: seen and seen[-1] == 20_000)


async def test_uids_of_all_schedules_reach_the_callback() -> None:
    seen: set[str] = set()

    def work() -> None:
        # As many as one callback carries: a loop that is late may have to carry all of them.
        for number in range(MAX_UIDS):
            callback.schedule(frozenset({str(number)}))
            if not number % 100:
                time.sleep(0.001)

    def record(uids: frozenset[str] | None) -> None:
        assert uids is not None
        seen.update(uids)

    callback = CoalescedCallback(record)
    await run_in_thread(work, stop=lambda: None, name=NAME)
    await eventually(lambda: len(seen) == MAX_UIDS)
