"""The text form of every type, per engine, as documented in docs/reference/source-types.md."""

from typing import Any

import pytest
from reference.type_examples import MYSQL, POSTGRESQL, SQLITE

from databases import Server
from lynq.sources import SQLiteSettings
from sources.engines import (
    Engine,
    SQLite,
    mariadb_at,
    new_table,
    opened,
    postgresql_at,
    read,
    tenants,
)


@pytest.mark.parametrize(("type_", "written", "text"), MYSQL)
async def test_mysql_type_has_its_documented_text(
    mariadb: Server, type_: str, written: str, text: str
) -> None:
    await check(mariadb_at(mariadb), type_, written, text, "SET sql_mode = ''")


@pytest.mark.parametrize(("type_", "written", "text"), POSTGRESQL)
async def test_postgresql_type_has_its_documented_text(
    postgresql: Server, type_: str, written: str, text: str
) -> None:
    await check(postgresql_at(postgresql), type_, written, text)


@pytest.mark.parametrize(("type_", "written", "text"), SQLITE)
async def test_sqlite_type_has_its_documented_text(
    tmp_path: Any, type_: str, written: str, text: str
) -> None:
    engine = SQLite(SQLiteSettings(path="rows.db", directory=tmp_path))
    await check(engine, type_, written, text)


async def check(engine: Engine, type_: str, written: str, text: str, *before: str) -> None:
    table = new_table()
    await engine.execute(
        *before,
        f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER, plan {type_} NULL)",
        f"INSERT INTO {table} VALUES ('a', 1, {written}), ('b', 1, NULL)",
    )
    async with opened(engine.settings) as source:
        rows, _ = await read(source, tenants(table))
    assert [row.extras["planId"] for row in rows] == [text, ""]


async def test_mysql_timestamps_are_in_utc(mariadb: Server) -> None:
    engine = mariadb_at(mariadb)
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(9), activate BIT(1), plan TIMESTAMP NULL)",
        "SET time_zone = '+05:00'",
        f"INSERT INTO {table} VALUES ('a', b'1', '2024-01-02 03:04:05')",
        f"INSERT INTO {table} VALUES ('off', b'0', '2024-01-02 03:04:05')",
        "SET GLOBAL time_zone = '+09:00'",
    )
    try:
        async with opened(engine.settings) as source:
            rows, _ = await read(source, tenants(table))
    finally:
        await engine.execute("SET GLOBAL time_zone = 'SYSTEM'")
    assert [row.texts for row in rows] == [("a", "1", "2024-01-01T22:04:05Z")]


async def test_mysql_select_limit_of_the_server_has_no_effect(mariadb: Server) -> None:
    engine = mariadb_at(mariadb)
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER)",
        f"INSERT INTO {table} VALUES ('a', 1), ('b', 1), ('c', 1)",
        "SET GLOBAL sql_select_limit = 1",
    )
    try:
        async with opened(engine.settings) as source:
            _, summary = await read(source, tenants(table, extras={}))
    finally:
        await engine.execute("SET GLOBAL sql_select_limit = DEFAULT")
    assert summary.seen == 3


async def test_mysql_char_is_never_padded(mariadb: Server) -> None:
    engine = mariadb_at(mariadb)
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid CHAR(9), activate CHAR(9), plan CHAR(9))",
        f"INSERT INTO {table} VALUES ('a', 'yes', 'gold')",
        "SET GLOBAL sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,NO_ZERO_DATE'",
    )
    try:
        async with opened(engine.settings) as source:
            rows, _ = await read(source, tenants(table))
    finally:
        await engine.execute("SET GLOBAL sql_mode = DEFAULT")
    assert [row.texts for row in rows] == [("a", "yes", "gold")]


@pytest.mark.parametrize("how", ["VIRTUAL", "STORED"])
async def test_sqlite_generated_columns_have_their_declared_type(tmp_path: Any, how: str) -> None:
    engine = SQLite(SQLiteSettings(path="rows.db", directory=tmp_path))
    await engine.execute(
        "CREATE TABLE t (uid TEXT, activate INTEGER, day TEXT,"
        f" plan DATETIME GENERATED ALWAYS AS (day || ' 03:04:05') {how})",
        "INSERT INTO t (uid, activate, day) VALUES ('a', 1, '2024-01-02')",
    )
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants("t"))
    assert rows[0].extras == {"planId": "2024-01-02T03:04:05Z"}
    assert summary.identity.columns[2] == ("plan", "DATETIME")


async def test_postgresql_user_types_with_names_of_system_types(postgresql: Server) -> None:
    engine = postgresql_at(postgresql)
    table, schema = new_table(), f"s{new_table()}"
    await engine.execute(
        f"CREATE SCHEMA {schema}",
        f"CREATE TYPE {schema}.bool AS ENUM ('maybe')",
        f"CREATE TYPE {schema}.json AS (a integer, b text)",
        f"CREATE TYPE {schema}.date AS ENUM ('2024-01-02')",
        f"CREATE TABLE {table} (uid text, activate boolean,"
        f" a {schema}.bool, b {schema}.json, c {schema}.date)",
        f"INSERT INTO {table} VALUES ('a', true, 'maybe', (1, 'x'), '2024-01-02')",
    )
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants(table, extras={"a": "a", "b": "b", "c": "c"}))
    assert rows[0].texts[2:] == ("maybe", "(1,x)", "2024-01-02")
    assert summary.identity.columns[2] == ("a", f"{schema}.bool")
