"""A failed channel reconnects with back-off, and its events are delivered."""

import asyncio
from itertools import pairwise

import pytest

from lynq.sources import ChangeStream, SourceChangeKind
from lynq.sources.errors import Refused
from lynq.sources.push.channel import ChangeNotifier, PushTiming, listening
from virtual_time import virtual_time

TIMING = PushTiming(interval=0.0, first_retry=1.0, longest_retry=30.0, stable_after=60.0)


def now() -> float:
    return asyncio.get_running_loop().time()


async def take(changes: ChangeStream, count: int) -> list[SourceChangeKind]:
    return [(await anext(aiter(changes))).kind for _ in range(count)]


@virtual_time
async def test_lost_channel_is_reported_and_reconnects_with_a_change() -> None:
    async def listen(notifier: ChangeNotifier) -> None:
        notifier.connected()
        await asyncio.sleep(10)
        raise Refused("gone")

    up = [SourceChangeKind.CONNECTED, SourceChangeKind.ARRIVED]
    async with listening(listen, TIMING) as changes:
        assert await take(changes, 5) == [*up, SourceChangeKind.LOST, *up]


@virtual_time
async def test_reconnects_back_off_with_jitter() -> None:
    attempts: list[float] = []

    async def listen(_: ChangeNotifier) -> None:
        attempts.append(now())
        raise Refused("refused")

    async with listening(listen, TIMING):
        await asyncio.sleep(300)
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    for pause, longest in zip(pauses, [1, 2, 4, 8, 16, 30, 30, 30], strict=False):
        assert longest / 2 <= pause <= longest
    assert len(set(pauses)) > 3


@virtual_time
async def test_backoff_starts_over_after_a_stable_connection() -> None:
    lengths = iter([0.0, 0.0, 0.0, 0.0, 100.0, 0.0])
    pauses: list[float] = []
    ended: list[float] = []

    async def listen(_: ChangeNotifier) -> None:
        if ended:
            pauses.append(now() - ended[-1])
        await asyncio.sleep(next(lengths, 1000.0))
        ended.append(now())
        raise Refused("gone")

    async with listening(listen, TIMING):
        await asyncio.sleep(200)
    assert pauses[3] >= 4
    assert pauses[4] <= 1


@virtual_time
async def test_unexpected_exception_is_reported_as_loss() -> None:
    failures = iter([KeyError("secret")])

    async def listen(notifier: ChangeNotifier) -> None:
        for failure in failures:
            raise failure
        notifier.connected()
        await asyncio.Event().wait()

    async with listening(listen, TIMING) as changes:
        lost = await anext(aiter(changes))
        assert lost.kind is SourceChangeKind.LOST
        assert "KeyError" in lost.message
        assert "secret" not in lost.message
        assert await take(changes, 1) == [SourceChangeKind.CONNECTED]


async def test_listener_ends_with_the_block() -> None:
    cleaned = False

    async def listen(_: ChangeNotifier) -> None:
        nonlocal cleaned
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned = True

    before = asyncio.all_tasks()
    async with listening(listen, TIMING):
        await asyncio.sleep(0)
    assert cleaned
    assert asyncio.all_tasks() <= before


async def test_exception_of_the_hub_propagates() -> None:
    async def listen(_: ChangeNotifier) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ZeroDivisionError):
        async with listening(listen, TIMING):
            raise ZeroDivisionError
