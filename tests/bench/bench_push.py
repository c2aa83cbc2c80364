"""Measures the latency from a commit to the changed row, and what the row costs.

The measurement starts when the statement is sent. The first table ends when the notification is
received, the others when the changed row has been read and merged into the rows that are known. CPU
is that of this process, per commit: it does not depend on other load, nor on the size of the table
where the engine names the changed rows.
"""

import asyncio
import random
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import asyncmy
import asyncpg

import databases
from lynq.core.hub.selected_rows import (
    IndexedRows,
    SelectedRows,
    after_selected_read,
    differing_rows,
)
from lynq.core.hub.state import ReadRows, UserRequests
from lynq.sources import (
    ChangeStream,
    MySQLSettings,
    PostgreSQLSettings,
    Query,
    Settings,
    Source,
    SourceChangeKind,
    SQLiteSettings,
    open_changes,
    open_source,
)
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table

# ruff: noqa: T201 - a bench prints its results


COMMITS = 300
MERGED_COMMITS = 50
SIZES = (1_000, 100_000)
UNPACED = PushTiming(interval=0.0, repeats=(), unknown_repeats=())
QUERY = Query(table="tenants", uid="id", activate="active", extras={"name": "name"})
# SQLite recommends NORMAL for a write-ahead log: commits do not wait for the disk.
WAL = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL")
CREATE = "CREATE TABLE tenants (id INT PRIMARY KEY, active INT, name INT)"
INSERT = "INSERT INTO tenants VALUES (1, 1, 0)"
UPDATE = "UPDATE tenants SET name = name + 1 WHERE id = 1"

Commit = Callable[[str], Awaitable[object]]
Database = Callable[[], AbstractAsyncContextManager[tuple[Settings, Commit]]]
NOW = datetime.now(UTC)


@dataclass(frozen=True)
class Rows:
    read: ReadRows
    rows: IndexedRows

    @classmethod
    def of(cls, read: ReadRows) -> "Rows":
        assert isinstance(read.rows, IndexedRows)
        return cls(read, read.rows)


async def test_push_latency(tmp_path: Path) -> None:
    print(f"\n{'channel':<28}{'commits':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}")
    async with mariadb() as (settings, commit):
        show("MariaDB, binlog", await latencies(settings, commit))
    async with postgresql() as (settings, commit):
        show("PostgreSQL, LISTEN/NOTIFY", await latencies(settings, commit))
    async with sqlite(tmp_path) as (settings, commit):
        show("SQLite, data_version", await latencies(settings, commit))


async def test_changed_row_of_a_large_table(tmp_path: Path) -> None:
    print(f"\n{'one row':<28}{'commits':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'CPU ms':>9}")
    opened = {"MariaDB": mariadb, "PostgreSQL": postgresql}
    for name, database in opened.items():
        await show_growth(name, database)
    await show_growth("SQLite, all rows", partial(sqlite, tmp_path))


async def show_growth(name: str, database: Database) -> None:
    """Measure one table while it grows; an active row costs memory, and no CPU per change."""
    cpus = []
    async with database() as (settings, commit):
        for start, size in pairwise((1, *SIZES)):
            await fill(commit, start, size)
            seconds, cpu = await merges(settings, commit)
            show(f"{name}, of {size:,}", seconds, cpu)
            cpus.append(cpu)
    print(f"{'CPU, ratio':<28}{cpus[-1] / cpus[0]:>45.2f}")


async def fill(commit: Commit, rows: int, size: int) -> None:
    """Add active rows to those that the table has."""
    for start in range(rows + 1, size + 1, 1000):
        values = ", ".join(f"({n}, 1, 0)" for n in range(start, min(start + 1000, size + 1)))
        await commit(f"INSERT INTO tenants VALUES {values}")


async def merges(settings: Settings, commit: Commit) -> tuple[list[float], float]:
    """Return the latencies of changed rows, and the CPU seconds of each."""
    source = open_source(settings)
    seconds: list[float] = []
    try:
        async with open_changes(settings, "tenants", UNPACED, uid="id") as changes:
            while (await anext(changes)).kind is not SourceChangeKind.ARRIVED:
                pass
            rows = await complete_read(source)
            rows.rows.with_uid("1")
            cpu = time.process_time()
            for _ in range(MERGED_COMMITS):
                started = time.perf_counter()
                await commit(UPDATE)
                rows = await changed_rows(source, changes, rows)
                seconds.append(time.perf_counter() - started)
            return seconds, (time.process_time() - cpu) / MERGED_COMMITS
    finally:
        await source.close()


