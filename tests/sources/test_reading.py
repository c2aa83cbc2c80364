"""The contract of a read, for every engine."""

import asyncio

import pytest

from lynq.sources import Query, Row
from lynq.sources.errors import NotComplete, SourceConnectionFailed
from sources.engines import TENANTS, Engine, all_rows, fill, new_table, opened, read, tenants, texts

ACTIVE = ("1", "true", "TRUE", "True", "yes", "YES", "Yes")
UNCLEAR = ("on", "y", "t", "tRUE", " 1", "1 ", "1\r")
NO = ("0", "false", "OFF", "n", "", None)
OTHER = ("2", "archived", "0 ")


async def test_seven_texts_are_active_and_their_likes_are_unclear(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await engine.insert(table, [(f"a{n}", text, "") for n, text in enumerate(ACTIVE)])
    await engine.insert(table, [(f"u{n}", text, "") for n, text in enumerate(UNCLEAR)])
    await engine.insert(table, [(f"i{n}", text, "") for n, text in enumerate((*NO, *OTHER))])
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants(table))
    assert {row.uid: row.activate for row in rows} == {
        **{f"a{n}": text for n, text in enumerate(ACTIVE)},
        **{f"u{n}": text for n, text in enumerate(UNCLEAR)},
    }
    assert summary.seen == len((*ACTIVE, *UNCLEAR, *NO, *OTHER))
    assert summary.returned == len((*ACTIVE, *UNCLEAR))


async def test_only_a_word_that_means_no_deactivates(engine: Engine) -> None:
    table, words = new_table(), (*ACTIVE, *UNCLEAR, *NO, *OTHER)
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await engine.insert(table, [(f"t{n}", text, "") for n, text in enumerate(words)])
    tracked = frozenset(f"t{n}" for n in range(len(words)))
    async with (
        opened(engine.settings) as source,
        source.read(tenants(table), tracked=tracked) as reading,
    ):
        async for _ in reading:
            pass
    assert reading.summary.inactive == {f"t{n}" for n, text in enumerate(words) if text in NO}


async def test_inactive_rows_are_reported_for_tracked_uids_only(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await engine.insert(
        table, [("on", "1", ""), ("off", "0", ""), ("other", "0", ""), (None, "0", "")]
    )
    tracked = frozenset(("on", "off", "gone"))
    async with (
        opened(engine.settings) as source,
        source.read(tenants(table), tracked=tracked) as reading,
    ):
        rows = [row async for page in reading for row in page]
    assert [row.uid for row in rows] == ["on"]
    assert reading.summary.inactive == {"off"}


async def test_boolean_column_decides_which_rows_are_active(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(20), activate BOOLEAN)",
        f"INSERT INTO {table} VALUES ('on', TRUE), ('off', FALSE), ('unknown', NULL)",
    )
    async with opened(engine.settings) as source:
        rows, _ = await read(source, tenants(table, extras={}))
    assert [row.uid for row in rows] == ["on"]
    assert rows[0].activate in {"1", "true"}


async def test_row_has_all_mapped_columns(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(20), activate INTEGER, url VARCHAR(50), n INTEGER)",
        f"INSERT INTO {table} VALUES ('acme', 1, 'https://acme.example', 7)",
        f"INSERT INTO {table} VALUES ('empty', 1, NULL, NULL)",
    )
    query = Query(
        table=table,
        uid="uid",
        activate="activate",
        host_or_url="url",
        extras={"zeta": "n", "alpha": "uid", "again": "n"},
    )
    async with opened(engine.settings) as source:
        rows, summary = await read(source, query)
    acme, empty = rows
    assert (acme.uid, acme.activate, acme.host_or_url) == ("acme", "1", "https://acme.example")
    assert acme.extras == {"alpha": "acme", "again": "7", "zeta": "7"}
    assert empty.host_or_url == ""
    assert empty.extras == {"alpha": "empty", "again": "", "zeta": ""}
    names = [name for name, _ in summary.identity.columns]
    assert names == ["uid", "activate", "url", "n", "uid", "n"]


