"""The text form of every type, per engine, as documented in docs/reference/sources.md."""

from typing import Any

import pytest

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

MYSQL = [
    ("TINYINT(1)", "1", "1"),
    ("BOOLEAN", "FALSE", "0"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615"),
    ("INT(5) ZEROFILL", "42", "00042"),
    ("DECIMAL(10,3)", "1.500", "1.500"),
    ("DOUBLE", "0.1", "0.1"),
    ("FLOAT", "0.1", "0.1"),
    ("BIT(1)", "b'1'", "1"),
    ("BIT(12)", "b'101000000001'", "2561"),
    ("DATE", "'2024-01-02'", "2024-01-02T00:00:00Z"),
    ("DATETIME", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z"),
    ("DATETIME(6)", "'2024-01-02 03:04:05.120000'", "2024-01-02T03:04:05.12Z"),
    ("DATETIME(3)", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z"),
    ("DATETIME", "'0000-00-00 00:00:00'", "0001-01-01T00:00:00Z"),
    ("DATE", "'0000-00-00'", "0001-01-01T00:00:00Z"),
    ("DATE", "'2024-00-00'", "2024-01-01T00:00:00Z"),
    ("DATE", "'2000-10-10'", "2000-10-10T00:00:00Z"),
    ("TIME", "'-101:02:03'", "-101:02:03"),
    ("TIME(3)", "'01:02:03.5'", "01:02:03.500"),
    ("YEAR", "2024", "2024"),
    ("CHAR(5)", "'ab'", "ab"),
    ("TEXT", "'a\tb'", "a\tb"),
    ("ENUM('gold', 'iron')", "'iron'", "iron"),
    ("SET('a', 'b')", "'a,b'", "a,b"),
    ("JSON", """'{"a": [1, 2.50]}'""", '{"a": [1, 2.50]}'),
    ("BLOB", "'text'", "text"),
    ("BLOB", "x'FF00'", "/wA="),
    ("VARBINARY(4)", "x'C3A4'", "ä"),
    ("BINARY(3)", "x'FFFFFF'", "////"),
    ("UUID", "'123e4567-e89b-12d3-a456-426614174000'", "123e4567-e89b-12d3-a456-426614174000"),
    ("INET6", "'::1'", "::1"),
    ("DATETIME", "NULL", ""),
    ("BLOB", "NULL", ""),
    ("BIT(1)", "NULL", ""),
]

POSTGRESQL = [
    ("boolean", "true", "true"),
    ("boolean", "false", "false"),
    ("smallint", "-1", "-1"),
    ("bigint", "9223372036854775807", "9223372036854775807"),
    ("numeric", "1.500", "1.500"),
    ("numeric", "'1e30'", "1000000000000000000000000000000"),
    ("numeric", "'NaN'", "NaN"),
    ("real", "0.1", "0.1"),
    ("double precision", "1", "1"),
    ("double precision", "1e20", "1e+20"),
    ("date", "'2024-01-02'", "2024-01-02T00:00:00Z"),
    ("timestamp", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z"),
    ("timestamptz", "'2024-01-02 03:04:05.120+02'", "2024-01-02T01:04:05.12Z"),
    ("timestamptz", "'infinity'", "infinity"),
    ("date", "'0044-03-15 BC'", "0044-03-15 BC"),
    ("date", "'10000-01-02'", "10000-01-02T00:00:00Z"),
    ("time", "'01:02:03.5'", "01:02:03.5"),
    ("timetz", "'01:02:03+02'", "01:02:03+02"),
    ("interval", "'1 month 2 days'", "1 mon 2 days"),
    ("char(4)", "'ab'", "ab"),
    ("text", "E'a\\tb'", "a\tb"),
    ("json", """'{"b": 1,  "a": 1.50}'""", '{"b": 1,  "a": 1.50}'),
    ("jsonb", """'{"b": 1,  "a": 1.50}'""", '{"a": 1.50, "b": 1}'),
    ("uuid", "'123e4567-e89b-12d3-a456-426614174000'", "123e4567-e89b-12d3-a456-426614174000"),
    ("inet", "'10.0.0.1/24'", "10.0.0.1/24"),
    ("bytea", "'text'", "text"),
    ("bytea", r"'\xff00'", "/wA="),
    ("bit(1)", "B'1'", "1"),
    ("bit(4)", "B'0101'", "0101"),
    ("text[]", "ARRAY['a', 'b c']", '{a,"b c"}'),
    ("oid", "7", "7"),
    ("timestamp", "NULL", ""),
    ("boolean", "NULL", ""),
    ("integer", "NULL", ""),
]

SQLITE = [
    ("INTEGER", "9223372036854775807", "9223372036854775807"),
    ("BOOLEAN", "TRUE", "1"),
    ("REAL", "1.0", "1"),
    ("REAL", "0.1", "0.1"),
    ("DECIMAL(10,2)", "'1.50'", "1.5"),
    ("TEXT", "'1.50'", "1.50"),
    ("TEXT", "'2024-01-02 03:04:05'", "2024-01-02 03:04:05"),
    ("DATE", "'2024-01-02'", "2024-01-02T00:00:00Z"),
    ("DATETIME", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z"),
    ("TIMESTAMP", "'2024-01-02T03:04:05.120+02:00'", "2024-01-02T01:04:05.12Z"),
    ("DATETIME", "'2024-01-02 03:04'", "2024-01-02T03:04:00Z"),
    ("DATETIME", "'soon'", "soon"),
    ("DATETIME", "'2024-13-02 03:04:05'", "2024-13-02 03:04:05"),
    ("DATETIME", "1704164645", "1704164645"),
    ("BLOB", "x'FF00'", "/wA="),
    ("BLOB", "'text'", "text"),
    ("", "'anything'", "anything"),
    ("DATETIME", "NULL", ""),
    ("INTEGER", "NULL", ""),
]


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
