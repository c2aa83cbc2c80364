"""A consumer of push channels that records their events."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lynq.sources import (
    ENGINES,
    Settings,
    SourceChange,
    SourceChangeKind,
    SourceError,
    open_changes,
)
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from lynq.sources.query import Table
from waiting import eventually

QUICK = PushTiming(
    interval=0.05,
    first_retry=0.05,
    longest_retry=0.2,
    stable_after=60.0,
    silence=4.0,
    file_poll=0.01,
)


class CountingNotifier(ChangeNotifier):
    """A notifier that counts the reported changes."""

    def __init__(self) -> None:
        super().__init__(QUICK)
        self.changes = 0
        self.uids: list[frozenset[str] | None] = []
        self.is_connected = False
        self.error: SourceError | None = None

    def connected(self, *, settled: bool = True) -> None:
        self.is_connected = True
        super().connected(settled=settled)

    def changed(self, uids: frozenset[str] | None = None, *, settled: bool = True) -> None:
        self.changes += 1
        self.uids.append(uids)
        super().changed(uids, settled=settled)

    def lost(self, error: SourceError) -> None:
        self.error = error
        super().lost(error)


@asynccontextmanager
async def count_changes(
    settings: Settings, table: str, uid: str = ""
) -> AsyncIterator[CountingNotifier]:
    """Run the engine's listener without retries and rate limit; yield once it is connected."""
    notifier = CountingNotifier()
    listen = ENGINES[settings.engine].driver().listen
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(listen(settings, Table.named(table), uid, QUICK, notifier))
        try:
            await eventually(lambda: notifier.is_connected or notifier.error)
            yield notifier
        finally:
            listener.cancel()


@dataclass(slots=True)
class PushListener:
    """The events of a push channel so far."""

    events: list[SourceChange] = field(default_factory=list)

    @property
    def arrivals(self) -> int:
        return sum(event.kind is SourceChangeKind.ARRIVED for event in self.events)

    @property
    def state(self) -> SourceChangeKind | None:
        """The last event about the channel itself."""
        kinds = (event.kind for event in reversed(self.events))
        return next((kind for kind in kinds if kind is not SourceChangeKind.ARRIVED), None)

    async def connected(self) -> None:
        """Wait until the channel is up and the change that follows has arrived."""

        def has_arrived_since() -> bool:
            kinds = [event.kind for event in self.events]
            last = len(kinds) - kinds[::-1].index(SourceChangeKind.CONNECTED)
            return SourceChangeKind.ARRIVED in kinds[last:]

        await eventually(
            lambda: self.state is SourceChangeKind.CONNECTED and has_arrived_since(), within=20
        )

    async def lost(self) -> SourceChange:
        """Wait until the channel is down, and return the event."""
        await eventually(lambda: self.state is SourceChangeKind.LOST, within=20)
        return next(event for event in reversed(self.events) if event.kind is SourceChangeKind.LOST)


@asynccontextmanager
async def listen_to(
    settings: Settings, table: str, timing: PushTiming = QUICK
) -> AsyncIterator[PushListener]:
    """Open a push channel and record its events."""
    listener = PushListener()

    async def record() -> None:
        async with open_changes(settings, table, timing) as changes:
            async for event in changes:
                listener.events.append(event)

    task = asyncio.create_task(record())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.wait([task])


def push_threads() -> list[str]:
    """Return the names of the threads of push channels."""
    names = (thread.name for thread in threading.enumerate())
    return [name for name in names if name.startswith(("binlog of", "data_version of"))]
