"""When a push channel wakes its hub: at once, seldom, and never too little."""

import asyncio
import contextlib
import functools

import pytest

from lynq.sources import SourceChange, SourceChangeKind, SourceError
from lynq.sources.errors import Refused, WrongPassword
from lynq.sources.push.channel import ChangeNotifier
from virtual_time import virtual_time

INTERVAL = 2.0
ARRIVED = SourceChange(SourceChangeKind.ARRIVED)
CONNECTED = SourceChange(SourceChangeKind.CONNECTED)


def now() -> float:
    return asyncio.get_running_loop().time()


async def heard(bell: ChangeNotifier, seconds: float) -> list[tuple[float, SourceChange]]:
    """Return what a bell says in the next seconds, and when."""
    began, words = now(), []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for word in bell:
                words.append((now() - began, word))  # noqa: PERF401 - the loop never ends
    return words


async def heard_kinds(bell: ChangeNotifier, seconds: float) -> list[str]:
    return [word.kind.value for _, word in await heard(bell, seconds)]


@virtual_time
async def test_the_first_change_wakes_at_once() -> None:
    bell = ChangeNotifier(INTERVAL)
    bell.changed()
    assert await heard(bell, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_a_change_wakes_a_hub_that_waits() -> None:
    bell = ChangeNotifier(INTERVAL)
    asyncio.get_running_loop().call_later(5, bell.changed)
    assert await heard(bell, 60) == [(5.0, ARRIVED)]


@virtual_time
async def test_the_last_change_of_a_burst_is_never_lost() -> None:
    bell = ChangeNotifier(INTERVAL)
    bell.changed()
    asyncio.get_running_loop().call_later(0.001, bell.changed)
    assert await heard(bell, 60) == [(0.0, ARRIVED), (INTERVAL, ARRIVED)]


@virtual_time
async def test_ten_thousand_changes_in_ten_seconds_are_a_handful_of_wake_ups() -> None:
    bell = ChangeNotifier(INTERVAL)
    for i in range(10_000):
        asyncio.get_running_loop().call_later(i / 1000, bell.changed)
    moments = [moment for moment, _ in await heard(bell, 60)]
    assert moments == pytest.approx([0, 2, 4, 6, 8, 10], abs=0.01)


@virtual_time
async def test_changes_while_the_hub_is_busy_are_one() -> None:
    bell = ChangeNotifier(INTERVAL)
    for _ in range(1000):
        bell.changed()
        await asyncio.sleep(0.01)
    assert await heard(bell, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_a_change_that_may_not_be_visible_yet_has_one_echo() -> None:
    bell = ChangeNotifier(INTERVAL)
    bell.changed(settled=False)
    assert await heard(bell, 60) == [(0.0, ARRIVED), (INTERVAL, ARRIVED)]


@virtual_time
async def test_a_burst_of_unsettled_changes_has_one_echo_after_the_last() -> None:
    bell = ChangeNotifier(INTERVAL)
    ring = functools.partial(bell.changed, settled=False)
    for i in range(100):
        asyncio.get_running_loop().call_later(i / 100, ring)
    moments = [moment for moment, _ in await heard(bell, 60)]
    assert moments == pytest.approx([0, 2, 4], abs=0.01)


@virtual_time
async def test_every_connection_is_told_and_wakes() -> None:
    bell = ChangeNotifier(INTERVAL)
    bell.connected()
    assert await heard(bell, 60) == [(0.0, CONNECTED), (0.0, ARRIVED)]
    bell.lost(Refused("nobody listens"))
    assert await heard_kinds(bell, 60) == ["lost"]
    bell.connected()
    assert await heard_kinds(bell, 60) == ["connected", "arrived"]


@virtual_time
async def test_a_reconnection_that_nobody_saw_still_wakes() -> None:
    bell = ChangeNotifier(INTERVAL)
    bell.connected()
    await heard(bell, 60)
    bell.lost(Refused("nobody listens"))
    bell.connected()
    assert await heard_kinds(bell, 60) == ["arrived"]


@virtual_time
async def test_the_same_loss_is_told_once_and_another_one_again() -> None:
    bell = ChangeNotifier(INTERVAL)
    errors: list[SourceError] = [Refused("a"), Refused("a"), WrongPassword("b")]
    told = []
    for error in errors:
        bell.lost(error)
        told += [(word.reason, word.message) for _, word in await heard(bell, 1)]
    assert told == [("Refused", "a"), ("WrongPassword", "b")]
