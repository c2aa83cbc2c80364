"""The push channel of a hub: a listener that reconnects, and the notifier that it reports to.

An engine provides a coroutine that connects, reports to the notifier and never returns: it raises a
SourceError when the connection is lost, and cleans up when it is cancelled. `listening` runs it in
one task, which ends with the `async with` block, and restarts it with back-off.

Push only shortens the time until a read; polling makes a hub correct. So no failure of a listener
reaches the hub as an exception: an unexpected one is logged, reported as a loss, and retried.

Nothing is queued, so nothing can grow: the notifier holds the channel's state, whether that state
has been reported, and the uids of the rows that have changed, if they are known and few. Ten
thousand changes between two reads are one.

Notifications are rate-limited at the hub's end. The first is delivered at once. In the next
`interval` seconds none follows. A change in that time is delivered at its end, so the last change
of a burst is never lost.

Some changes are announced too early. MySQL sends a transaction to its replicas when it is in the
binlog, moments before other connections can read it; a hub that reads at once could miss it. Such a
change is reported with `settled=False` and is repeated: after milliseconds, because it is usually
visible then, and with growing delays. A change of unknown rows is repeated less often, because each
time the whole table is read.

A notifier belongs to one event loop. Threads report to it through a `CoalescedCallback`.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Protocol

import structlog

from lynq.sources.errors import SourceError

_log = structlog.get_logger(__name__)

# With this exponent every sensible first delay exceeds the longest; 2.0**1024 would overflow.
_LAST_DOUBLING = 60
_MIN_JITTER = 0.5


class SourceChangeKind(Enum):
    """Kinds of events of a push channel."""

    CONNECTED = "connected"
    """The channel is up. An ARRIVED follows, for changes that may have been missed before."""
    ARRIVED = "arrived"
    """Rows of the table may have changed, once or many times: read them."""
    LOST = "lost"
    """The channel is down: until the next CONNECTED, changes are found only by polling."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One event of a push channel."""

    kind: SourceChangeKind
    reason: str = ""
    """Why the channel was lost: the name of the error's type."""
    message: str = ""
    """Why the channel was lost and what to do about it; safe to show."""
    waited: float = field(default=0.0, compare=False)
    """Seconds since the first change that this event announces was reported."""
    uids: frozenset[str] | None = None
    """Of ARRIVED: the uids of the rows that may have changed; None: any rows."""


class ChangeStream(Protocol):
    """The events of a push channel, until the `async with open_changes(...)` block ends.

    The channel reconnects by itself, with back-off. The iteration never ends on its own.
    """

    def __aiter__(self) -> "ChangeStream":
        """Return itself: a channel has one consumer."""

    async def __anext__(self) -> SourceChange:
        """Wait for the next event. At most one of each kind is pending, the latest."""


_CONNECTED = SourceChange(SourceChangeKind.CONNECTED)


MAX_UIDS = 1000
"""Changed rows above which a channel reports that any row may have changed."""
_LONGEST_UID = 256
"""Characters of a uid; no node has a longer one."""


def united(uids: frozenset[str] | None, others: frozenset[str] | None) -> frozenset[str] | None:
    """Return the uids of both changes; None if any row may have changed."""
    if uids is None or others is None:
        return None
    both = uids | others
    return both if len(both) <= MAX_UIDS else None


@dataclass(slots=True)
class _Repeat:
    """A change that is announced again."""

    times: int
    """How many times it was repeated so far."""
    due: float
    uids: frozenset[str] | None

    def add(self, uids: frozenset[str] | None) -> None:
        """Repeat a change of these rows, too."""
        was_known, self.uids = self.uids is not None, united(self.uids, uids)
        if was_known and self.uids is None:
            # Changes of unknown rows are repeated less often, and not after so many times.
            self.times = 0


