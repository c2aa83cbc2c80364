"""Slots of requests in flight: the limit, and the low priority of some requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lynq.kube.request_slots import RequestSlots
from virtual_time import virtual_time


@asynccontextmanager
async def low_priority(slots: RequestSlots, patience: float = 5.0) -> AsyncIterator[None]:
    """Hold a slot as a request of low priority does."""
    await slots.wait_until_quiet(patience)
    async with slots.semaphore:
        yield


class _Requests:
    """Requests that are in flight until they are finished."""

    def __init__(self, slots: RequestSlots) -> None:
        self._slots = slots
        self._finish = asyncio.Event()
        self.started: list[str] = []

    async def send(self, name: str) -> None:
        async with self._slots:
            self.started.append(name)
            await self._finish.wait()

    async def send_with_low_priority(self, name: str) -> None:
        async with low_priority(self._slots):
            self.started.append(name)

    def finish(self) -> None:
        self._finish.set()


@virtual_time
async def test_requests_over_the_limit_start_in_the_order_of_arrival() -> None:
    requests = _Requests(RequestSlots(2))
    async with asyncio.TaskGroup() as group:
        for name in ("create", "apply", "status", "event"):
            group.create_task(requests.send(name))
        await asyncio.sleep(1)
        assert requests.started == ["create", "apply"]
        requests.finish()
    assert requests.started == ["create", "apply", "status", "event"]


@virtual_time
async def test_request_of_low_priority_starts_when_few_others_are_in_flight() -> None:
    requests = _Requests(RequestSlots(16))
    async with asyncio.TaskGroup() as group:
        group.create_task(requests.send("apply"))
        await asyncio.sleep(0)
        await requests.send_with_low_priority("quiet")
        group.create_task(requests.send("status"))
        await asyncio.sleep(0)
        group.create_task(requests.send_with_low_priority("busy"))
        await asyncio.sleep(1)
        assert requests.started == ["apply", "quiet", "status"]
        requests.finish()
    assert requests.started == ["apply", "quiet", "status", "busy"]


@virtual_time
async def test_gap_between_two_requests_is_not_quiet() -> None:
    slots = RequestSlots(8)
    started = []
    loop = asyncio.get_running_loop()

    async def send_event() -> None:
        async with low_priority(slots):
            started.append(loop.time())

    async with asyncio.TaskGroup() as group:
        for number in range(10):
            async with slots:
                if number == 0:
                    group.create_task(send_event())
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.01)
        assert not started
        burst_ended = loop.time() - 0.01
    assert started == [pytest.approx(burst_ended + 0.05)]


@virtual_time
async def test_request_of_low_priority_starts_after_a_bounded_wait() -> None:
    requests = _Requests(RequestSlots(8))
    async with asyncio.TaskGroup() as group:
        group.create_task(requests.send("apply"))
        await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        await requests.send_with_low_priority("event")
        assert asyncio.get_running_loop().time() - began == 5
        requests.finish()


@virtual_time
async def test_requests_of_low_priority_wait_while_responses_take_long() -> None:
    slots, loop = RequestSlots(16), asyncio.get_running_loop()
    slots.record(0.001)
    responded = 0.0
    for seconds in (0.03, 1.0, 0.03):
        async with slots:
            slots.record(seconds)
            responded = loop.time()
        assert slots.is_busy
        await asyncio.sleep(0.1)
    async with low_priority(slots):
        assert loop.time() - responded == pytest.approx(0.5, abs=0.06)
        assert not slots.is_busy


@virtual_time
async def test_quick_response_delays_no_request_of_low_priority() -> None:
    slots, loop = RequestSlots(16), asyncio.get_running_loop()
    async with slots:
        slots.record(0.005)
    started = loop.time()
    async with low_priority(slots):
        assert loop.time() - started < 0.06


@virtual_time
async def test_request_of_low_priority_that_takes_long_delays_the_next_one() -> None:
    slots, loop = RequestSlots(16), asyncio.get_running_loop()
    slots.record(0.001)
    async with low_priority(slots):
        slots.record(1.0)
    started = loop.time()
    async with low_priority(slots):
        assert loop.time() - started == pytest.approx(0.5)


@virtual_time
async def test_distant_api_server_is_not_busy() -> None:
    slots = RequestSlots(16)
    for seconds in (0.2, 0.3, 0.7):
        slots.record(seconds)
    assert not slots.is_busy
    slots.record(0.9)
    assert slots.is_busy
