"""Databases that change under a test's hand, and somebody who listens to their push channel."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from databases import Server
from lynq.sources import (
    MySQLSettings,
    PostgreSQLSettings,
    Settings,
    SourceChange,
    SourceChangeKind,
    SourceError,
    open_changes,
)
from lynq.sources.push.channel import ChangeNotifier, PushTiming
from waiting import eventually

S = TypeVar("S", MySQLSettings, PostgreSQLSettings)

QUICK = PushTiming(
    interval=0.05,
    first_retry=0.05,
    longest_retry=0.2,
    stable_after=60.0,
    silence=4.0,
    file_poll=0.01,
)


@dataclass(frozen=True, slots=True)
class ChangingTable(Generic[S]):
    """A server, how a source reaches it, and how a test changes it."""

    server: Server
    settings: S
    execute: Callable[..., Awaitable[None]]

    def logged_in_as(self, user: str, password: str) -> S:
        return replace(self.settings, username=user, password=password)


class CountingNotifier(ChangeNotifier):
    """A bell that counts how often it was rung."""

    def __init__(self) -> None:
        super().__init__(QUICK.interval)
        self.rings = 0
        self.up = False
        self.problem: SourceError | None = None

    def connected(self, *, settled: bool = True) -> None:
        self.up = True
        super().connected(settled=settled)

    def changed(self, *, settled: bool = True) -> None:
        self.rings += 1
        super().changed(settled=settled)

    def lost(self, error: SourceError) -> None:
        self.problem = error
        super().lost(error)


@asynccontextmanager
async def notifications(listen: Callable[[ChangeNotifier], Any]) -> AsyncIterator[CountingNotifier]:
    """Run a listener without anything that retries or waits; what is yielded counts its rings."""
    bell = CountingNotifier()
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(listen(bell))
        try:
            await eventually(lambda: bell.up or bell.problem)
            yield bell
        finally:
            listener.cancel()


@dataclass(slots=True)
class PushListener:
    """What was heard so far."""

    words: list[SourceChange] = field(default_factory=list)

    @property
    def wake_ups(self) -> int:
        return sum(word.kind is SourceChangeKind.ARRIVED for word in self.words)

    @property
    def state(self) -> SourceChangeKind | None:
        """The last word about the channel itself."""
        states = (word.kind for word in reversed(self.words))
        return next((kind for kind in states if kind is not SourceChangeKind.ARRIVED), None)

    async def connected(self) -> None:
        """Wait until the channel is up and the wake-up for it has come."""

        def woken_since() -> bool:
            kinds = [word.kind for word in self.words]
            last = len(kinds) - kinds[::-1].index(SourceChangeKind.CONNECTED)
            return SourceChangeKind.ARRIVED in kinds[last:]

        await eventually(
            lambda: self.state is SourceChangeKind.CONNECTED and woken_since(), within=20
        )

    async def lost(self) -> SourceChange:
        """Wait until the channel is down, and return what was said of it."""
        await eventually(lambda: self.state is SourceChangeKind.LOST, within=20)
        return next(word for word in reversed(self.words) if word.kind is SourceChangeKind.LOST)


@asynccontextmanager
async def listen_to(
    settings: Settings, table: str, timing: PushTiming = QUICK
) -> AsyncIterator[PushListener]:
    """Open a push channel and hear what it says."""
    ears = PushListener()

    async def hear() -> None:
        async with open_changes(settings, table, timing) as changes:
            async for word in changes:
                ears.words.append(word)

    task = asyncio.create_task(hear())
    try:
        yield ears
    finally:
        task.cancel()
        await asyncio.wait([task])


def push_threads() -> list[str]:
    """Return the names of the threads that push channels have."""
    names = (thread.name for thread in threading.enumerate())
    return [name for name in names if name.startswith(("binlog of", "data_version of"))]
