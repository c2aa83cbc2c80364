"""The text form of every type, per engine: what docs/sources.md promises."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
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
    ("TINYINT(1)", "1", "1", 1),
    ("BOOLEAN", "FALSE", "0", 0),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615", 2**64 - 1),
    ("INT(5) ZEROFILL", "42", "00042", 42),
    ("DECIMAL(10,3)", "1.500", "1.500", Decimal("1.500")),
    ("DOUBLE", "0.1", "0.1", 0.1),
    ("FLOAT", "0.1", "0.1", 0.1),
    ("BIT(1)", "b'1'", "1", 1),
    ("BIT(12)", "b'101000000001'", "2561", 2561),
    ("DATE", "'2024-01-02'", "2024-01-02T00:00:00Z", date(2024, 1, 2)),
    (
        "DATETIME",
        "'2024-01-02 03:04:05'",
        "2024-01-02T03:04:05Z",
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    ),
    (
        "DATETIME(6)",
        "'2024-01-02 03:04:05.120000'",
        "2024-01-02T03:04:05.12Z",
        datetime(2024, 1, 2, 3, 4, 5, 120000, tzinfo=UTC),
    ),
    ("DATETIME(3)", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z", None),
    ("DATETIME", "'0000-00-00 00:00:00'", "0001-01-01T00:00:00Z", None),
    ("DATE", "'0000-00-00'", "0001-01-01T00:00:00Z", None),
    ("DATE", "'2024-00-00'", "2024-01-01T00:00:00Z", None),
    ("DATE", "'2000-10-10'", "2000-10-10T00:00:00Z", date(2000, 10, 10)),
    ("TIME", "'-101:02:03'", "-101:02:03", -timedelta(hours=101, minutes=2, seconds=3)),
    ("TIME(3)", "'01:02:03.5'", "01:02:03.500", timedelta(hours=1, minutes=2, seconds=3.5)),
    ("YEAR", "2024", "2024", 2024),
    ("CHAR(5)", "'ab'", "ab", "ab"),
    ("TEXT", "'a\tb'", "a\tb", "a\tb"),
    ("ENUM('gold', 'iron')", "'iron'", "iron", "iron"),
    ("SET('a', 'b')", "'a,b'", "a,b", "a,b"),
    ("JSON", """'{"a": [1, 2.50]}'""", '{"a": [1, 2.50]}', '{"a": [1, 2.50]}'),
    ("BLOB", "'text'", "text", b"text"),
    ("BLOB", "x'FF00'", "/wA=", b"\xff\x00"),
    ("VARBINARY(4)", "x'C3A4'", "ä", "ä".encode()),
    ("BINARY(3)", "x'FFFFFF'", "////", b"\xff\xff\xff"),
    (
        "UUID",
        "'123e4567-e89b-12d3-a456-426614174000'",
        "123e4567-e89b-12d3-a456-426614174000",
        None,
    ),
    ("INET6", "'::1'", "::1", "::1"),
    ("DATETIME", "NULL", "", None),
    ("BLOB", "NULL", "", None),
    ("BIT(1)", "NULL", "", None),
]

POSTGRESQL = [
    ("boolean", "true", "true", True),
    ("boolean", "false", "false", False),
    ("smallint", "-1", "-1", -1),
    ("bigint", "9223372036854775807", "9223372036854775807", 2**63 - 1),
    ("numeric", "1.500", "1.500", Decimal("1.500")),
    ("numeric", "'1e30'", "1000000000000000000000000000000", None),
    ("numeric", "'NaN'", "NaN", None),
    ("real", "0.1", "0.1", 0.1),
    ("double precision", "1", "1", 1.0),
    ("double precision", "1e20", "1e+20", 1e20),
    ("date", "'2024-01-02'", "2024-01-02T00:00:00Z", date(2024, 1, 2)),
    (
        "timestamp",
        "'2024-01-02 03:04:05'",
        "2024-01-02T03:04:05Z",
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    ),
    ("timestamptz", "'2024-01-02 03:04:05.120+02'", "2024-01-02T01:04:05.12Z", None),
    ("timestamptz", "'infinity'", "infinity", "infinity"),
    ("date", "'0044-03-15 BC'", "0044-03-15 BC", "0044-03-15 BC"),
    ("date", "'10000-01-02'", "10000-01-02T00:00:00Z", "10000-01-02T00:00:00Z"),
    ("time", "'01:02:03.5'", "01:02:03.5", timedelta(hours=1, minutes=2, seconds=3.5)),
    ("timetz", "'01:02:03+02'", "01:02:03+02", "01:02:03+02"),
    ("interval", "'1 month 2 days'", "1 mon 2 days", "1 mon 2 days"),
    ("char(4)", "'ab'", "ab  ", "ab  "),
    ("text", "E'a\\tb'", "a\tb", "a\tb"),
    ("json", """'{"b": 1,  "a": 1.50}'""", '{"b": 1,  "a": 1.50}', None),
    ("jsonb", """'{"b": 1,  "a": 1.50}'""", '{"a": 1.50, "b": 1}', None),
    (
        "uuid",
        "'123e4567-e89b-12d3-a456-426614174000'",
        "123e4567-e89b-12d3-a456-426614174000",
        None,
    ),
    ("inet", "'10.0.0.1/24'", "10.0.0.1/24", "10.0.0.1/24"),
    ("bytea", "'text'", "text", b"text"),
    ("bytea", r"'\xff00'", "/wA=", b"\xff\x00"),
    ("bit(1)", "B'1'", "1", "1"),
    ("bit(4)", "B'0101'", "0101", "0101"),
    ("text[]", "ARRAY['a', 'b c']", '{a,"b c"}', '{a,"b c"}'),
    ("oid", "7", "7", "7"),
    ("timestamp", "NULL", "", None),
    ("boolean", "NULL", "", None),
    ("integer", "NULL", "", None),
]

SQLITE = [
    ("INTEGER", "9223372036854775807", "9223372036854775807", 2**63 - 1),
    ("BOOLEAN", "TRUE", "1", 1),
    ("REAL", "1.0", "1", 1.0),
    ("REAL", "0.1", "0.1", 0.1),
    ("DECIMAL(10,2)", "'1.50'", "1.5", 1.5),
    ("TEXT", "'1.50'", "1.50", "1.50"),
    ("TEXT", "'2024-01-02 03:04:05'", "2024-01-02 03:04:05", "2024-01-02 03:04:05"),
    ("DATE", "'2024-01-02'", "2024-01-02T00:00:00Z", None),
    ("DATETIME", "'2024-01-02 03:04:05'", "2024-01-02T03:04:05Z", None),
    ("TIMESTAMP", "'2024-01-02T03:04:05.120+02:00'", "2024-01-02T01:04:05.12Z", None),
    ("DATETIME", "'2024-01-02 03:04'", "2024-01-02T03:04:00Z", None),
    ("DATETIME", "'soon'", "soon", "soon"),
    ("DATETIME", "'2024-13-02 03:04:05'", "2024-13-02 03:04:05", None),
    ("DATETIME", "1704164645", "1704164645", 1704164645),
    ("BLOB", "x'FF00'", "/wA=", b"\xff\x00"),
    ("BLOB", "'text'", "text", "text"),
    ("", "'anything'", "anything", "anything"),
    ("DATETIME", "NULL", "", None),
    ("INTEGER", "NULL", "", None),
]


@pytest.mark.parametrize(("type_", "written", "text", "value"), MYSQL)
async def test_mysql(mariadb: Server, type_: str, written: str, text: str, value: Any) -> None:
    await check(mariadb_at(mariadb), type_, written, text, value, "SET sql_mode = ''")


@pytest.mark.parametrize(("type_", "written", "text", "value"), POSTGRESQL)
async def test_postgresql(
    postgresql: Server, type_: str, written: str, text: str, value: Any
) -> None:
    await check(postgresql_at(postgresql), type_, written, text, value)


@pytest.mark.parametrize(("type_", "written", "text", "value"), SQLITE)
async def test_sqlite(tmp_path: Any, type_: str, written: str, text: str, value: Any) -> None:
    engine = SQLite(SQLiteSettings(path="rows.db", directory=tmp_path))
    await check(engine, type_, written, text, value)


async def check(
    engine: Engine, type_: str, written: str, text: str, value: Any, *before: str
) -> None:
    table = new_table()
    await engine.execute(
        *before,
        f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER, plan {type_} NULL)",
        f"INSERT INTO {table} VALUES ('a', 1, {written}), ('b', 1, NULL)",
    )
    async with opened(engine.settings) as source:
        rows, _ = await read(source, tenants(table))
    assert [row.extras["planId"] for row in rows] == [text, ""]
    if value is not None:
        assert rows[0].values["planId"] == value
        assert type(rows[0].values["planId"]) is type(value)
    assert rows[1].values["planId"] is None


async def test_mysql_timestamps_are_in_utc_whatever_the_server_thinks(mariadb: Server) -> None:
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


async def test_mysql_select_limit_of_somebody_cuts_nothing(mariadb: Server) -> None:
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


async def test_mysql_char_is_never_padded_whatever_the_server_thinks(mariadb: Server) -> None:
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


async def test_postgresql_types_of_somebody_with_names_of_known_ones(postgresql: Server) -> None:
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
