"""Push from SQLite files: what wakes the hub, what does not, and what is told when it cannot."""

import asyncio
import sqlite3
import time
from contextlib import AbstractAsyncContextManager, closing
from functools import partial
from pathlib import Path

import pytest

from lynq.sources import SQLiteSettings
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table
from lynq.sources.sqlite import push
from push_listener import QUICK, CountingNotifier, listen_to, notifications, push_threads
from waiting import eventually


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make(tmp_path / "hub.db")
    return tmp_path


@pytest.fixture
def settings(directory: Path) -> SQLiteSettings:
    return SQLiteSettings(path="hub.db", directory=directory)


def make(file: Path) -> None:
    change(file, "CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT)")


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def rung(settings: SQLiteSettings) -> AbstractAsyncContextManager[CountingNotifier]:
    return notifications(partial(push.listen, settings, Table.named("tenants"), QUICK))


@pytest.mark.parametrize("journal", ["DELETE", "TRUNCATE", "WAL"])
async def test_every_commit_wakes(directory: Path, settings: SQLiteSettings, journal: str) -> None:
    change(directory / "hub.db", f"PRAGMA journal_mode = {journal}")
    async with rung(settings) as bell:
        for i in range(5):
            before = bell.rings
            change(directory / "hub.db", f"INSERT INTO tenants VALUES ({i}, '')")
            await eventually(partial(has_rung, bell, before))


def has_rung(bell: CountingNotifier, before: int) -> bool:
    return bell.rings == before + 1


async def test_what_is_rolled_back_wakes_nobody(directory: Path, settings: SQLiteSettings) -> None:
    async with rung(settings) as bell:
        before = bell.rings
        change(directory / "hub.db", "BEGIN", "INSERT INTO tenants VALUES (1, '')", "ROLLBACK")
        change(directory / "hub.db", "INSERT INTO tenants VALUES (2, '')")
        await eventually(lambda: bell.rings > before)
        assert bell.rings == before + 1


async def test_a_locked_file_is_no_loss(directory: Path, settings: SQLiteSettings) -> None:
    with closing(sqlite3.connect(directory / "hub.db", isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO tenants VALUES (1, '')")
        async with rung(settings) as bell:
            before = bell.rings
            writer.execute("COMMIT")
            await eventually(lambda: bell.rings == before + 1)
            assert not bell.problem


async def test_a_replaced_file_wakes_and_is_watched(
    directory: Path, settings: SQLiteSettings
) -> None:
    async with rung(settings) as bell:
        for _ in range(2):
            before = bell.rings
            make(directory / "new.db")
            (directory / "new.db").rename(directory / "hub.db")
            await eventually(partial(has_rung, bell, before))
            change(directory / "hub.db", "INSERT INTO tenants VALUES (1, '')")
            await eventually(partial(has_rung, bell, before + 1))


async def test_a_link_that_is_turned_to_another_file_wakes(directory: Path) -> None:
    make(directory / "other.db")
    (directory / "link.db").symlink_to("hub.db")
    async with rung(SQLiteSettings(path="link.db", directory=directory)) as bell:
        before = bell.rings
        (directory / "new").symlink_to("other.db")
        (directory / "new").rename(directory / "link.db")
        await eventually(lambda: bell.rings == before + 1)
        change(directory / "other.db", "INSERT INTO tenants VALUES (1, '')")
        await eventually(lambda: bell.rings == before + 2)


async def test_a_file_that_goes_away_is_told_and_its_return_wakes(
    directory: Path, settings: SQLiteSettings
) -> None:
    async with listen_to(settings, "tenants") as ears:
        await ears.connected()
        (directory / "hub.db").unlink()
        lost = await ears.lost()
        assert lost.reason == "MissingDatabase"
        assert "hub.db" in lost.message
        make(directory / "hub.db")
        await ears.connected()


async def test_a_file_that_is_no_database_is_told(
    directory: Path, settings: SQLiteSettings
) -> None:
    (directory / "hub.db").write_bytes(b"these are not the rows you are looking for" * 100)
    async with listen_to(settings, "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "SourceConnectionFailed"
    assert "SQLITE_NOTADB" in lost.message


async def test_an_operator_without_a_directory_refuses() -> None:
    async with listen_to(SQLiteSettings(path="hub.db", directory=None), "tenants") as ears:
        lost = await ears.lost()
    assert lost.reason == "InvalidSettings"
    assert "--sqlite-dir" in lost.message


async def test_ten_thousand_updates_are_a_handful_of_wake_ups(
    directory: Path, settings: SQLiteSettings
) -> None:
    timing = PushTiming()
    change(directory / "hub.db", "PRAGMA journal_mode = WAL", "INSERT INTO tenants VALUES (1, '')")

    def update() -> None:
        update = "UPDATE tenants SET name = name + 1"
        change(directory / "hub.db", "PRAGMA synchronous = OFF", *[update] * 10_000)

    async with listen_to(settings, "tenants", timing) as ears:
        await ears.connected()
        began, before = time.monotonic(), ears.wake_ups
        await asyncio.to_thread(update)
        await eventually(lambda: ears.wake_ups > before, within=timing.interval * 2)
        intervals = (time.monotonic() - began) / timing.interval
        assert ears.wake_ups - before <= intervals + 2


async def test_closing_leaves_no_thread_and_no_task(settings: SQLiteSettings) -> None:
    before = asyncio.all_tasks()
    async with listen_to(settings, "tenants") as ears:
        await ears.connected()
        assert push_threads()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not push_threads()
    assert asyncio.all_tasks() == before
