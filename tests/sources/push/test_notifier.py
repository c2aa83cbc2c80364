"""When a notifier delivers changes: at once, rate-limited, and without losing the last one."""

import asyncio
import contextlib
import functools

import pytest

from lynq.sources import SourceChange, SourceChangeKind, SourceError
from lynq.sources.errors import Refused, WrongPassword
from lynq.sources.push.channel import MAX_UIDS, ChangeNotifier, PushTiming
from virtual_time import virtual_time

INTERVAL = 2.0
TIMING = PushTiming(interval=INTERVAL, repeats=(3.0, 10.0), unknown_repeats=(5.0,))
ARRIVED = SourceChange(SourceChangeKind.ARRIVED)
CONNECTED = SourceChange(SourceChangeKind.CONNECTED)


def arrived(*uids: str) -> SourceChange:
    return SourceChange(SourceChangeKind.ARRIVED, uids=frozenset(uids))


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
    notifier = ChangeNotifier(TIMING)
    notifier.changed()
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_change_is_delivered_to_a_waiting_hub() -> None:
    notifier = ChangeNotifier(TIMING)
    asyncio.get_running_loop().call_later(5, notifier.changed)
    assert await delivered(notifier, 60) == [(5.0, ARRIVED)]


@virtual_time
async def test_last_change_of_a_burst_is_delivered() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.changed()
    asyncio.get_running_loop().call_later(0.001, notifier.changed)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED), (INTERVAL, ARRIVED)]


@virtual_time
async def test_burst_is_delivered_once_per_interval() -> None:
    notifier = ChangeNotifier(TIMING)
    for i in range(10_000):
        asyncio.get_running_loop().call_later(i / 1000, notifier.changed)
    times = [seconds for seconds, _ in await delivered(notifier, 60)]
    assert times == pytest.approx([0, 2, 4, 6, 8, 10], abs=0.01)


@virtual_time
async def test_changes_are_coalesced_while_the_hub_is_busy() -> None:
    notifier = ChangeNotifier(TIMING)
    for _ in range(1000):
        notifier.changed()
        await asyncio.sleep(0.01)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_unsettled_change_of_unknown_rows_is_repeated() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.changed(settled=False)
    assert await delivered(notifier, 60) == [(0.0, ARRIVED), (5.0, ARRIVED)]


@virtual_time
async def test_unsettled_change_of_known_rows_is_repeated_with_growing_delays() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.changed(frozenset("a"), settled=False)
    assert await delivered(notifier, 60) == [
        (0.0, arrived("a")),
        (3.0, arrived("a")),
        (13.0, arrived("a")),
    ]


@virtual_time
async def test_burst_of_unsettled_changes_is_repeated_together() -> None:
    notifier = ChangeNotifier(TIMING)
    for i in range(100):
        uids = frozenset({f"u{i}"})
        report = functools.partial(notifier.changed, uids, settled=False)
        asyncio.get_running_loop().call_later(i / 100, report)
    events = await delivered(notifier, 60)
    times = [seconds for seconds, _ in events]
    assert times == pytest.approx([0, 2, 4, 6, 14], abs=0.01)
    announced = [len(event.uids or ()) for _, event in events]
    assert announced == [1, 99, 1, 99, 100]


@virtual_time
async def test_steady_changes_do_not_put_off_a_repeat() -> None:
    notifier = ChangeNotifier(TIMING)
    for i in range(20):
        uids = frozenset({f"u{i}"})
        report = functools.partial(notifier.changed, uids, settled=False)
        asyncio.get_running_loop().call_later(i, report)
    events = await delivered(notifier, 60)
    times = [seconds for seconds, event in events if "u0" in (event.uids or ())]
    assert times == pytest.approx([0, 4, 14], abs=0.01)
    for uid in (f"u{i}" for i in range(20)):
        assert sum(uid in (event.uids or ()) for _, event in events) == 3


@virtual_time
async def test_steady_changes_do_not_hurry_the_repeats_of_another() -> None:
    """A transaction may become visible seconds after it was announced."""
    timing = PushTiming()
    notifier = ChangeNotifier(timing)
    for i in range(500):
        report = functools.partial(notifier.changed, frozenset({f"u{i}"}), settled=False)
        asyncio.get_running_loop().call_later(i * timing.interval, report)
    events = await delivered(notifier, 60)
    for number in range(0, 500, 100):
        times = [seconds for seconds, event in events if f"u{number}" in (event.uids or ())]
        assert len(times) == 1 + len(timing.repeats)
        assert times[-1] - times[0] >= sum(timing.repeats) / 2


@virtual_time
async def test_repeats_of_many_changes_go_on_as_those_of_unknown_rows() -> None:
    timing = PushTiming(interval=0.02, repeats=(1.0, 1.0, 10.0), unknown_repeats=(1.0, 5.0))
    notifier = ChangeNotifier(timing)
    for i in range(2):
        rows = frozenset(f"{i}-{number}" for number in range(MAX_UIDS - 1))
        report = functools.partial(notifier.changed, rows, settled=False)
        asyncio.get_running_loop().call_later(i / 10, report)
    events = await delivered(notifier, 60)
    times = [seconds for seconds, _ in events]
    # Their first repeat has too many rows; it is followed by one after the longer delay.
    assert times == pytest.approx([0, 0.1, 1.0, 6.0], abs=0.03)


@virtual_time
async def test_coalesced_changes_name_the_rows_of_all() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.changed(frozenset("a"))
    notifier.changed(frozenset({"b", "c"}))
    assert await delivered(notifier, 60) == [(0.0, arrived("a", "b", "c"))]


@virtual_time
async def test_coalesced_changes_of_unknown_or_many_rows_name_none() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.changed(frozenset("a"))
    notifier.changed()
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]
    notifier.changed(frozenset(map(str, range(MAX_UIDS))))
    notifier.changed(frozenset("a"))
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]
    notifier.changed(frozenset({"x" * 1000}))
    assert await delivered(notifier, 60) == [(0.0, ARRIVED)]


@virtual_time
async def test_every_connect_is_reported_with_a_change() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.connected()
    assert await delivered(notifier, 60) == [(0.0, CONNECTED), (0.0, ARRIVED)]
    notifier.lost(Refused("refused"))
    assert await delivered_kinds(notifier, 60) == ["lost"]
    notifier.connected()
    assert await delivered_kinds(notifier, 60) == ["connected", "arrived"]


@virtual_time
async def test_undelivered_reconnect_still_delivers_a_change() -> None:
    notifier = ChangeNotifier(TIMING)
    notifier.connected()
    await delivered(notifier, 60)
    notifier.lost(Refused("refused"))
    notifier.connected()
    assert await delivered_kinds(notifier, 60) == ["arrived"]


@virtual_time
async def test_repeated_loss_is_delivered_once() -> None:
    notifier = ChangeNotifier(TIMING)
    errors: list[SourceError] = [Refused("a"), Refused("a"), WrongPassword("b")]
    losses = []
    for error in errors:
        notifier.lost(error)
        losses += [(event.reason, event.message) for _, event in await delivered(notifier, 1)]
    assert losses == [("Refused", "a"), ("WrongPassword", "b")]
