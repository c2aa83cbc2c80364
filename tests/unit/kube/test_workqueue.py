"""The rules of the work queue, one by one; test_workqueue_model.py combines them."""

import asyncio

import pytest
import uvloop
from prometheus_client import CollectorRegistry

from lynq.kube import Backoff, QueueClosed, QueuePriority, RuntimeMetrics, WorkQueue
from virtual_time import virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: WorkQueue[str], count: int) -> list[str]:
    """Get `count` keys and mark them as done."""
    keys = []
    for _ in range(count):
        keys.append(await queue.get())
        queue.done(keys[-1])
    return keys


@virtual_time
async def test_key_added_twice_is_returned_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("a")
    assert await taken(queue, 1) == ["a"]
    assert len(queue) == 0


def test_deadline_within_clock_resolution_is_due() -> None:
    async def play() -> list[str]:
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("soon", 0.0003)
        queue.add_after("later", 0.01)
        return await taken(queue, 2)

    # On uvloop, which has other timers than asyncio.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(play()) == ["soon", "later"]


@virtual_time
async def test_events_of_a_group_wait_until_they_are_taken() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "abc":
        queue.add(key, group="shop")
    queue.add("d", group="other")
    queue.add("periodic", group="shop", priority=QueuePriority.PERIODIC)
    queue.add_after("later", 60, group="shop")
    assert [queue.waiting_events(group) for group in ("shop", "other", "none")] == [3, 1, 0]
    await taken(queue, 1)
    assert queue.waiting_events("shop") == 2
    queue.add("periodic")
    assert queue.waiting_events("shop") == 3


@virtual_time
async def test_key_added_during_its_processing_is_returned_after_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await taken(queue, 1) == ["a"]
    assert len(queue) == 0


@virtual_time
async def test_add_wakes_a_waiting_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(queue.get())
        await asyncio.sleep(1)
        queue.add("a")
    assert worker.result() == "a"


@virtual_time
async def test_key_survives_cancellation_of_a_woken_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await second == "a"


@virtual_time
async def test_delayed_key_is_returned_at_its_deadline() -> None:
    queue: WorkQueue[str] = WorkQueue()
    start = now()
    queue.add_after("a", 10)
    assert await queue.get() == "a"
    assert now() - start == pytest.approx(10)


@virtual_time
@pytest.mark.parametrize("delays", [(10, 3), (3, 10)])
async def test_earlier_of_two_deadlines_wins(delays: tuple[float, float]) -> None:
    queue: WorkQueue[str] = WorkQueue()
    start = now()
    for delay in delays:
        queue.add_after("a", delay)
    assert await taken(queue, 1) == ["a"]
    assert now() - start == pytest.approx(3)
    await asyncio.sleep(100)
    assert len(queue) == 0


@virtual_time
async def test_immediate_add_replaces_a_delayed_one() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10)
    queue.add("a")
    assert await taken(queue, 1) == ["a"]
    await asyncio.sleep(100)
    assert len(queue) == 0


@virtual_time
async def test_deadline_during_processing_requeues_the_key_after_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.get()
    queue.add_after("a", 1)
    await asyncio.sleep(2)
    assert len(queue) == 0
    queue.done("a")
    assert await taken(queue, 1) == ["a"]


@virtual_time
async def test_back_off_doubles_to_its_cap_until_forget() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waits = []
    for _ in range(16):
        queue.retry("a")
        start = now()
        await taken(queue, 1)
        waits.append(now() - start)
    assert waits[:3] == pytest.approx([0.005, 0.01, 0.02])
    assert waits[12:] == pytest.approx([20.48, 30, 30, 30])
    queue.forget("a")
    queue.retry("a")
    start = now()
    await taken(queue, 1)
    assert now() - start == pytest.approx(0.005)


@virtual_time
async def test_jitter_extends_the_back_off() -> None:
    queue: WorkQueue[str] = WorkQueue(
        backoff=Backoff(base=1, cap=8, jitter=0.5, random=lambda: 1.0)
    )
    start = now()
    queue.retry("a")
    await taken(queue, 1)
    assert now() - start == pytest.approx(1.5)


