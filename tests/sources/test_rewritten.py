"""A table that is rewritten or replaced while a read begins is never read as empty.

The snapshot of the read is older than the new rows, which are committed while the read waits for
the lock. An MVCC server then shows a table without rows, and no error.
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
async def test_postgresql_rewritten_table_fails_the_read(
    request: pytest.FixtureRequest, how: str, *, through_a_view: bool
) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = await create_table(engine)
    target = f"v{table}" if through_a_view else table
    if through_a_view:
        await engine.execute(f"CREATE VIEW v{table} AS SELECT * FROM {table}")
    async with engine.connection() as writer, opened(engine.settings) as source:
        async with writer.transaction():
            for statement in REWRITING[how]:
                await writer.execute(statement.format(t=table))
            reading = asyncio.ensure_future(read(source, tenants(target)))
            await eventually(lambda: is_blocking(engine, writer))
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading
        _, summary = await read(source, tenants(target))
    assert summary.seen > 0


async def test_postgresql_rewritten_partition_fails_the_read(
    request: pytest.FixtureRequest,
) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS} PARTITION BY LIST (activate)",
        f"CREATE TABLE {table}_on PARTITION OF {table} FOR VALUES IN ('1')",
        f"INSERT INTO {table} VALUES ('a', '1', 'x')",
    )
    async with engine.connection() as writer, opened(engine.settings) as source:
        async with writer.transaction():
            await writer.execute(f"TRUNCATE {table}_on")
            await writer.execute(f"INSERT INTO {table}_on VALUES ('a', '1', 'new')")
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: is_blocking(engine, writer))
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading


async def test_postgresql_lock_without_rewrite_is_no_failure(
    request: pytest.FixtureRequest,
) -> None:
    engine = postgresql_at(request.getfixturevalue("postgresql"))
    table = await create_table(engine)
    async with engine.connection() as writer, opened(engine.settings) as source:
        async with writer.transaction():
            await writer.execute(f"ALTER TABLE {table} ADD COLUMN more INTEGER")
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: is_blocking(engine, writer))
        _, summary = await reading
    assert summary.seen == 2


async def test_mysql_rewritten_table_fails_the_read(request: pytest.FixtureRequest) -> None:
    engine = mariadb_at(request.getfixturevalue("mariadb"))
    table = await create_table(engine)
    async with engine.connection() as writer, opened(engine.settings) as source:
        async with writer.cursor() as cursor:
            await cursor.execute(f"LOCK TABLES {table} WRITE")
            reading: asyncio.Future[tuple[object, ReadSummary]]
            reading = asyncio.ensure_future(read(source, tenants(table)))
            await eventually(lambda: is_waiting_for_metadata(engine, table))
            await cursor.execute(f"TRUNCATE {table}")
            await cursor.execute(f"INSERT INTO {table} VALUES ('c', '1', 'new')")
            await cursor.execute("UNLOCK TABLES")
        with pytest.raises(errors.Interrupted, match="rewritten"):
            await reading


async def create_table(engine: MariaDB | PostgreSQL) -> str:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', '1', 'x'), ('b', '1', 'y')",
    )
    return table


async def is_blocking(engine: PostgreSQL, writer: object) -> bool:
    """Return whether a session waits for a lock of the writer."""
    blocker = writer.get_server_pid()  # type: ignore[attr-defined]
    async with engine.connection() as connection:
        blocked: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))",
            blocker,
        )
    return blocked


async def is_waiting_for_metadata(engine: MariaDB, table: str) -> bool:
    async with engine.connection() as connection, connection.cursor() as cursor:
        await cursor.execute(
            "SELECT 1 FROM information_schema.processlist"
            " WHERE info LIKE %s AND state LIKE 'Waiting for table metadata lock'",
            (f"SELECT `uid`%FROM `{table}`%",),
        )
        return bool(await cursor.fetchall())
