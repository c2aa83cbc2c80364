"""Faults of networks and servers: a read is complete or it fails, never partial."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import pytest

from lynq.sources import Source, errors
from sources.engines import (
    TENANTS,
    Engine,
    MariaDB,
    PostgreSQL,
    SQLite,
    all_rows,
    fill,
    mariadb_at,
    new_table,
    opened,
    postgresql_at,
    read,
    tenants,
)
from sources.proxy import Fault, Proxy, proxied
from waiting import at_most, eventually

ROWS = 4000


@pytest.fixture
async def table(engine: Engine) -> str:
    return await create_table(engine)


@pytest.fixture
async def server_table(server_engine: MariaDB | PostgreSQL) -> str:
    return await create_table(server_engine)


@pytest.fixture
async def proxy(server_engine: MariaDB | PostgreSQL) -> AsyncIterator[Proxy]:
    async with proxied(server_engine.settings.host, server_engine.settings.port) as proxy:
        yield proxy


async def create_table(engine: Engine) -> str:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, ROWS)
    return table


async def is_complete(source: Source, table: str) -> bool:
    _, summary = await read(source, tenants(table))
    return summary.seen == ROWS


async def test_refused_connection_fails_until_the_server_returns(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port) as source:
        assert await is_complete(source, server_table)
        await proxy.refuse()
        with pytest.raises(errors.Refused):
            await read(source, tenants(server_table))
        await proxy.listen()
        assert await is_complete(source, server_table)


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT])
@pytest.mark.parametrize("after", [1, 1000, 20_000, 50_000])
async def test_connection_lost_during_a_read_fails_it(
    server_engine: MariaDB | PostgreSQL,
    server_table: str,
    proxy: Proxy,
    fault: Fault,
    after: int,
) -> None:
    async with opened(server_engine.settings, port=proxy.port) as source:
        assert await is_complete(source, server_table)
        proxy.inject(fault, after=after)
        reading = source.read(tenants(server_table))
        with pytest.raises((errors.Interrupted, errors.SourceConnectionFailed)):
            await all_rows(reading)
        with pytest.raises(errors.NotComplete):
            _ = reading.summary
        proxy.inject(Fault.NONE)
        assert await is_complete(source, server_table)


async def test_connection_lost_at_any_byte_fails_the_read(
    server_engine: MariaDB | PostgreSQL, proxy: Proxy
) -> None:
    table = new_table()
    await server_engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(server_engine, table, 30)
    failures = 0
    for after in range(0, 6000, 29):
        proxy.inject(Fault.CUT, after=after)
        async with opened(server_engine.settings, port=proxy.port) as source:
            try:
                _, summary = await read(source, tenants(table))
            except errors.SourceError:
                failures += 1
            else:
                assert summary.seen == 30
                break
    assert failures > 10


@pytest.mark.timing
async def test_silence_during_a_read_fails_at_query_timeout(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    settings = server_engine.settings
    async with opened(settings, port=proxy.port, query_timeout=1.5) as source:
        assert await is_complete(source, server_table)
        proxy.inject(Fault.SILENCE, after=30_000)
        with at_most(seconds=6), pytest.raises(errors.QueryTimedOut, match=r"longer than 1\.5 s"):
            await read(source, tenants(server_table))
        proxy.inject(Fault.NONE)
        assert await is_complete(source, server_table)


@pytest.mark.timing
async def test_silence_while_connecting_fails_at_connect_timeout(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port, connect_timeout=1.5) as source:
        proxy.inject(Fault.SILENCE)
        with at_most(seconds=6), pytest.raises(errors.ConnectTimedOut, match=r"within 1\.5 s"):
            await read(source, tenants(server_table))
        proxy.inject(Fault.NONE)
        assert await is_complete(source, server_table)


async def test_dead_idle_connection_is_replaced(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port) as source:
        assert await is_complete(source, server_table)
        await proxy.drop()
        assert await is_complete(source, server_table)
        assert proxy.accepted == 2


async def test_silent_idle_connection_is_replaced(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port, connect_timeout=1.5) as source:
        assert await is_complete(source, server_table)
        proxy.inject(Fault.SILENCE)
        reading = asyncio.ensure_future(is_complete(source, server_table))
        await eventually(lambda: proxy.accepted == 2)
        with pytest.raises(errors.ConnectTimedOut):
            await reading


async def test_connection_is_kept_between_reads(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port) as source:
        for _ in range(5):
            assert await is_complete(source, server_table)
    assert proxy.accepted == 1


async def test_connection_is_replaced_after_its_lifetime(
    server_engine: MariaDB | PostgreSQL, server_table: str, proxy: Proxy
) -> None:
    async with opened(server_engine.settings, port=proxy.port, pool_lifetime=0.0) as source:
        for _ in range(3):
            assert await is_complete(source, server_table)
    assert proxy.accepted == 3


@pytest.mark.timing
async def test_restarted_server_is_read_again(request: pytest.FixtureRequest) -> None:
    for name, at in (("mariadb", mariadb_at), ("postgresql", postgresql_at)):
        server = request.getfixturevalue(name)
        if not server.process:
            pytest.skip("a server named in the environment is not ours to restart")
        engine: Engine = at(server)
        table = await create_table(engine)
        async with opened(engine.settings) as source:
            assert await is_complete(source, table)
            server.stop()
            with pytest.raises(errors.SourceConnectionFailed):
                await read(source, tenants(table))
            server.start()
            assert await is_complete(source, table)


@pytest.mark.timing
async def test_server_stopped_during_a_read_fails_it(request: pytest.FixtureRequest) -> None:
    for name, at in (("mariadb", mariadb_at), ("postgresql", postgresql_at)):
        server = request.getfixturevalue(name)
        if not server.process:
            pytest.skip("a server named in the environment is not ours to restart")
        engine: Engine = at(server)
        table = new_table()
        await engine.execute(f"CREATE TABLE {table} (uid VARCHAR(63), activate INTEGER, plan TEXT)")
        row = f"('u', 1, '{'x' * 1000}')"
        for _ in range(8):
            await engine.execute(f"INSERT INTO {table} VALUES {', '.join([row] * 2000)}")
        async with opened(engine.settings) as source, source.read(tenants(table)) as reading:
            pages = aiter(reading)
            await anext(pages)
            server.stop()
            try:
                with pytest.raises((errors.Interrupted, errors.SourceConnectionFailed)):
                    async for _ in pages:
                        pass
            finally:
                server.start()
            with pytest.raises(errors.NotComplete):
                _ = reading.summary


async def test_kill_during_a_read_fails_it(server_engine: MariaDB | PostgreSQL) -> None:
    table = new_table()
    await server_engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(63), activate INTEGER, plan TEXT)"
    )
    row = f"('u', 1, '{'x' * 1000}')"
    for _ in range(8):
        await server_engine.execute(f"INSERT INTO {table} VALUES {', '.join([row] * 2000)}")
    for connection_too in (False, True):
        async with opened(server_engine.settings) as source:
            async with source.read(tenants(table)) as reading:
                pages = aiter(reading)
                await anext(pages)
                await kill(server_engine, table, connection_too=connection_too)
                with pytest.raises(errors.Interrupted):
                    async for _ in pages:
                        pass
            rows, _ = await read(source, tenants(table))
        assert len(rows) == 16_000


async def kill(engine: MariaDB | PostgreSQL, table: str, *, connection_too: bool) -> None:
    """Kill the statement or connection that reads the table."""
    if isinstance(engine, PostgreSQL):
        action = "terminate" if connection_too else "cancel"
        async with engine.connection() as connection:
            await connection.execute(
                f"SELECT pg_{action}_backend(pid) FROM pg_locks"
                f" WHERE relation = '{table}'::regclass AND pid <> pg_backend_pid()"
            )
            if not connection_too:
                # Between two fetches no statement runs that could be cancelled, so the connection
                # is terminated too.
                await connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks"
                    f" WHERE relation = '{table}'::regclass AND pid <> pg_backend_pid()"
                )
        return
    async with engine.connection() as connection, connection.cursor() as cursor:
        await cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE info LIKE %s AND id <> %s",
            (f"SELECT `uid`%FROM `{table}`", connection.thread_id()),
        )
        for (id_,) in await cursor.fetchall():
            await cursor.execute(f"KILL {'' if connection_too else 'QUERY '}{id_}")


@pytest.mark.timing
async def test_locked_table_fails_at_the_timeout(engine: Engine, table: str) -> None:
    async with locked(engine, table), opened(engine.settings, query_timeout=1.2) as source:
        # SQLite's lock and the read's deadline end at the same time: either error may be raised.
        expected = errors.SourceTimedOut if isinstance(engine, SQLite) else errors.Locked
        with at_most(seconds=10), pytest.raises(expected):
            await read(source, tenants(table))


async def test_lock_released_in_time_is_waited_for(engine: Engine, table: str) -> None:
    async with opened(engine.settings, query_timeout=20) as source:
        async with locked(engine, table):
            reading = asyncio.ensure_future(is_complete(source, table))
            done, _ = await asyncio.wait([reading], timeout=0.2)
            assert not done
        assert await reading


@asynccontextmanager
async def locked(engine: Engine, table: str) -> AsyncIterator[None]:
    """Hold a lock on a table for a block, as strong as the engine has it."""
    if isinstance(engine, SQLite):
        with closing(sqlite3.connect(engine.file, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            yield
    if isinstance(engine, MariaDB):
        async with engine.connection() as connection, connection.cursor() as cursor:
            await cursor.execute(f"LOCK TABLES {table} WRITE")
            yield
    if isinstance(engine, PostgreSQL):
        async with engine.connection() as connection, connection.transaction():
            await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield


@pytest.mark.timing
async def test_slow_query_fails_at_the_timeout(engine: Engine) -> None:
    table = new_table()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
    sleeping = {MariaDB: "SELECT SLEEP(30)", PostgreSQL: "SELECT 1 FROM pg_sleep(30)"}
    slow = sleeping.get(type(engine), f"{endless} count(*) FROM n WHERE i < 0")
    await engine.execute(
        f"CREATE VIEW {table} AS SELECT 'u' AS uid, '1' AS activate, ({slow}) AS plan"
    )
    async with opened(engine.settings, query_timeout=0.3) as source:
        with at_most(seconds=3), pytest.raises(errors.QueryTimedOut):
            await read(source, tenants(table))


async def test_column_dropped_between_reads_is_reported_missing(engine: Engine, table: str) -> None:
    async with opened(engine.settings) as source:
        assert await is_complete(source, table)
        await engine.execute(f"ALTER TABLE {table} DROP COLUMN plan")
        with pytest.raises(errors.MissingColumn, match="plan"):
            await read(source, tenants(table))
        await engine.execute(f"ALTER TABLE {table} ADD COLUMN plan INTEGER")
        _, summary = await read(source, tenants(table))
    assert summary.seen == ROWS


async def test_column_renamed_between_reads_is_reported_missing(engine: Engine, table: str) -> None:
    async with opened(engine.settings) as source:
        assert await is_complete(source, table)
        await engine.execute(f"ALTER TABLE {table} RENAME COLUMN plan TO tier")
        with pytest.raises(errors.MissingColumn, match="plan"):
            await read(source, tenants(table))
        _, summary = await read(source, tenants(table, extras={"planId": "tier"}))
    assert summary.seen == ROWS


async def test_changed_type_changes_the_identity(engine: Engine, table: str) -> None:
    if isinstance(engine, SQLite):
        pytest.skip("SQLite cannot change a type; test_fingerprints swaps the table")
    change = "MODIFY plan TEXT" if isinstance(engine, MariaDB) else "ALTER plan TYPE TEXT"
    async with opened(engine.settings) as source:
        rows, before = await read(source, tenants(table))
        await engine.execute(f"ALTER TABLE {table} {change}")
        same_rows, after = await read(source, tenants(table))
    assert before.identity.digest != after.identity.digest
    assert after.identity.columns[2] == ("plan", "text")
    assert [row.digest for row in rows] == [row.digest for row in same_rows]


async def test_column_dropped_during_a_read_never_truncates_it(engine: Engine, table: str) -> None:
    async with opened(engine.settings, query_timeout=20) as source:
        async with source.read(tenants(table)) as reading:
            pages = aiter(reading)
            count = len(await anext(pages))
            change = asyncio.ensure_future(_drop_column(engine, table))
            async for page in pages:
                count += len(page)
            assert reading.summary.returned == count == ROWS * 9 // 10
        await change
        with pytest.raises(errors.MissingColumn):
            await read(source, tenants(table))


async def _drop_column(engine: Engine, table: str) -> None:
    if isinstance(engine, SQLite):
        # In a thread, because it waits for a lock that this loop holds.
        def drop() -> None:
            with closing(sqlite3.connect(engine.file, timeout=20)) as connection, connection:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN plan")

        await asyncio.to_thread(drop)
    else:
        await engine.execute(f"ALTER TABLE {table} DROP COLUMN plan")


async def test_close_fails_reads_in_progress(engine: Engine, table: str) -> None:
    async with opened(engine.settings) as source, source.read(tenants(table)) as reading:
        pages = aiter(reading)
        await anext(pages)
        await source.close()
        with pytest.raises(errors.Interrupted):
            async for _ in pages:
                pass