class ChangeNotifier:
    """Coalesces the reports of a listener into a ChangeStream.

    The listener calls `connected`, `changed` and `lost`; the hub iterates.
    """

    def __init__(self, timing: "PushTiming") -> None:
        self._timing = timing
        self._reported = asyncio.Event()
        self._state: SourceChange | None = None
        self._delivered: SourceChange | None = None
        self._changed = False
        self._changed_at = math.inf
        self._uids: frozenset[str] | None = frozenset()
        self._unsettled: frozenset[str] | None = frozenset()
        self._repeats: list[_Repeat] = []
        # The next ARRIVED is delivered no earlier than this.
        self._due = -math.inf

    def connected(self, *, settled: bool = True) -> None:
        """Report that the channel is up, and a change: some may have been missed before."""
        self._state = _CONNECTED
        self.changed(settled=settled)

    def changed(self, uids: frozenset[str] | None = None, *, settled: bool = True) -> None:
        """Report a change of the rows with these uids, or of any rows.

        It is repeated if it may not be visible to readers yet.
        """
        if uids is not None and any(len(uid) > _LONGEST_UID for uid in uids):
            uids = None
        self._changed = True
        self._changed_at = min(self._changed_at, asyncio.get_running_loop().time())
        self._uids = united(self._uids, uids)
        if not settled:
            self._unsettled = united(self._unsettled, uids)
        self._reported.set()

    def lost(self, error: SourceError) -> None:
        """Report that the channel is down, and why."""
        self._state = SourceChange(SourceChangeKind.LOST, type(error).__name__, str(error))
        self._reported.set()

    def __aiter__(self) -> "ChangeNotifier":
        """Return itself."""
        return self

    async def __anext__(self) -> SourceChange:
        """Wait for the next event."""
        while True:
            now = asyncio.get_running_loop().time()
            if change := self._next(now):
                return change
            due = [-math.inf] if self._changed else []
            due += [repeat.due for repeat in self._repeats]
            await self._wait(max(min(due), self._due) - now if due else None)

    def _next(self, now: float) -> SourceChange | None:
        """Take the event that is due at `now`; the channel's state comes first."""
        # A state that has changed back before its delivery is not reported.
        if self._state != self._delivered:
            self._delivered = self._state
            return self._state
        repeated = [repeat for repeat in self._repeats if repeat.due <= now]
        if now < self._due or not (self._changed or repeated):
            return None
        self._due = now + self._timing.interval
        # A change that is announced again was reported now at the earliest.
        waited = max(now - self._changed_at, 0.0)
        uids, unsettled = self._uids, self._unsettled
        self._changed, self._changed_at = False, math.inf
        self._uids = self._unsettled = frozenset()
        self._repeats = [repeat for repeat in self._repeats if repeat.due > now]
        for repeat in repeated:
            uids = united(uids, repeat.uids)
            self._repeat(repeat.times + 1, repeat.uids, now)
        if unsettled is None or unsettled:
            self._repeat(0, unsettled, now)
        return SourceChange(SourceChangeKind.ARRIVED, waited=waited, uids=uids)

    def _repeat(self, times: int, uids: frozenset[str] | None, now: float) -> None:
        """Announce a change again that was repeated so many times.

        Changes that were repeated equally often are repeated together, unless less than half of
        the delay is left: others that follow do not put off a repeat, nor hurry the next one.
        """
        timing = self._timing
        delays = timing.unknown_repeats if uids is None else timing.repeats
        if times >= len(delays):
            return
        due = now + delays[times]
        for pending in self._repeats:
            is_alike = pending.times == times and (pending.uids is None) == (uids is None)
            if is_alike and pending.due >= due - delays[times] / 2:
                pending.add(uids)
                return
        self._repeats.append(_Repeat(times, due, uids))

    async def _wait(self, longest: float | None) -> None:
        """Wait for the next report of the listener, at most `longest` seconds."""
        self._reported.clear()
        try:
            async with asyncio.timeout(longest):
                await self._reported.wait()
        except TimeoutError:
            pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTiming:
    """Intervals and timeouts of a push channel, in seconds."""

    interval: float = 0.02
    """Minimum between two notifications; the first one of a burst is delivered at once. The hub's
    pause between two reads follows their cost."""
    repeats: tuple[float, ...] = (0.005, 0.025, 0.125, 0.625, 3.2)
    """Delays after which a change that may not be visible yet is announced again."""
    unknown_repeats: tuple[float, ...] = (0.1, 2.0)
    """The same for a change of unknown rows."""
    first_retry: float = 0.5
    """Delay before the first reconnect; doubled with every failure."""
    longest_retry: float = 30.0
    """Maximum delay between two reconnects."""
    stable_after: float = 60.0
    """Uptime of a channel after which the back-off starts over."""
    silence: float = 15.0
    """Time without a sign of life after which a connection counts as dead."""
    file_poll: float = 0.025
    """Interval between two checks of a SQLite file."""

    def retry(self, failures: int) -> float:
        """Return the delay after `failures` previous failures in a row.

        Half of the delay is random: all hubs of a restarted server reconnect to it.
        """
        delay = min(self.longest_retry, self.first_retry * 2.0 ** min(failures, _LAST_DOUBLING))
        return delay * random.uniform(_MIN_JITTER, 1.0)  # noqa: S311 - no secret


Listen = Callable[[ChangeNotifier], Awaitable[None]]


@asynccontextmanager
async def listening(listen: Listen, timing: PushTiming) -> AsyncIterator[ChangeStream]:
    """Run a listener while the block runs, and yield its events."""
    notifier = ChangeNotifier(timing)
    connect = partial(_listen_once, listen, notifier)
    listener = asyncio.create_task(reconnect_forever(connect, timing), name="push channel")
    try:
        yield notifier
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def reconnect_forever(connect: Callable[[], Awaitable[None]], timing: PushTiming) -> None:
    """Connect, and again with back-off whenever the connection ends; cancel it to stop."""
    clock = asyncio.get_running_loop().time
    failures = 0
    while True:
        started = clock()
        await connect()
        if clock() - started > timing.stable_after:
            failures = 0
        await asyncio.sleep(timing.retry(failures))
        failures += 1


async def _listen_once(listen: Listen, notifier: ChangeNotifier) -> None:
    """Listen until the channel is lost, and report the error."""
    try:
        await listen(notifier)
    except SourceError as error:
        notifier.lost(error)
    except Exception as error:  # noqa: BLE001 - see the module's docstring
        _log.exception("push channel failed unexpectedly")
        name = type(error).__name__
        notifier.lost(SourceError(f"the push channel failed unexpectedly: {name}"))
    else:
        notifier.lost(SourceError("the push channel ended"))