async def changed_rows(source: Source, changes: ChangeStream, last: Rows) -> Rows:
    """Wait for a change that is visible, and return the rows with it."""
    uids = (await anext(changes)).uids
    while uids:
        async with source.read_selected(QUERY, uids) as reading:
            selected = [row async for page in reading for row in page]
        summary = reading.summary
        answer = SelectedRows(selected, summary.inactive, summary.identity.digest)
        differing = differing_rows(last.read, uids, answer)
        assert differing is not None
        if differing:
            return Rows.of(
                after_selected_read(last.read, differing, planned=last.read, changed_at=NOW)
            )
    return await complete_read(source)


async def complete_read(source: Source) -> Rows:
    async with source.read(QUERY) as reading:
        rows = [row async for page in reading for row in page]
    requests = UserRequests(1, "", "")
    return Rows.of(ReadRows(IndexedRows(rows), reading.summary.identity.digest, NOW, requests))


def show(channel: str, seconds: list[float], cpu: float | None = None) -> None:
    figures = [statistics.median(seconds), statistics.quantiles(seconds, n=100)[98], max(seconds)]
    figures += [] if cpu is None else [cpu]
    print(f"{channel:<28}{len(seconds):>9}", *(f"{figure * 1000:>8.1f}" for figure in figures))


async def latencies(settings: Settings, commit: Commit) -> list[float]:
    notified = asyncio.Event()

    async def listen() -> None:
        async with open_changes(settings, "tenants", UNPACED, uid="id") as changes:
            async for change in changes:
                if change.kind is SourceChangeKind.ARRIVED:
                    notified.set()

    listener = asyncio.create_task(listen())
    await notified.wait()
    seconds = [await latency(commit, notified) for _ in range(COMMITS)]
    listener.cancel()
    await asyncio.wait([listener])
    return seconds


async def latency(commit: Commit, notified: asyncio.Event) -> float:
    # A random pause, so that commits are not in step with polling and the previous change is over.
    await asyncio.sleep(random.uniform(0.01, 0.06))
    notified.clear()
    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        group.create_task(as_task(commit))
        await notified.wait()
        return time.perf_counter() - start


async def as_task(commit: Commit) -> None:
    await commit(UPDATE)


@asynccontextmanager
async def mariadb() -> AsyncIterator[tuple[Settings, Commit]]:
    with databases.mariadb("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1") as server:
        address = {"host": server.host, "port": server.port, "database": server.database}
        connection = await asyncmy.connect(
            user=server.user, password=server.password, autocommit=True, **address
        )
        async with connection, connection.cursor() as cursor:
            await cursor.execute(CREATE)
            await cursor.execute(INSERT)
            settings = MySQLSettings(
                host=server.host,
                port=server.port,
                username=server.user,
                password=server.password,
                database=server.database,
            )
            yield settings, cursor.execute


@asynccontextmanager
async def postgresql() -> AsyncIterator[tuple[Settings, Commit]]:
    with databases.postgresql() as server:
        address = {"host": server.host, "port": server.port, "database": server.database}
        connection = await asyncpg.connect(user=server.user, password=server.password, **address)
        try:
            for statement in (CREATE, INSERT, trigger_sql(Table.named("tenants"), uid="id")):
                await connection.execute(statement)
            settings = PostgreSQLSettings(
                host=server.host,
                port=server.port,
                username=server.user,
                password=server.password,
                database=server.database,
            )
            yield settings, connection.execute
        finally:
            await connection.close()


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[tuple[Settings, Commit]]:
    connection = sqlite3.connect(
        folder / "hub.db", isolation_level=None, check_same_thread=False, timeout=5
    )
    try:
        for statement in (*WAL, CREATE, INSERT):
            connection.execute(statement)
        settings = SQLiteSettings(path="hub.db", directory=folder)
        yield settings, lambda statement: asyncio.to_thread(connection.execute, statement)
    finally:
        connection.close()
