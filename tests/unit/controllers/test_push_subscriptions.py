"""The push channels of hubs whose listener fails unexpectedly; tests/cluster has real ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from background_tasks import run_in_background
from lynq.api import ChangeDetection, HubSource, SourceType
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJobs
from lynq.controllers.hub import push
from lynq.controllers.hub.push import PushSubscriptions
from lynq.controllers.hub.source_config import SourceConfig
from lynq.controllers.hub.state import HubState
from lynq.kube import WorkQueue
from lynq.sources import Query, SourceChange, SourceChangeKind, SQLiteSettings
from unit.core.hub.fixtures import NOON, a_hub
from virtual_time import virtual_time
from waiting import eventually

HUB = a_hub(source=HubSource(type=SourceType.SQLITE, changes=ChangeDetection.PUSH))
CONFIG = SourceConfig(
    SQLiteSettings(path="shop.db", directory=None),
    Query(table="tenants", uid="id", activate="active"),
)


@dataclass
class Channels:
    """Channels that fail after their uptime, or never."""

    fails: bool = True
    uptime: float = 0.0
    opened_at: list[float] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[SourceChange]]:
        self.opened_at.append(asyncio.get_running_loop().time())
        yield self._changes()

    async def _changes(self) -> AsyncIterator[SourceChange]:
        if not self.fails or self.uptime:
            yield SourceChange(SourceChangeKind.CONNECTED)
        await asyncio.sleep(self.uptime if self.fails else 1e9)
        raise LookupError("acme")


@pytest.fixture
def channels(monkeypatch: pytest.MonkeyPatch) -> Channels:
    channels = Channels()
    monkeypatch.setattr(push, "open_changes", channels.open)
    return channels


class Subscriptions:
    """The push subscriptions of one hub."""

    def __init__(self) -> None:
        self.queue = WorkQueue[ObjectKey]()
        self.jobs = BackgroundJobs()
        self.state = HubState("hub-uid")
        self.state.source.config = CONFIG
        self._subscriptions = PushSubscriptions(lambda: NOON, self.queue, self.jobs)

    def reconcile(self) -> None:
        self._subscriptions.ensure(HUB, self.state)

    def close(self) -> None:
        self._subscriptions.close(self.state.source)

    @property
    def is_connected(self) -> bool:
        return self.state.source.push is not None and self.state.source.push.connected

    @property
    def message(self) -> str:
        return self.state.source.push.message if self.state.source.push else ""


@virtual_time
async def test_channel_that_ended_unexpectedly_is_opened_again(channels: Channels) -> None:
    hub = Subscriptions()
    async with run_in_background(hub.jobs.run()):
        hub.reconcile()
        await asyncio.sleep(0.1)
        assert len(channels.opened_at) == 1
        assert len(hub.queue) == 1
        channels.fails = False
        # The condition says that the channel is down until it is open again.
        hub.reconcile()
        assert not hub.is_connected
        assert "ended by LookupError" in hub.message
        assert "acme" not in hub.message
        await eventually(lambda: hub.is_connected, within=1)
        assert len(channels.opened_at) == 2


@virtual_time
async def test_channel_that_fails_at_once_is_opened_with_a_back_off(channels: Channels) -> None:
    hub = Subscriptions()
    async with run_in_background(hub.jobs.run()):
        for _ in range(600):
            hub.reconcile()
            await asyncio.sleep(1)
    assert 20 <= len(channels.opened_at) <= 50


@virtual_time
async def test_back_off_starts_over_after_a_long_uptime(channels: Channels) -> None:
    hub, channels.uptime = Subscriptions(), 3600
    async with run_in_background(hub.jobs.run()):
        hub.reconcile()
        await asyncio.sleep(20 * 3601)
    opened = channels.opened_at
    pauses = [later - earlier - 3600 for earlier, later in pairwise(opened)]
    assert len(pauses) >= 19
    assert max(pauses) <= 0.5


@virtual_time
async def test_closed_channel_is_not_opened_again(channels: Channels) -> None:
    hub = Subscriptions()
    async with run_in_background(hub.jobs.run()):
        hub.reconcile()
        await asyncio.sleep(0.1)
        hub.close()
        await asyncio.sleep(100)
    assert len(channels.opened_at) == 1
    assert hub.state.source.push is None
