"""Triggers of a read between two sync intervals of an hour."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise

import pytest

from lynq.controllers.hub import read
from lynq.controllers.timing import Timing
from lynq.sources import Query, Reading, Settings, Source, open_source
from operated.environment import FORMS, HUBS, QUICK, Environment, config_map
from waiting import eventually

FIRST = ("acme", 1, "pro")
SECOND = ("beta", 1, "free")


@dataclass
class RecordedSource:
    """A source that records its reads."""

    source: Source
    record: Callable[[], None]

    def read(self, query: Query, *, tracked: frozenset[str] = frozenset()) -> Reading:
        self.record()
        return self.source.read(query, tracked=tracked)

    async def close(self) -> None:
        await self.source.close()


@dataclass
class Reads:
    """The times of all reads by the event loop's clock."""

    at: list[float] = field(default_factory=list)

    def open(self, settings: Settings) -> RecordedSource:
        return RecordedSource(open_source(settings), self._record)

    def _record(self) -> None:
        self.at.append(asyncio.get_running_loop().time())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    reads = Reads()
    monkeypatch.setattr(read, "open_source", reads.open)
    return reads


async def test_form_created_after_rows_triggers_a_read(env: Environment) -> None:
    env.set_rows()

    async with env.run_controllers():
        await env.create_hub()
        await env.wait_for_condition("Ready", "True")
        env.set_rows(FIRST)
        await env.create_form()
        await env.wait_for_nodes("acme-web")


async def test_changed_form_triggers_a_read(env: Environment) -> None:
    env.set_rows(FIRST)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        env.set_rows(FIRST, SECOND)
        await env.patch(FORMS, "web", {"spec": {"configMaps": [config_map("new")]}})
        await env.wait_for_nodes("acme-web", "beta-web")


@pytest.mark.parametrize("part", ["labels", "annotations"])
async def test_hub_label_or_annotation_triggers_a_read(env: Environment, part: str) -> None:
    env.set_rows(FIRST)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        env.set_rows(FIRST, SECOND)
        await env.patch(HUBS, "hub", {"metadata": {part: {"team": "shop"}}})
        await env.wait_for_nodes("acme-web", "beta-web")


async def test_concurrent_changes_trigger_one_read(env: Environment, reads: Reads) -> None:
    env.timing = replace(QUICK, min_read_interval=timedelta(seconds=2))
    env.set_rows(FIRST)
    await env.create_hub()

    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True")
        await env.wait_until_idle()
        assert len(reads.at) == 1
        # The pause after the first read.
        await asyncio.sleep(2)
        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(env.create_form(f"form-{number}"))
        await env.wait_for_nodes(*(f"acme-form-{number}" for number in range(12)))
        await env.wait_until_idle()
        # One read for the first form, and one or two for forms created during a read.
        assert 2 <= len(reads.at) <= 3


async def test_repeated_force_sync_reads_once_a_second(env: Environment, reads: Reads) -> None:
    env.timing = Timing()
    env.set_rows(FIRST)
    await env.create_hub()

    async with env.run_controllers():
        await env.wait_for_condition("Ready", "True")
        for _ in range(25):
            await env.force_sync()
            await asyncio.sleep(0.1)
        await eventually(lambda: len(reads.at) > 2)
        await env.wait_until_idle()
        assert all(later - earlier > 0.8 for earlier, later in pairwise(reads.at))


async def test_own_writes_do_not_trigger_a_read(env: Environment, reads: Reads) -> None:
    env.set_rows(FIRST)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.set_nodes_ready(["acme-web"])
        await env.wait_for_status(ready=1)
        await env.wait_until_idle()
        # The finalizer, the node and all statuses are written by now.
        assert len(reads.at) == 1
        await env.patch(FORMS, "web", {"metadata": {"labels": {"team": "shop"}}})
        await env.client.delete(FORMS, "web", env.namespace)
        await env.wait_for_nodes()
        await env.wait_until_idle()
        assert len(reads.at) == 1


async def test_removal_of_spent_approval_does_not_trigger_a_read(
    env: Environment, reads: Reads
) -> None:
    env.set_rows(FIRST)
    await env.create_hub()
    await env.create_form()

    async with env.run_controllers():
        await env.wait_for_nodes("acme-web")
        await env.wait_until_idle()
        before = len(reads.at)
        await env.annotate("hub", approve_deletion="0123456789abcdef")

        async def approval_removed() -> bool:
            return not (await env.get(HUBS, "hub"))["metadata"].get("annotations")

        await eventually(approval_removed)
        await env.wait_until_idle()
        assert len(reads.at) == before + 1
