"""Push from SQLite files: the behavior that is specific to files."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from lynq.sources import SQLiteSettings
from push_listener import CountingNotifier, count_changes, listen_to
from sources.push.push_databases import SQLitePush
from waiting import eventually


def has_changes(notifier: CountingNotifier, count: int) -> bool:
    return notifier.changes == count


@pytest.mark.parametrize("journal", ["DELETE", "TRUNCATE", "WAL"])
async def test_every_commit_is_reported_in_every_journal_mode(
    sqlite_push: SQLitePush, journal: str
) -> None:
    sqlite_push.write(f"PRAGMA journal_mode = {journal}")
    async with count_changes(sqlite_push.settings, "tenants") as notifier:
        for row in range(10, 15):
            before = notifier.changes
            sqlite_push.write(f"INSERT INTO tenants VALUES ({row}, '')")
            await eventually(partial(has_changes, notifier, before + 1))


async def test_locked_file_is_no_loss(sqlite_push: SQLitePush) -> None:
    with closing(sqlite3.connect(sqlite_push.file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO tenants VALUES (9, '')")
        async with count_changes(sqlite_push.settings, "tenants") as notifier:
            before = notifier.changes
            writer.execute("COMMIT")
            await eventually(lambda: notifier.changes == before + 1)
            assert not notifier.error


async def test_replaced_file_is_reported_and_watched(sqlite_push: SQLitePush) -> None:
    replacement = sqlite_push.file.with_name("new.db")
    async with count_changes(sqlite_push.settings, "tenants") as notifier:
        for _ in range(2):
            before = notifier.changes
            sqlite_push.create(replacement)
            replacement.rename(sqlite_push.file)
            await eventually(partial(has_changes, notifier, before + 1))
            sqlite_push.write("INSERT INTO tenants VALUES (9, '')")
            await eventually(partial(has_changes, notifier, before + 2))


async def test_link_to_another_file_is_reported_and_watched(sqlite_push: SQLitePush) -> None:
    directory = sqlite_push.file.parent
    sqlite_push.create(directory / "other.db")
    (directory / "link.db").symlink_to("hub.db")
    settings = replace(sqlite_push.settings, path="link.db")
    async with count_changes(settings, "tenants") as notifier:
        before = notifier.changes
        (directory / "new").symlink_to("other.db")
        (directory / "new").rename(directory / "link.db")
        await eventually(lambda: notifier.changes == before + 1)
        sqlite_push.write("INSERT INTO tenants VALUES (9, '')", file=directory / "other.db")
        await eventually(lambda: notifier.changes == before + 2)


async def test_file_that_is_no_database_is_reported(sqlite_push: SQLitePush) -> None:
    sqlite_push.file.write_bytes(b"these are not the rows you are looking for" * 100)
    async with listen_to(sqlite_push.settings, "tenants") as listener:
        lost = await listener.lost()
    assert lost.reason == "SourceConnectionFailed"
    assert "SQLITE_NOTADB" in lost.message


async def test_operator_without_sqlite_directory_rejects_the_file() -> None:
    async with listen_to(SQLiteSettings(path="hub.db", directory=None), "tenants") as listener:
        lost = await listener.lost()
    assert lost.reason == "InvalidSettings"
    assert "--sqlite-dir" in lost.message
