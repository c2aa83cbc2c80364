"""Measures time and memory of a read, compared with the bare driver.

The bare driver runs the same statement and drops the rows, streamed in pages of a thousand. Our
read also validates, filters, converts and counts them. Both alternate, so that other load affects
them alike; the median counts, and CPU more than time.
Target: at most 1.3 times the bare driver's CPU, 2 times that of SQLite's, which converts nothing;
1,000,000 rows × 10 columns under 200 MB.
"""

import asyncio
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import asyncmy
import asyncpg
from asyncmy.cursors import SSCursor

import databases
from bench.peak_memory import measure_in_process
from lynq.sources import Query, SQLiteSettings, open_source
from sources.engines import Engine, MariaDB, PostgreSQL, SQLite, mariadb_at, postgresql_at

# ruff: noqa: T201 - a bench prints its results


PAGE = 1000
TURNS = 9
SIZES = (10_000, 100_000)
WIDE = 1_000_000

TYPES = "uid VARCHAR(63), activate SMALLINT, url VARCHAR(99), plan VARCHAR(20), seats INTEGER"

Read = Callable[[], Awaitable[int]]


@dataclass(frozen=True)
class Cost:
    """The time of one read."""

    wall: float
    cpu: float


async def test_read_beside_the_bare_driver(tmp_path: Path) -> None:
    print(f"\n{'engine':<12}{'rows':>9}{'bare ms':>9}{'ours ms':>9}{'ratio':>7}", end="")
    print(f"{'bare cpu':>10}{'ours cpu':>10}{'ratio':>7}{'rows/s':>11}{'peak MB':>9}")
    with servers(tmp_path) as engines:
        for engine in engines:
            for rows in SIZES:
                table = f"tenants_{rows}"
                await create_table(engine, table, rows)
                await compare(engine, table, rows)


async def test_a_million_rows_in_bounded_memory(tmp_path: Path) -> None:
    print(f"\n{'engine':<12}{'rows':>9}{'columns':>9}{'seconds':>9}{'peak MB':>9}")
    with servers(tmp_path) as engines:
        for engine in engines:
            await create_table(engine, "wide", WIDE, extra=4)
            settings = replace(engine.settings, max_bytes=1 << 30, query_timeout=600.0)
            peak, seconds = measure_in_process(settings, query_of("wide", extra=4))
            name = engine.settings.endpoint.engine
            print(f"{name:<12}{WIDE:>9}{10:>9}{seconds:>9.1f}{peak:>9.0f}")
            assert peak < 200


@contextmanager
def servers(folder: Path) -> Iterator[list[Engine]]:
    """Start all database engines."""
    with databases.mariadb() as mariadb, databases.postgresql() as postgresql:
        sqlite = SQLite(SQLiteSettings(path="rows.db", directory=folder))
        yield [mariadb_at(mariadb), postgresql_at(postgresql), sqlite]


async def compare(engine: Engine, table: str, rows: int) -> None:
    """Alternate both reads and print the result."""
    async with bare(engine, table) as bare_read, ours(engine, table) as our_read:
        turns = [(await cost(bare_read, rows), await cost(our_read, rows)) for _ in range(TURNS)]
    driver, source = (median(list(costs)) for costs in zip(*turns, strict=True))
    peak, _ = measure_in_process(engine.settings, query_of(table))
    print(f"{engine.settings.endpoint.engine:<12}{rows:>9}", end="")
    print(f"{driver.wall * 1e3:>9.0f}{source.wall * 1e3:>9.0f}", end="")
    print(f"{source.wall / driver.wall:>7.2f}", end="")
    print(f"{driver.cpu * 1e3:>10.0f}{source.cpu * 1e3:>10.0f}", end="")
    print(f"{source.cpu / driver.cpu:>7.2f}{rows / source.wall:>11,.0f}{peak:>9.0f}")


async def cost(read: Read, rows: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    assert await read() == rows
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
    )


def query_of(table: str, extra: int = 0) -> Query:
    extras = ["url", "plan", "seats", "created", *(f"more{n}" for n in range(extra))]
    return Query(
        table=table, uid="uid", activate="activate", extras={column: column for column in extras}
    )


@asynccontextmanager
async def ours(engine: Engine, table: str) -> AsyncIterator[Read]:
    source = open_source(engine.settings)

    async def read() -> int:
        reading = source.read(query_of(table))
        return sum([len(page) async for page in reading])

    yield read
    await source.close()


@asynccontextmanager
async def bare(engine: Engine, table: str) -> AsyncIterator[Read]:
    columns = ", ".join(query_of(table).columns)
    statement = f"SELECT {columns} FROM {table}"
    if isinstance(engine, MariaDB):
        async with engine.connection() as connection:
            yield lambda: bare_mysql(connection, statement)
    if isinstance(engine, PostgreSQL):
        async with engine.connection() as connection:
            yield lambda: bare_postgresql(connection, statement)
    if isinstance(engine, SQLite):
        with closing(sqlite3.connect(engine.file, check_same_thread=False)) as connection:
            yield lambda: asyncio.to_thread(bare_sqlite, connection, statement)


async def bare_mysql(connection: asyncmy.Connection, statement: str) -> int:
    count = 0
    async with connection.cursor(SSCursor) as cursor:
        await cursor.execute(statement)
        while page := await cursor.fetchmany(PAGE):
            count += len(page)
    return count


async def bare_postgresql(connection: asyncpg.Connection, statement: str) -> int:
    count = 0
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        cursor = await connection.cursor(statement)
        while page := await cursor.fetch(PAGE):
            count += len(page)
    return count


def bare_sqlite(connection: sqlite3.Connection, statement: str) -> int:
    count = 0
    cursor = connection.execute(statement)
    while page := cursor.fetchmany(PAGE):
        count += len(page)
    return count


async def create_table(engine: Engine, table: str, rows: int, extra: int = 0) -> None:
    """Create and fill a table."""
    timestamp = "TIMESTAMP" if isinstance(engine, PostgreSQL) else "DATETIME"
    types = f"{TYPES}, created {timestamp}" + "".join(
        f", more{n} VARCHAR(60)" for n in range(extra)
    )
    uid, url = "'tenant-' || n", "'https://t' || n || '.example'"
    if isinstance(engine, MariaDB):
        uid, url = "concat('tenant-', n)", "concat('https://t', n, '.example')"
    created = f"CAST('2024-01-02 03:04:05' AS {timestamp})"
    if isinstance(engine, SQLite):
        created = "'2024-01-02 03:04:05'"
    values = [uid, "1", url, "'gold'", "n", created]
    values += ["'some more text of usual length, as columns have it'"] * extra
    await engine.execute(
        f"CREATE TABLE {table} ({types})",
        f"INSERT INTO {table} SELECT {', '.join(values)} FROM {numbers(engine, rows)}",
    )


def numbers(engine: Engine, count: int) -> str:
    """Return a table expression that yields the numbers up to the count."""
    if isinstance(engine, MariaDB):
        return f"(SELECT seq AS n FROM seq_1_to_{count}) s"
    if isinstance(engine, PostgreSQL):
        return f"generate_series(1, {count}) n"
    upward = f"SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}"
    return f"(WITH RECURSIVE s(n) AS ({upward}) SELECT n FROM s)"
