"""Measures the latency from a commit to the change notification of each push channel.

The measurement starts when the statement is sent and ends when the notification is received, so
it includes the commit. Target: p99 under 100 ms.
"""

import asyncio
import random
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncmy
import asyncpg

import databases
from lynq.sources import (
    MySQLSettings,
    PostgreSQLSettings,
    Settings,
    SourceChangeKind,
    SQLiteSettings,
    open_changes,
)
from lynq.sources.postgresql.trigger import trigger_sql
from lynq.sources.push.channel import PushTiming
from lynq.sources.query import Table

# ruff: noqa: T201 - a bench prints its results


COMMITS = 300
UNPACED = PushTiming(interval=0.0)
# SQLite recommends NORMAL for a write-ahead log: commits do not wait for the disk.
WAL = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL")
CREATE = "CREATE TABLE tenants (id INT PRIMARY KEY, name INT)"
INSERT = "INSERT INTO tenants VALUES (1, 0)"
UPDATE = "UPDATE tenants SET name = name + 1"

Commit = Callable[[], Awaitable[object]]


async def test_push_latency(tmp_path: Path) -> None:
    print(f"\n{'channel':<28}{'commits':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}")
    async with mariadb() as (settings, commit):
        show("MariaDB, binlog", await latencies(settings, commit))
    async with postgresql() as (settings, commit):
        show("PostgreSQL, LISTEN/NOTIFY", await latencies(settings, commit))
    async with sqlite(tmp_path) as (settings, commit):
        show("SQLite, data_version", await latencies(settings, commit))


def show(channel: str, seconds: list[float]) -> None:
    figures = [statistics.median(seconds), statistics.quantiles(seconds, n=100)[98], max(seconds)]
    print(f"{channel:<28}{len(seconds):>9}", *(f"{figure * 1000:>8.1f}" for figure in figures))


async def latencies(settings: Settings, commit: Commit) -> list[float]:
    notified = asyncio.Event()

    async def listen() -> None:
        async with open_changes(settings, "tenants", UNPACED) as changes:
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
    await commit()


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
            yield settings, lambda: cursor.execute(UPDATE)


@asynccontextmanager
async def postgresql() -> AsyncIterator[tuple[Settings, Commit]]:
    with databases.postgresql() as server:
        address = {"host": server.host, "port": server.port, "database": server.database}
        connection = await asyncpg.connect(user=server.user, password=server.password, **address)
        try:
            for statement in (CREATE, INSERT, trigger_sql(Table.named("tenants"))):
                await connection.execute(statement)
            settings = PostgreSQLSettings(
                host=server.host,
                port=server.port,
                username=server.user,
                password=server.password,
                database=server.database,
            )
            yield settings, lambda: connection.execute(UPDATE)
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
        yield settings, lambda: asyncio.to_thread(connection.execute, UPDATE)
    finally:
        connection.close()
