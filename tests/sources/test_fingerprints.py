"""Digests: equal where nothing changed, different where something did."""

from dataclasses import replace

from lynq.sources import Query, ReadSummary
from sources.engines import TENANTS, Engine, MariaDB, SQLite, new_table, opened, read, tenants


async def summary_of(engine: Engine, query: Query) -> ReadSummary:
    async with opened(engine.settings) as source:
        return (await read(source, query))[1]


async def test_an_untouched_table_reads_the_same(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', '1', 'gold'), ('b', '1', 'iron')",
    )
    first = await summary_of(engine, tenants(table))
    assert await summary_of(engine, tenants(table)) == first


async def test_what_is_not_mapped_or_not_active_does_not_count(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(9), activate VARCHAR(9), plan VARCHAR(9), x INTEGER)",
        f"INSERT INTO {table} VALUES ('a', '1', 'gold', 1), ('b', '0', 'iron', 1)",
    )
    before = await summary_of(engine, tenants(table))
    await engine.execute(
        f"UPDATE {table} SET x = 2 WHERE uid = 'a'",
        f"UPDATE {table} SET plan = 'clay' WHERE uid = 'b'",
    )
    assert await summary_of(engine, tenants(table)) == before


async def test_a_changed_value_changes_its_row_and_the_whole(engine: Engine) -> None:
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
    assert before.digest != after.digest
    assert before.identity == after.identity


async def test_a_renamed_variable_changes_the_rows(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'gold')"
    )
    async with opened(engine.settings) as source:
        (one,), _ = await read(source, tenants(table, extras={"planId": "plan"}))
        (other,), _ = await read(source, tenants(table, extras={"planName": "plan"}))
        (url,), _ = await read(source, tenants(table, extras={}, host_or_url="plan"))
    assert len({one.digest, other.digest, url.digest}) == 3


async def test_a_row_has_the_same_digest_on_every_engine(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}", f"INSERT INTO {table} VALUES ('a', '1', 'gold')"
    )
    async with opened(engine.settings) as source:
        (row,), _ = await read(source, tenants(table))
    # This literal is the contract: nodes are compared with digests of an earlier version.
    assert row.digest.hex()[:16] == "7a781720f1049824"


async def test_another_type_is_another_identity(engine: Engine) -> None:
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


async def test_a_wider_column_is_the_same_identity(engine: Engine) -> None:
    one, other = new_table(), new_table()
    await engine.execute(
        f"CREATE TABLE {one} (uid VARCHAR(20), activate INTEGER, plan VARCHAR(20))",
        f"CREATE TABLE {other} (uid VARCHAR(40), activate INTEGER, plan VARCHAR(60))",
    )
    before = (await summary_of(engine, tenants(one))).identity
    after = (await summary_of(engine, tenants(other))).identity
    assert replace(after, table=one) == before


async def test_another_place_or_table_is_another_identity(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}", f"CREATE TABLE {table}_b {TENANTS}")
    here = (await summary_of(engine, tenants(table))).identity
    there = (await summary_of(engine, tenants(f"{table}_b"))).identity
    elsewhere = replace(here, endpoint=replace(here.endpoint, database="other"))
    assert len({here.digest, there.digest, elsewhere.digest}) == 3


async def test_a_schema_can_be_named(engine: Engine) -> None:
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
