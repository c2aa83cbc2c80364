"""A table that is rewritten or replaced just as a reading begins is never taken for an empty one.

The reading's snapshot is older than the rows, and the lock that it waited for is what let them in:
an MVCC server then shows a table without rows, and says nothing.
"""

import asyncio

import pytest

from lynq.sources import ReadSummary, errors
from sources.engines import (
    TENANTS,
    MariaDB,
    PostgreSQL,
    mariadb_at,
    new_table,
    opened,
    postgresql_at,
    read,
    tenants,
)
from waiting import eventually

REWRITING = {
    "truncated and filled": ("TRUNCATE {t}", "INSERT INTO {t} VALUES ('c', '1', 'new')"),
    "another type": ("ALTER TABLE {t} ALTER plan TYPE text USING plan || '!'",),
    "swapped": (
        "ALTER TABLE {t} RENAME TO {t}_old",
        "CREATE TABLE {t} AS SELECT * FROM {t}_old",
    ),
}


@pytest.mark.parametrize(
    ("how", "through_a_view"),
    [*((how, False) for how in REWRITING), ("truncated and filled", True)],
)
async def test_postgresql(
    request: pytest.FixtureRequest, how: str, *, through_a_view: bool
) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = await filled(engine)
    asked = f"v{table}" if through_a_view else table
    if through_a_view:
        await engine.execute(f"CREATE VIEW v{table} AS SELECT * FROM {table}")
    async with engine.connection() as somebody, opened(engine.settings) as source:
        async with somebody.transaction():
            for statement in REWRITING[how]:
                await somebody.execute(statement.format(t=table))
            reading = asyncio.ensure_future(read(source, tenants(asked)))
            await eventually(lambda: waits(engine, somebody))
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading
        _, summary = await read(source, tenants(asked))
    assert summary.seen > 0


async def test_postgresql_a_partition(request: pytest.FixtureRequest) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS} PARTITION BY LIST (activate)",
        f"CREATE TABLE {table}_on PARTITION OF {table} FOR VALUES IN ('1')",
        f"INSERT INTO {table} VALUES ('a', '1', 'x')",
    )
    async with engine.connection() as somebody, opened(engine.settings) as source:
        async with somebody.transaction():
            await somebody.execute(f"TRUNCATE {table}_on")
            await somebody.execute(f"INSERT INTO {table}_on VALUES ('a', '1', 'new')")
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: waits(engine, somebody))
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading


async def test_postgresql_a_lock_without_a_rewrite_is_no_failure(
    request: pytest.FixtureRequest,
) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = await filled(engine)
    async with engine.connection() as somebody, opened(engine.settings) as source:
        async with somebody.transaction():
            await somebody.execute(f"ALTER TABLE {table} ADD COLUMN more INTEGER")
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: waits(engine, somebody))
        _, summary = await reading
    assert summary.seen == 2


async def test_mysql(request: pytest.FixtureRequest) -> None:
    engine = mariadb_at(request.getfixturevalue("mariadb"))
    table = await filled(engine)
    async with engine.connection() as somebody, opened(engine.settings) as source:
        async with somebody.cursor() as cursor:
            await cursor.execute(f"LOCK TABLES {table} WRITE")
            reading: asyncio.Future[tuple[object, ReadSummary]]
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: waits_for_metadata(engine, table))
            await cursor.execute(f"TRUNCATE {table}")
            await cursor.execute(f"INSERT INTO {table} VALUES ('c', '1', 'new')")
            await cursor.execute("UNLOCK TABLES")
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading


async def filled(engine: MariaDB | PostgreSQL) -> str:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', '1', 'x'), ('b', '1', 'y')",
    )
    return table


async def waits(engine: PostgreSQL, somebody: object) -> bool:
    """Say whether anybody waits for a lock of that connection."""
    blocker = somebody.get_server_pid()  # type: ignore[attr-defined]
    async with engine.connection() as connection:
        found: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))",
            blocker,
        )
    return found


async def waits_for_metadata(engine: MariaDB, table: str) -> bool:
    async with engine.connection() as connection, connection.cursor() as cursor:
        await cursor.execute(
            "SELECT 1 FROM information_schema.processlist"
            " WHERE info LIKE %s AND state LIKE 'Waiting for table metadata lock'",
            (f"SELECT `uid`%FROM `{table}`",),
        )
        return bool(await cursor.fetchall())
