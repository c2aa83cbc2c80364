"""Rows that are too large to be used stay on the server; their number and size ends no process."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from lynq.api.source import VALUES_LIMIT
from lynq.sources import Query, errors
from lynq.sources.settings import MIB
from sources.engines import Engine, MariaDB, PostgreSQL, new_table, opened, read

ROWS = 12
SIZE = 10_000_000
HEADROOM = 96 * MIB
"""Address space that a read may take. All rows have 120 MB, and were held three times."""

READER = """
import asyncio, json, pathlib, resource, sys
import uvloop
from lynq.sources import MySQLSettings, PostgreSQLSettings, Query, SQLiteSettings, open_source

engines = {"mysql": MySQLSettings, "postgresql": PostgreSQLSettings, "sqlite": SQLiteSettings}
options = json.loads(sys.argv[2])
if "directory" in options:
    options["directory"] = pathlib.Path(options["directory"])
query = Query(table=sys.argv[3], uid="uid", activate="activate", extras={"logo": "logo"})

async def main():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    async with open_source(engines[sys.argv[1]](**options)).read(query) as reading:
        rows = [[row.uid, row.oversize] async for page in reading for row in page]
    print(json.dumps(rows), flush=True)

uvloop.run(main())
"""


async def test_oversize_rows_are_read_within_little_memory(engine: Engine) -> None:
    table = new_table()
    await create(engine, table, ROWS)
    rows = read_with_limit(engine, table)
    assert [uid for uid, _ in rows] == [f"u{n}" for n in range(1, ROWS + 1)]
    assert all(oversize > VALUES_LIMIT for _, oversize in rows)


async def test_large_usable_values_are_read_whole(engine: Engine) -> None:
    table = new_table()
    await create(engine, table, 3, size=VALUES_LIMIT - 10)
    async with opened(engine.settings) as source:
        rows, _ = await read(source, query_of(table))
    assert [(len(row.extras["logo"]), row.oversize) for row in rows] == [(VALUES_LIMIT - 10, 0)] * 3


async def test_read_of_too_many_bytes_fails_and_names_the_flag(engine: Engine) -> None:
    table = new_table()
    await create(engine, table, 12, size=100_000)
    async with opened(replace(engine.settings, max_bytes=MIB)) as source:
        with pytest.raises(errors.TooLarge, match=r"more than 1 MiB.*--max-read-mib"):
            await read(source, query_of(table))


async def test_uid_and_activate_of_any_size_are_cut(engine: Engine) -> None:
    table = new_table()
    text = "LONGTEXT" if isinstance(engine, MariaDB) else "TEXT"
    await engine.execute(f"CREATE TABLE {table} (uid {text}, activate {text}, logo {text})")
    large = "x" * SIZE
    await engine.insert(table, [(large, "yes", "a"), ("acme", large, "b"), ("bolt", "1", "c")])
    async with opened(engine.settings) as source:
        rows, summary = await read(source, query_of(table))
    assert summary.seen == 3
    assert [(len(row.uid), bool(row.oversize)) for row in rows] == [(256, True), (4, False)]


def query_of(table: str) -> Query:
    return Query(table=table, uid="uid", activate="activate", extras={"logo": "logo"})


async def create(engine: Engine, table: str, rows: int, *, size: int = SIZE) -> None:
    if isinstance(engine, MariaDB):
        values = f"SELECT CONCAT('u', seq), 1, REPEAT('x', {size}) FROM seq_1_to_{rows}"
        await engine.execute(
            f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER, logo LONGTEXT)",
            f"INSERT INTO {table} {values}",
        )
        return
    column = f"repeat('x', {size})" if isinstance(engine, PostgreSQL) else f"'{'x' * size}'"
    await engine.execute(f"CREATE TABLE {table} (uid VARCHAR(9), activate INTEGER, logo TEXT)")
    for n in range(1, rows + 1):
        await engine.execute(f"INSERT INTO {table} VALUES ('u{n}', 1, {column})")


def read_with_limit(engine: Engine, table: str) -> list[tuple[str, int]]:
    options: dict[str, Any] = asdict(engine.settings)
    for unused in ("tls", "denied_hosts"):
        options.pop(unused, None)
    if isinstance(options.get("directory"), Path):
        options["directory"] = str(options["directory"])
    process = subprocess.run(
        [
            *(sys.executable, "-c", READER, engine.settings.engine.value),
            *(json.dumps(options), table, str(HEADROOM)),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        # Each arena of the allocator reserves 64 MiB of addresses.
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},
    )
    assert process.returncode == 0, process.stderr[-500:]
    rows: list[tuple[str, int]] = json.loads(process.stdout)
    return rows
