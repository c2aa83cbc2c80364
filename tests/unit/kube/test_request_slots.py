"""Slots of requests in flight: the limit, and the low priority of some requests."""

import asyncio

from lynq.kube.request_slots import RequestSlots
from virtual_time import virtual_time


class _Requests:
    """Requests that are in flight until they are finished."""

    def __init__(self, slots: RequestSlots) -> None:
        self._slots = slots
        self._finish = asyncio.Event()
        self.started: list[str] = []

    async def send(self, name: str) -> None:
        async with self._slots.hold():
            self.started.append(name)
            await self._finish.wait()

    async def send_with_low_priority(self, name: str) -> None:
        async with self._slots.hold_if_quiet():
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
async def test_request_of_low_priority_starts_after_a_bounded_wait() -> None:
    requests = _Requests(RequestSlots(8, patience=5))
    async with asyncio.TaskGroup() as group:
        group.create_task(requests.send("apply"))
        await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        await requests.send_with_low_priority("event")
        assert asyncio.get_running_loop().time() - began == 5
        requests.finish()
