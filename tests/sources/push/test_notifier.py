"""When a notifier delivers changes: at once, rate-limited, and without losing the last one."""

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


async def delivered(notifier: ChangeNotifier, seconds: float) -> list[tuple[float, SourceChange]]:
    """Return the events of the next seconds, each with its time."""
    started, events = now(), []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for event in notifier:
                events.append((now() - started, event))  # noqa: PERF401 - the loop never ends
    return events


async def delivered_kinds(notifier: ChangeNotifier, seconds: float) -> list[str]:
    return [event.kind.value for _, event in await delivered(notifier, seconds)]


@virtual_time
async def test_first_change_is_delivered_at_once() -> None:
    notifier = ChangeNotifier(INTERVAL)
    notifier.changed()
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_change_is_delivered_to_a_waiting_hub() -> None:
    notifier = ChangeNotifier(INTERVAL)
    asyncio.get_running_loop().call_later(5, notifier.changed)
    assert await delivered(notifier, 60) == [(5.0, ARRIVED)]


@virtual_time
async def test_last_change_of_a_burst_is_delivered() -> None:
    notifier = ChangeNotifier(INTERVAL)
    notifier.changed()
    asyncio.get_running_loop().call_later(0.001, notifier.changed)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED), (INTERVAL, ARRIVED)]


@virtual_time
async def test_burst_is_delivered_once_per_interval() -> None:
    notifier = ChangeNotifier(INTERVAL)
    for i in range(10_000):
        asyncio.get_running_loop().call_later(i / 1000, notifier.changed)
    times = [seconds for seconds, _ in await delivered(notifier, 60)]
    assert times == pytest.approx([0, 2, 4, 6, 8, 10], abs=0.01)


@virtual_time
async def test_changes_are_coalesced_while_the_hub_is_busy() -> None:
    notifier = ChangeNotifier(INTERVAL)
    for _ in range(1000):
        notifier.changed()
        await asyncio.sleep(0.01)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_unsettled_change_is_delivered_twice() -> None:
    notifier = ChangeNotifier(INTERVAL)
    notifier.changed(settled=False)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED), (INTERVAL, ARRIVED)]


@virtual_time
async def test_burst_of_unsettled_changes_is_repeated_once_after_the_last() -> None:
    notifier = ChangeNotifier(INTERVAL)
    report = functools.partial(notifier.changed, settled=False)
    for i in range(100):
        asyncio.get_running_loop().call_later(i / 100, report)
    times = [seconds for seconds, _ in await delivered(notifier, 60)]
    assert times == pytest.approx([0, 2, 4], abs=0.01)


@virtual_time
async def test_every_connect_is_reported_with_a_change() -> None:
    notifier = ChangeNotifier(INTERVAL)
    notifier.connected()
    assert await delivered(notifier, 60) == [(0.0, CONNECTED), (0.0, ARRIVED)]
    notifier.lost(Refused("refused"))
    assert await delivered_kinds(notifier, 60) == ["lost"]
    notifier.connected()
    assert await delivered_kinds(notifier, 60) == ["connected", "arrived"]


@virtual_time
async def test_undelivered_reconnect_still_delivers_a_change() -> None:
    notifier = ChangeNotifier(INTERVAL)
    notifier.connected()
    await delivered(notifier, 60)
    notifier.lost(Refused("refused"))
    notifier.connected()
    assert await delivered_kinds(notifier, 60) == ["arrived"]


@virtual_time
async def test_repeated_loss_is_delivered_once() -> None:
    notifier = ChangeNotifier(INTERVAL)
    errors: list[SourceError] = [Refused("a"), Refused("a"), WrongPassword("b")]
    losses = []
    for error in errors:
        notifier.lost(error)
        losses += [(event.reason, event.message) for _, event in await delivered(notifier, 1)]
    assert losses == [("Refused", "a"), ("WrongPassword", "b")]
