"""A file system that never answers fails the reads of its hub, and stops nothing else."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from hung_file_system import hung, requires_fuse
from lynq.sources import SourceError, SQLiteSettings, errors, open_source
from lynq.sources.sqlite.thread import MAX_ABANDONED
from push_listener import listen_to
from sources.engines import TENANTS, SQLite, opened, read, tenants
from waiting import eventually

pytestmark = requires_fuse


def blocked_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("sqlite hung.db")]


@pytest.fixture
def settings(tmp_path: Path) -> SQLiteSettings:
    directory = tmp_path / "volume"
    directory.mkdir()
    return SQLiteSettings(path="hung.db", directory=directory, query_timeout=0.3)


@pytest.mark.timing
async def test_read_fails_at_its_deadline_and_the_loop_goes_on(settings: SQLiteSettings) -> None:
    assert settings.directory
    with hung(settings.directory):
        longest = 0.0

        async def tick() -> None:
            nonlocal longest
            while True:
                started = time.monotonic()
                await asyncio.sleep(0.01)
                longest = max(longest, time.monotonic() - started)

        ticking = asyncio.create_task(tick())
        async with asyncio.timeout(20), opened(settings) as source:
            for _ in range(MAX_ABANDONED):
                with pytest.raises(errors.QueryTimedOut):
                    await read(source, tenants("t"))
            with pytest.raises(SourceError, match="file system does not answer"):
                await read(source, tenants("t"))
            assert len(blocked_threads()) == MAX_ABANDONED
        ticking.cancel()
        assert longest < 2
    await eventually(lambda: not blocked_threads())


@pytest.mark.timing
async def test_cancelled_read_is_not_waited_for(settings: SQLiteSettings) -> None:
    assert settings.directory
    with hung(settings.directory):
        source = open_source(settings)
        reading = asyncio.create_task(read(source, tenants("t")))
        await eventually(blocked_threads)
        async with asyncio.timeout(2):
            reading.cancel()
            await asyncio.wait([reading])
            await source.close()


@pytest.mark.timing
async def test_push_channel_is_closed_without_its_thread(settings: SQLiteSettings) -> None:
    assert settings.directory
    with hung(settings.directory):
        async with asyncio.timeout(3), listen_to(settings, "t"):
            await asyncio.sleep(0.1)


async def test_read_succeeds_once_the_file_system_is_back(settings: SQLiteSettings) -> None:
    assert settings.directory
    await SQLite(settings).execute(f"CREATE TABLE t {TENANTS}", "INSERT INTO t VALUES ('a', 1, '')")
    async with opened(settings) as source:
        with hung(settings.directory), pytest.raises(errors.QueryTimedOut):
            await read(source, tenants("t"))
        rows, _ = await read(source, tenants("t"))
    assert [row.uid for row in rows] == ["a"]
