"""The push channel of a hub: a listener that reconnects, and the notifier that it reports to.

An engine provides a coroutine that connects, reports to the notifier and never returns: it raises a
SourceError when the connection is lost, and cleans up when it is cancelled. `listening` runs it in
one task, which ends with the `async with` block, and restarts it with back-off.

Push only shortens the time until a read; polling makes a hub correct. So no failure of a listener
reaches the hub as an exception: an unexpected one is logged, reported as a loss, and retried.

Nothing is queued, so nothing can grow: the notifier holds the channel's state, whether that state
has been reported, and whether the table has changed. Ten thousand changes between two reads are
one.

Notifications are rate-limited at the hub's end. The first is delivered at once. In the next
`interval` seconds none follows. A change in that time is delivered at its end, so the last change
of a burst is never lost.

Some changes are announced too early. MySQL sends a transaction to its replicas when it is in the
binlog, moments before other connections can read it; a hub that reads at once could miss it. Such a
change is reported with `settled=False` and is delivered a second time, one interval later.

A notifier belongs to one event loop. Threads report to it through a `CoalescedCallback`.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
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
    """The table may have changed, once or many times: read it."""
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


class ChangeStream(Protocol):
    """The events of a push channel, until the `async with open_changes(...)` block ends.

    The channel reconnects by itself, with back-off. The iteration never ends on its own.
    """

    def __aiter__(self) -> "ChangeStream":
        """Return itself: a channel has one consumer."""

    async def __anext__(self) -> SourceChange:
        """Wait for the next event. At most one of each kind is pending, the latest."""


_CONNECTED = SourceChange(SourceChangeKind.CONNECTED)


class ChangeNotifier:
    """Coalesces the reports of a listener into a ChangeStream.

    The listener calls `connected`, `changed` and `lost`; the hub iterates.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._reported = asyncio.Event()
        self._state: SourceChange | None = None
        self._delivered: SourceChange | None = None
        self._changed = False
        self._changed_at = math.inf
        self._unsettled = False
        # The next ARRIVED is delivered no earlier than this.
        self._due = -math.inf

    def connected(self, *, settled: bool = True) -> None:
        """Report that the channel is up, and a change: some may have been missed before."""
        self._state = _CONNECTED
        self.changed(settled=settled)

    def changed(self, *, settled: bool = True) -> None:
        """Report a change; deliver it twice if it may not be visible to readers yet."""
        self._changed = True
        self._changed_at = min(self._changed_at, asyncio.get_running_loop().time())
        self._unsettled = self._unsettled or not settled
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
            await self._wait(self._due - now if self._changed else None)

    def _next(self, now: float) -> SourceChange | None:
        """Take the event that is due at `now`; the channel's state comes first."""
        # A state that has changed back before its delivery is not reported.
        if self._state != self._delivered:
            self._delivered = self._state
            return self._state
        if self._changed and now >= self._due:
            self._due = now + self._interval
            waited = max(now - self._changed_at, 0.0)
            # A change that is announced again was reported now at the earliest.
            self._changed, self._unsettled = self._unsettled, False
            self._changed_at = now if self._changed else math.inf
            return SourceChange(SourceChangeKind.ARRIVED, waited=waited)
        return None

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

    interval: float = 2.0
    """Minimum between two notifications; the first one of a burst is delivered at once."""
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
    notifier = ChangeNotifier(timing.interval)
    listener = asyncio.create_task(_keep_listening(listen, notifier, timing), name="push channel")
    try:
        yield notifier
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def _keep_listening(listen: Listen, notifier: ChangeNotifier, timing: PushTiming) -> None:
    clock = asyncio.get_running_loop().time
    failures = 0
    while True:
        started = clock()
        notifier.lost(await _listen_once(listen, notifier))
        if clock() - started > timing.stable_after:
            failures = 0
        await asyncio.sleep(timing.retry(failures))
        failures += 1


async def _listen_once(listen: Listen, notifier: ChangeNotifier) -> SourceError:
    """Listen until the channel is lost, and return the error."""
    try:
        await listen(notifier)
    except SourceError as error:
        return error
    except Exception as error:  # noqa: BLE001 - see the module's docstring
        _log.exception("push channel failed unexpectedly")
        return SourceError(f"the push channel failed unexpectedly: {type(error).__name__}")
    return SourceError("the push channel ended")
