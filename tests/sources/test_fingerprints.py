"""Digests and identities of reads: different exactly if rows or columns differ."""

from dataclasses import replace

from lynq.sources import Query, ReadSummary
from sources.engines import TENANTS, Engine, MariaDB, SQLite, new_table, opened, read, tenants


async def summary_of(engine: Engine, query: Query) -> ReadSummary:
    async with opened(engine.settings) as source:
        return (await read(source, query))[1]


async def digests_of(engine: Engine, query: Query) -> list[bytes]:
    async with opened(engine.settings) as source:
        return [row.digest for row in (await read(source, query))[0]]


async def test_unchanged_table_has_an_equal_summary_and_equal_digests(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', '1', 'gold'), ('b', '1', 'iron')",
    )
    first = await summary_of(engine, tenants(table)), await digests_of(engine, tenants(table))
    again = await summary_of(engine, tenants(table)), await digests_of(engine, tenants(table))
    assert again == first


async def test_unmapped_columns_and_inactive_rows_do_not_change_digests(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(9), activate VARCHAR(9), plan VARCHAR(9), x INTEGER)",
        f"INSERT INTO {table} VALUES ('a', '1', 'gold', 1), ('b', '0', 'iron', 1)",
    )
    before = await summary_of(engine, tenants(table)), await digests_of(engine, tenants(table))
    await engine.execute(
        f"UPDATE {table} SET x = 2 WHERE uid = 'a'",
        f"UPDATE {table} SET plan = 'clay' WHERE uid = 'b'",
    )
    after = await summary_of(engine, tenants(table)), await digests_of(engine, tenants(table))
    assert after == before


async def test_changed_value_changes_the_digest_of_its_row_only(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', '1', 'gold'), ('b', '1', 'iron')",
    )
    async with opened(engine.settings) as source:
        rows, before = await read(source, tenants(table))
        await engine.execute(f"UPDATE {table} SET plan = 'clay' WHERE uid = 'b'")
        changed, after = await read(source, tenants(table))
    old, new = ({row.uid: row.digest for row in rows} for rows in (rows, changed))
    assert old["a"] == new["a"]
    assert old["b"] != new["b"]
    assert before.identity == after.identity


async def test_renamed_variable_changes_the_digest(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'gold')"
    )
    async with opened(engine.settings) as source:
        (one,), _ = await read(source, tenants(table, extras={"planId": "plan"}))
        (other,), _ = await read(source, tenants(table, extras={"planName": "plan"}))
        (url,), _ = await read(source, tenants(table, extras={}, host_or_url="plan"))
    assert len({one.digest, other.digest, url.digest}) == 3


async def test_row_digest_is_the_same_on_every_engine(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'gold')"
    )
    async with opened(engine.settings) as source:
        (row,), _ = await read(source, tenants(table))
    # The literal is a contract: digests are compared across versions.
    assert row.digest.hex()[:16] == "7a781720f1049824"


async def test_column_types_are_part_of_the_identity(engine: Engine) -> None:
    one, other = new_table(), new_table()
    await engine.execute(
        f"CREATE TABLE {one} (uid VARCHAR(20), activate INTEGER, plan VARCHAR(20))",
        f"CREATE TABLE {other} (uid VARCHAR(20), activate INTEGER, plan INTEGER)",
    )
    before = (await summary_of(engine, tenants(one))).identity
    await engine.execute(
        f"ALTER TABLE {one} RENAME TO {one}_old", f"ALTER TABLE {other} RENAME TO {one}"
    )
    after = (await summary_of(engine, tenants(one))).identity
    assert before.columns[2] != after.columns[2]
    assert before.digest != after.digest


async def test_wider_column_keeps_the_identity(engine: Engine) -> None:
    one, other = new_table(), new_table()
    await engine.execute(
        f"CREATE TABLE {one} (uid VARCHAR(20), activate INTEGER, plan VARCHAR(20))",
        f"CREATE TABLE {other} (uid VARCHAR(40), activate INTEGER, plan VARCHAR(60))",
    )
    before = (await summary_of(engine, tenants(one))).identity
    after = (await summary_of(engine, tenants(other))).identity
    assert replace(after, table=one) == before


async def test_endpoint_and_table_are_part_of_the_identity(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}", f"CREATE TABLE {table}_b {TENANTS}")
    first = (await summary_of(engine, tenants(table))).identity
    second = (await summary_of(engine, tenants(f"{table}_b"))).identity
    third = replace(first, endpoint=replace(first.endpoint, database="other"))
    assert len({first.digest, second.digest, third.digest}) == 3


async def test_table_may_include_its_schema(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'gold')"
    )
    schema = "public"
    if isinstance(engine, MariaDB):
        schema = engine.settings.database
    if isinstance(engine, SQLite):
        schema = "main"
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants(f"{schema}.{table}"))
    assert len(rows) == 1
    assert all(type_ for _, type_ in summary.identity.columns)