async def test_null_is_the_empty_text(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await engine.insert(table, [("a", "1", None), ("b", "1", ""), ("c", "1", "x")])
    assert await texts(engine, table) == ["", "", "x"]


async def test_empty_table_is_a_complete_read(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants(table))
    assert rows == []
    assert (summary.seen, summary.returned) == (0, 0)


async def test_view_is_read_like_a_table(engine: Engine) -> None:
    table = new_table()
    await engine.execute(
        f"CREATE TABLE {table} {TENANTS}",
        f"INSERT INTO {table} VALUES ('a', 'no', 'gold'), ('b', 'no', 'iron')",
        f"CREATE VIEW v{table} AS SELECT uid, 1 AS activate, plan FROM {table} WHERE plan = 'gold'",
    )
    async with opened(engine.settings) as source:
        rows, _ = await read(source, tenants(f"v{table}"))
    assert [(row.uid, row.extras) for row in rows] == [("a", {"planId": "gold"})]


async def test_pages_add_up_to_the_table(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 4000)
    async with opened(engine.settings) as source:
        reading = source.read(tenants(table))
        pages = [page async for page in reading]
    uids = [row.uid for page in pages for row in page]
    assert len(pages) > 3
    assert sorted(uids) == sorted({f"u{n}" for n in range(4000) if n % 10})
    assert reading.summary.seen == 4000


async def test_older_mysql_driver_returns_the_same_rows(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 4000)
    async with opened(engine.settings) as source:
        rows, summary = await read(source, tenants(table))
        monkeypatch.setattr("lynq.sources.mysql.source._parse_rows", None)
        assert await read(source, tenants(table)) == (rows, summary)


async def test_summary_exists_only_after_the_end(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 1000)
    async with opened(engine.settings) as source, source.read(tenants(table)) as reading:
        with pytest.raises(NotComplete):
            _ = reading.summary
        async for _ in reading:
            with pytest.raises(NotComplete):
                _ = reading.summary
        assert reading.summary.seen == 1000


async def test_reading_is_one_snapshot(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    if "sqlite" in engine.settings.endpoint.engine:
        await engine.execute("PRAGMA journal_mode = WAL")
    await fill(engine, table, 2000)
    seen: list[Row] = []
    async with opened(engine.settings) as source, source.read(tenants(table)) as reading:
        async for page in reading:
            if not seen:
                await engine.execute(
                    f"DELETE FROM {table} WHERE uid > 'u5'",
                    f"UPDATE {table} SET plan = 'changed'",
                )
            seen += page
    assert len(seen) == 1800
    assert {row.extras["planId"] for row in seen} == {"p"}


async def test_abandoned_reading_keeps_the_source_usable(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 3000)
    async with opened(engine.settings) as source:
        for _ in range(4):
            async with source.read(tenants(table)) as reading:
                async for _ in reading:
                    break
            with pytest.raises(NotComplete):
                _ = reading.summary
        _, summary = await read(source, tenants(table))
    assert summary.seen == 3000


async def test_cancelled_reading_keeps_the_source_usable(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 3000)
    async with opened(engine.settings) as source:
        for delay in (0.0, 0.001, 0.003, 0.01):
            task = asyncio.ensure_future(all_rows(source.read(tenants(table))))
            await asyncio.wait([task], timeout=delay)
            task.cancel()
            await asyncio.wait([task])
        _, summary = await read(source, tenants(table))
    assert summary.seen == 3000


async def test_concurrent_readings_share_the_pool(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    await fill(engine, table, 500)
    async with opened(engine.settings) as source:
        counts = await asyncio.gather(*(read(source, tenants(table)) for _ in range(8)))
    assert {summary.seen for _, summary in counts} == {500}


async def test_closed_source_rejects_reads(engine: Engine) -> None:
    table = new_table()
    await engine.execute(f"CREATE TABLE {table} {TENANTS}")
    async with opened(engine.settings) as source:
        await read(source, tenants(table))
        await source.close()
        with pytest.raises(SourceConnectionFailed, match="closed"):
            await read(source, tenants(table))
