"""The controller: success, failure and cancellation of reconciles."""

import asyncio

import pytest
import structlog
from prometheus_client import CollectorRegistry

from lynq.kube import Controller, Result, RuntimeMetrics, WorkQueue
from lynq.kube.errors import KubeError
from virtual_time import virtual_time


class Script:
    """A scripted reconcile that records its keys and times."""

    def __init__(self, *answers: Result | BaseException) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[str, float]] = []

    async def __call__(self, key: str) -> Result:
        self.calls.append((key, asyncio.get_running_loop().time() - 1000))
        answer = self._answers.pop(0) if self._answers else Result()
        if isinstance(answer, Result):
            return answer
        raise answer

    @property
    def times(self) -> list[float]:
        return [moment for _, moment in self.calls]


async def play(controller: Controller[str], queue: WorkQueue[str], *, seconds: float = 60) -> None:
    """Run the controller on the key "a" for a while, then stop it."""
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run())
        queue.add("a")
        await asyncio.sleep(seconds)
        controller.stop()


@virtual_time
async def test_successful_reconcile_is_not_repeated() -> None:
    queue: WorkQueue[str] = WorkQueue()
    script = Script()
    await play(Controller("test", queue, script), queue)
    assert script.calls == [("a", 0)]


@virtual_time
async def test_requeue_after_requeues_the_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    script = Script(Result(requeue_after=10), Result(requeue_after=20))
    await play(Controller("test", queue, script), queue)
    assert script.times == pytest.approx([0, 10, 30])


@virtual_time
async def test_failure_is_retried_with_back_off_until_success() -> None:
    queue: WorkQueue[str] = WorkQueue()
    fault = KubeError("not now")
    script = Script(fault, fault, Result(requeue_after=1), fault)
    await play(Controller("test", queue, script), queue)
    assert script.times == pytest.approx([0, 0.005, 0.015, 1.015, 1.020])


@virtual_time
async def test_requeue_after_zero_backs_off() -> None:
    queue: WorkQueue[str] = WorkQueue()
    script = Script(*[Result(requeue_after=0)] * 3)
    await play(Controller("test", queue, script), queue)
    assert script.times == pytest.approx([0, 0.005, 0.015, 0.035])


@virtual_time
async def test_unexpected_exception_is_contained_and_counted_as_panic() -> None:
    registry = CollectorRegistry()
    queue: WorkQueue[str] = WorkQueue()
    script = Script(ValueError("a bug"), KubeError("an answer"), asyncio.CancelledError())
    metrics = RuntimeMetrics(registry).controller("test")
    await play(Controller("test", queue, script, metrics=metrics), queue)

    def sample(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"controller": "test", **labels})

    assert len(script.calls) == 4
    assert sample("controller_runtime_reconcile_total", result="error") == 3
    assert sample("controller_runtime_reconcile_total", result="success") == 1
    assert sample("controller_runtime_reconcile_errors_total") == 3
    assert sample("controller_runtime_reconcile_panics_total") == 2
    assert sample("controller_runtime_reconcile_time_seconds_count") == 4
    assert sample("controller_runtime_max_concurrent_reconciles") == 1
    assert sample("controller_runtime_active_workers") == 0


@virtual_time
async def test_log_of_an_unexpected_exception_omits_its_cause() -> None:
    queue: WorkQueue[str] = WorkQueue()
    secret = "hunter2"

    async def reconcile(_: str) -> Result:
        raise ValueError("the row cannot be read") from RuntimeError(secret)

    with structlog.testing.capture_logs() as logs:
        await play(Controller("test", queue, reconcile), queue, seconds=0.001)
    [line] = logs
    assert line["error"] == "ValueError: the row cannot be read"
    assert "in reconcile" in line["traceback"]
    assert secret not in str(logs)


@virtual_time
async def test_keys_are_parallel_but_one_key_is_never_processed_twice() -> None:
    queue: WorkQueue[str] = WorkQueue()
    working: set[str] = set()
    widest = 0

    async def reconcile(key: str) -> Result:
        nonlocal widest
        assert key not in working
        working.add(key)
        widest = max(widest, len(working))
        queue.add(key)
        await asyncio.sleep(1)
        working.remove(key)
        return Result()

    queue.add("b")
    queue.add("c")
    await play(Controller("test", queue, reconcile, workers=2), queue, seconds=30)
    assert widest == 2


@virtual_time
async def test_many_quick_reconciles_do_not_starve_other_tasks() -> None:
    queue: WorkQueue[str] = WorkQueue()
    script = Script()
    for number in range(1000):
        queue.add(f"key-{number}")
    controller = Controller("test", queue, script)
    async with asyncio.TaskGroup() as group:
        group.create_task(controller.run())
        for _ in range(10):
            await asyncio.sleep(0)
        assert 0 < len(script.calls) <= 10
        controller.stop()


@virtual_time
async def test_stop_finishes_running_reconciles_and_starts_no_other() -> None:
    queue: WorkQueue[str] = WorkQueue()
    finished = []

    async def reconcile(key: str) -> Result:
        await asyncio.sleep(3)
        finished.append(key)
        return Result(requeue_after=1)

    queue.add("b")
    await play(Controller("test", queue, reconcile, grace=5), queue, seconds=1)
    assert finished == ["b"]


@virtual_time
async def test_stop_cancels_reconciles_after_the_grace_period() -> None:
    queue: WorkQueue[str] = WorkQueue()
    cancelled_at: list[float] = []

    async def reconcile(_: str) -> Result:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled_at.append(asyncio.get_running_loop().time() - 1000)
            raise
        return Result()

    await play(Controller("test", queue, reconcile, grace=5), queue, seconds=1)
    assert cancelled_at == pytest.approx([6])


@virtual_time
async def test_released_worker_takes_the_next_key_while_its_reconcile_goes_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    started: list[tuple[str, float]] = []
    now = asyncio.get_running_loop().time

    async def reconcile(key: str) -> Result:
        started.append((key, now() - 1000))
        if key.startswith("slow"):
            await asyncio.sleep(1)
            controller.release_worker(key)
            controller.release_worker(key)
        await asyncio.sleep(10)
        return Result()

    controller = Controller("test", queue, reconcile, workers=1, spare_workers=2)
    for key in ("slow-1", "slow-2", "b", "c"):
        queue.add(key)
    await play(controller, queue, seconds=40)
    # A released worker is one key more, not two; afterwards there is one worker again.
    assert started == [("slow-1", 0), ("slow-2", 1), ("b", 2), ("c", 12), ("a", 22)]


@virtual_time
async def test_spare_workers_bound_the_reconciles_without_a_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    widest = running = 0

    async def reconcile(key: str) -> Result:
        nonlocal widest, running
        running += 1
        widest = max(widest, running)
        controller.release_worker(key)
        await asyncio.sleep(10)
        running -= 1
        return Result()

    controller = Controller("test", queue, reconcile, workers=2, spare_workers=3)
    for number in range(50):
        queue.add(f"key-{number}")
    await play(controller, queue, seconds=200)
    assert (widest, len(queue)) == (5, 0)


@virtual_time
async def test_stop_ends_spare_workers_at_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    controller = Controller("test", queue, Script(), workers=2, spare_workers=8, grace=60)
    await play(controller, queue, seconds=1)
    assert asyncio.get_running_loop().time() == pytest.approx(1001)
