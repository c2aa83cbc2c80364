"""What a push channel has to say, and when: the listener rings, the hub hears.

Nothing queues here, so nothing can pile up: a bell remembers whether the channel is up, whether
that is news, and whether something has changed. Ten thousand changes before the hub looks are one.

Wake-ups are paced at the hub's end. The first is handed out at once. For `interval` seconds none
follows; a change in that time is remembered and handed out when they are over, so the last change
of a burst is never lost and the hub still reads seldom.

Some news comes too early. MySQL shows a transaction to its followers once it is in the binlog,
moments before other connections can read it; a hub that reads at once could miss it. Such a change
is rung as not `settled`, and has an echo: one more wake-up, one interval later.

A bell belongs to one event loop; threads ring it by a `Rope`.
"""

import asyncio
import math

from lynq.sources.base import SourceChange, SourceChangeKind
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
