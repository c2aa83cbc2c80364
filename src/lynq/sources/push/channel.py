"""Keep a listener listening: set it up again when it fails, and say so.

An engine brings a coroutine that connects, rings the bell and never returns: it raises a
`SourceError` when the connection is lost, and cleans up when it is cancelled. Everything that the
engines have in common is here, in one task per channel that ends with the `async with`.

Push is a convenience, the poll is what makes a hub right. So nothing that a listener does ends the
hub: even a failure nobody thought of is logged, told as a loss, and tried again.

What a push channel has to say, and when: the listener rings, the hub hears.

Nothing queues here, so nothing can pile up: a bell remembers whether the channel is up, whether
that is news, and whether something has changed. Ten thousand changes before the hub looks are one.

Wake-ups are paced at the hub's end. The first is handed out at once. For `interval` seconds none
follows; a change in that time is remembered and handed out when they are over, so the last change
of a burst is never lost and the hub still reads seldom.

Some news comes too early. MySQL shows a transaction to its followers once it is in the binlog,
moments before other connections can read it; a hub that reads at once could miss it. Such a change
is rung as not `settled`, and has an echo: one more wake-up, one interval later.

A bell belongs to one event loop; threads ring it by a `Rope`.

The clockwork of a push channel: how often it may wake the hub, when it tries again.
"""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from lynq.sources.base import ChangeStream, SourceChange, SourceChangeKind
from lynq.sources.errors import SourceError

_CONNECTED = SourceChange(SourceChangeKind.CONNECTED)
_ARRIVED = SourceChange(SourceChangeKind.ARRIVED)


class ChangeNotifier:
    """The two ends of a channel: `connected`, `changed` and `lost` ring, iterating hears."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._stirred = asyncio.Event()
        self._state: SourceChange | None = None
        self._told: SourceChange | None = None
        self._changed = False
        self._unsettled = False
        # The hub's next wake-up comes no earlier than this.
        self._due = -math.inf

    def connected(self, *, settled: bool = True) -> None:
        """Say that the channel is up, and wake the hub: changes may have been missed before."""
        self._state = _CONNECTED
        self.changed(settled=settled)

    def changed(self, *, settled: bool = True) -> None:
        """Wake the hub; with an echo if the change may not be visible to it yet."""
        self._changed = True
        self._unsettled = self._unsettled or not settled
        self._stirred.set()

    def lost(self, error: SourceError) -> None:
        """Say that the channel cannot be relied on, and why."""
        self._state = SourceChange(SourceChangeKind.LOST, type(error).__name__, str(error))
        self._stirred.set()

    def __aiter__(self) -> "ChangeNotifier":
        """Return itself."""
        return self

    async def __anext__(self) -> SourceChange:
        """Wait for the next word."""
        while True:
            now = asyncio.get_running_loop().time()
            if word := self._next(now):
                return word
            await self._stir(self._due - now if self._changed else None)

    def _next(self, now: float) -> SourceChange | None:
        """Take what may be said at `now`; the channel's state goes first."""
        # A state that was left again before anybody heard of it is no news.
        if self._state != self._told:
            self._told = self._state
            return self._state
        if self._changed and now >= self._due:
            self._due = now + self._interval
            self._changed, self._unsettled = self._unsettled, False
            return _ARRIVED
        return None

    async def _stir(self, pause: float | None) -> None:
        """Wait until somebody rings, but no longer than `pause`."""
        self._stirred.clear()
        try:
            async with asyncio.timeout(pause):
                await self._stirred.wait()
        except TimeoutError:
            pass


# Past this exponent every sensible first delay has met the longest; 2.0**1024 would overflow.
_LAST_DOUBLING = 60
_LEAST_JITTER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTiming:
    """Seconds, all of them."""

    interval: float = 2.0
    """Between two wake-ups at least; the first one of a burst comes at once."""
    first_retry: float = 0.5
    """Before a lost channel is set up again; doubled with every failure."""
    longest_retry: float = 30.0
    """Between two attempts at most."""
    steady: float = 60.0
    """That a channel must have lasted for the next retry to be a first one again."""
    silence: float = 15.0
    """Without a sign of life after which a connection counts as dead."""
    look: float = 0.025
    """Between two looks at a SQLite file."""

    def retry(self, failures: int) -> float:
        """Return how long to wait after that many failures in a row (0: the first one).

        A server that comes back is met by all its hubs, so half of the delay is left to chance.
        """
        delay = min(self.longest_retry, self.first_retry * 2.0 ** min(failures, _LAST_DOUBLING))
        return delay * random.uniform(_LEAST_JITTER, 1.0)  # noqa: S311 - no secret


Listen = Callable[[ChangeNotifier], Awaitable[None]]

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def listening(listen: Listen, timing: PushTiming) -> AsyncIterator[ChangeStream]:
    """Listen while the block runs; what it yields is what the listener hears."""
    bell = ChangeNotifier(timing.interval)
    listener = asyncio.create_task(_keep_listening(listen, bell, timing), name="push channel")
    try:
        yield bell
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def _keep_listening(listen: Listen, bell: ChangeNotifier, timing: PushTiming) -> None:
    clock = asyncio.get_running_loop().time
    failures = 0
    while True:
        began = clock()
        bell.lost(await _listen_once(listen, bell))
        if clock() - began > timing.steady:
            failures = 0
        await asyncio.sleep(timing.retry(failures))
        failures += 1


async def _listen_once(listen: Listen, bell: ChangeNotifier) -> SourceError:
    """Listen until the channel is lost, and return why."""
    try:
        await listen(bell)
    except SourceError as error:
        return error
    except Exception as error:  # noqa: BLE001 - see the module's docstring
        _log.exception("push channel failed unexpectedly")
        return SourceError(f"the push channel failed unexpectedly: {type(error).__name__}")
    return SourceError("the push channel ended")