@virtual_time
async def test_events_precede_periodic_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("sweep", priority=QueuePriority.PERIODIC)
    queue.add("event")
    assert await taken(queue, 2) == ["event", "sweep"]


@virtual_time
async def test_event_raises_the_priority_of_a_periodic_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", priority=QueuePriority.PERIODIC)
    queue.add("b", priority=QueuePriority.PERIODIC)
    queue.add("b")
    queue.add("b", priority=QueuePriority.PERIODIC)
    assert await taken(queue, 2) == ["b", "a"]


@virtual_time
async def test_every_eighth_key_is_periodic_while_both_wait() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(3):
        queue.add(f"sweep-{number}", priority=QueuePriority.PERIODIC)
    for number in range(100):
        queue.add(f"event-{number}")
    order = await taken(queue, 103)
    assert [place for place, key in enumerate(order, 1) if "sweep" in key] == [8, 16, 24]


@virtual_time
async def test_large_group_delays_another_by_one_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        queue.add(f"noisy-{number}", group="noisy")
    queue.add("quiet-0", group="quiet")
    queue.add("quiet-1", group="quiet")
    assert await taken(queue, 4) == ["noisy-0", "quiet-0", "noisy-1", "quiet-1"]


@virtual_time
async def test_retried_key_keeps_group_and_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", group="hub", priority=QueuePriority.PERIODIC)
    key = await queue.get()
    queue.retry(key)
    queue.done(key)
    queue.add("b", group="hub")
    queue.add("c", group="hub")
    await asyncio.sleep(1)
    assert await taken(queue, 3) == ["b", "c", "a"]


@virtual_time
async def test_close_wakes_all_waiters_and_drops_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    for ended in await asyncio.gather(*waiters, return_exceptions=True):
        assert isinstance(ended, QueueClosed)
    queue.add("a")
    with pytest.raises(QueueClosed):
        await queue.get()


@virtual_time
async def test_draining_queue_returns_ready_and_re_added_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("running")
    key = await queue.get()
    queue.add("running")
    queue.add("ready")
    queue.add_after("delayed", 1)
    queue.close(drain=True)
    assert await taken(queue, 1) == ["ready"]
    queue.done(key)
    assert await taken(queue, 1) == ["running"]
    with pytest.raises(QueueClosed):
        await queue.get()


@virtual_time
async def test_queue_records_depth_latency_and_duration() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue(metrics=RuntimeMetrics(registry).queue("lynqnode"))

    def sample(name: str) -> float | None:
        return registry.get_sample_value(name, {"name": "lynqnode"})

    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert sample("workqueue_depth") == 2
    assert sample("workqueue_adds_total") == 2
    await asyncio.sleep(3)
    await queue.get()
    await asyncio.sleep(2)
    assert sample("workqueue_depth") == 1
    assert sample("workqueue_queue_duration_seconds_sum") == pytest.approx(3)
    assert sample("workqueue_unfinished_work_seconds") == pytest.approx(2)
    assert sample("workqueue_longest_running_processor_seconds") == pytest.approx(2)
    queue.retry("a")
    queue.done("a")
    assert sample("workqueue_work_duration_seconds_sum") == pytest.approx(2)
    assert sample("workqueue_retries_total") == 1
    assert sample("workqueue_unfinished_work_seconds") == 0


@virtual_time
async def test_stale_deadlines_are_removed() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(10_000):
        queue.add_after("a", 30)
        queue.add("a")
        await taken(queue, 1)
    assert len(queue._delays._heap) < 200


@virtual_time
async def test_drop_removes_the_oldest_key_of_the_lowest_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("first", priority=QueuePriority.PERIODIC)
    queue.add("urgent")
    queue.add("second", priority=QueuePriority.PERIODIC)
    assert [queue.drop(), queue.drop(), queue.drop(), queue.drop()] == [
        "first",
        "second",
        "urgent",
        None,
    ]
    queue.add("first")
    assert await taken(queue, 1) == ["first"]
