"""Rows that are selected by their uid: equal to those of a complete read, on every engine."""

from typing import Any

import pytest

from lynq.sources import SQLiteSettings
from lynq.sources.errors import NotSelectable
from sources.engines import (
    TENANTS,
    Engine,
    MariaDB,
    PostgreSQL,
    SQLite,
    all_rows,
    new_table,
    opened,
    tenants,
)

ODD = (
    "acme",
    "ACME",
    "acme ",
    "o'brien",
    '"quoted"',
    "back\\slash",
    "\\' OR 1=1 -- ",
    "100%s",
    "ünïcode",
    "日本",
    "_utf8",
    "a" * 63,
    "",
)


async def selected(
    engine: Engine, table: str, *uids: str, **changes: Any
) -> tuple[list[tuple[str, ...]], frozenset[str]]:
    """Return the texts of the selected rows with exactly these uids, and the inactive uids.

    They are the rows that a complete read has under these uids, in any order.
    """
    query, asked = tenants(table, **changes), frozenset(uids)
    async with opened(engine.settings) as source:
        reading = source.read_selected(query, asked)
        rows = [row for row in await all_rows(reading) if row.uid in asked]
        complete_reading = source.read(query, tracked=asked)
        complete = [row for row in await all_rows(complete_reading) if row.uid in asked]
    assert sorted(row.digest for row in rows) == sorted(row.digest for row in complete)
    assert reading.summary.identity == complete_reading.summary.identity
    assert reading.summary.inactive == complete_reading.summary.inactive
    return sorted(row.texts for row in rows), reading.summary.inactive


async def test_selected_rows_equal_those_of_a_complete_read(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    table = new_table()
    await server_engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await server_engine.insert(table, [(uid, "1", f"plan {n}") for n, uid in enumerate(ODD)])
    for n, uid in enumerate(ODD):
        rows, _ = await selected(server_engine, table, uid)
        assert rows == [(uid, "1", f"plan {n}")]
    rows, _ = await selected(server_engine, table, *ODD, "missing")
    assert len(rows) == len(ODD)


async def test_inactive_duplicate_and_missing_rows_are_reported(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    table = new_table()
    await server_engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await server_engine.insert(
        table,
        [("off", "0", "p"), ("both", "1", "p"), ("both", "0", "q"), ("two", "1", "p")] * 2,
    )
    rows, inactive = await selected(server_engine, table, "off", "both", "two", "missing")
    assert [row[0] for row in rows] == ["both", "both", "two", "two"]
    assert inactive == {"off", "both"}


@pytest.mark.parametrize(
    ("type_", "uids"),
    [
        ("INT", ("7", "-3", "0")),
        ("BIGINT", ("9223372036854775807", "-9223372036854775808")),
        ("SMALLINT", ("12",)),
        ("CHAR(12)", ("padded", "pad ded")),
        ("VARCHAR(12)", ("padded  ",)),
    ],
)
async def test_uid_is_compared_as_the_columns_type(
    server_engine: MariaDB | PostgreSQL, type_: str, uids: tuple[str, ...]
) -> None:
    table = new_table()
    await server_engine.execute(
        f"CREATE TABLE {table} (uid {type_}, activate VARCHAR(10), plan VARCHAR(200))",
        *(f"INSERT INTO {table} VALUES ('{uid}', '1', 'p')" for uid in uids),
    )
    rows, _ = await selected(server_engine, table, *uids)
    assert sorted(row[0] for row in rows) == sorted(uids)


async def test_text_that_is_no_value_of_the_type_selects_nothing(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    table = new_table()
    await server_engine.execute(
        f"CREATE TABLE {table} (uid INT, activate VARCHAR(10), plan VARCHAR(200))",
        f"INSERT INTO {table} VALUES (7, '1', 'p'), (0, '1', 'p')",
    )
    for uid in ("07", "7 ", "7.0", "seven", "9" * 30, "", "١"):
        assert await selected(server_engine, table, uid) == ([], frozenset())


async def test_uuids_of_postgresql_are_selected(postgresql_engine: PostgreSQL) -> None:
    table, uid = new_table(), "6b0f6f5e-9d3c-4b9e-8c29-0d1c8a0d7a11"
    await postgresql_engine.execute(
        f"CREATE TABLE {table} (uid UUID, activate VARCHAR(10), plan VARCHAR(200))",
        f"INSERT INTO {table} VALUES ('{uid}', '1', 'p')",
    )
    rows, _ = await selected(postgresql_engine, table, uid, uid.upper(), "no uuid")
    assert [row[0] for row in rows] == [uid]


async def test_columns_that_differ_from_their_text_are_not_selected(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    is_mariadb = isinstance(server_engine, MariaDB)
    types = ("VARBINARY(9)", "ENUM('7')", "DECIMAL(5,2)", "INT(5) ZEROFILL", "BIT(8)", "DATE")
    for type_ in types if is_mariadb else ("BYTEA", "NUMERIC", "DATE", "JSONB"):
        table = new_table()
        await server_engine.execute(
            f"CREATE TABLE {table} (uid {type_}, activate VARCHAR(10), plan VARCHAR(200))"
        )
        with pytest.raises(NotSelectable):
            await selected(server_engine, table, "7")


async def test_oversize_row_is_selected_with_its_size(
    server_engine: MariaDB | PostgreSQL,
) -> None:
    table = new_table()
    await server_engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(63), activate VARCHAR(10), plan TEXT)".replace(
            "TEXT", "LONGTEXT" if isinstance(server_engine, MariaDB) else "TEXT"
        )
    )
    await server_engine.insert(table, [("huge", "1", "x" * 300_000), ("small", "1", "x")])
    async with opened(server_engine.settings) as source:
        rows = await all_rows(source.read_selected(tenants(table), frozenset({"huge", "small"})))
    assert {row.uid: row.oversize > 0 for row in rows} == {"huge": True, "small": False}


async def test_sqlite_rows_are_not_selected(tmp_path: Any) -> None:
    engine = SQLite(SQLiteSettings(path="rows.db", directory=tmp_path))
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    with pytest.raises(NotSelectable):
        await selected(engine, table, "acme")
