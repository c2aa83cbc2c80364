"""Rows as a statement would leave them: read in its transaction, which is rolled back."""

import sqlite3

import pytest

from lynq.sources import Query, open_source
from lynq.sources.errors import StatementFailed, StatementRefused
from sources.engines import TENANTS, Engine, MariaDB, new_table


async def created(engine: Engine) -> str:
    table = new_table()
    rows = "('acme', '1', 'p'), ('beta', '1', 'p')"
    await engine.execute(f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES {rows}")
    return table


async def uids(engine: Engine, table: str, statement: str = "") -> list[str]:
    source = open_source(engine.settings)
    query = Query(table=table, uid="uid", activate="activate")
    try:
        reading = source.read_after(statement, query) if statement else source.read(query)
        async with reading:
            return sorted([row.uid async for page in reading for row in page])
    finally:
        await source.close()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM {table} WHERE uid = 'acme'", ["beta"]),
        ("UPDATE {table} SET uid = 'other' WHERE uid = 'acme';", ["beta", "other"]),
        ("UPDATE {table} SET activate = '0'", []),
        ("INSERT INTO {table} VALUES ('gamma', '1', 'p')", ["acme", "beta", "gamma"]),
    ],
)
async def test_rows_are_those_after_the_statement_and_nothing_is_changed(
    engine: Engine, statement: str, expected: list[str]
) -> None:
    table = await created(engine)
    assert await uids(engine, table, statement.format(table=table)) == expected
    assert await uids(engine, table) == ["acme", "beta"]


async def test_second_statement_is_refused_by_the_database_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("pool", "sqlite.source"):
        monkeypatch.setattr(f"lynq.sources.{module}.check_statement", lambda _: None)
    table = await created(engine)
    with pytest.raises((StatementFailed, sqlite3.Warning, sqlite3.Error)):
        await uids(engine, table, f"DELETE FROM {table}; COMMIT")
    assert await uids(engine, table) == ["acme", "beta"]


async def test_failed_statement_has_the_message_of_the_database(engine: Engine) -> None:
    table = await created(engine)
    with pytest.raises(StatementFailed, match="nope"):
        await uids(engine, table, f"UPDATE {table} SET nope = 1")


async def test_refused_statement_is_not_sent(engine: Engine) -> None:
    table = await created(engine)
    with pytest.raises(StatementRefused):
        await uids(engine, table, f"DROP TABLE {table}")


async def test_table_that_cannot_be_rolled_back_is_refused(server_engine: Engine) -> None:
    if not isinstance(server_engine, MariaDB):
        pytest.skip("only MySQL has tables without transactions")
    table = await created(server_engine)
    other = new_table()
    await server_engine.execute(f"CREATE TABLE {other} (a int) ENGINE=MyISAM")
    try:
        with pytest.raises(StatementRefused, match=other):
            await uids(server_engine, table, f"DELETE FROM {table}")
        assert await uids(server_engine, table) == ["acme", "beta"]
    finally:
        await server_engine.execute(f"DROP TABLE {other}")
