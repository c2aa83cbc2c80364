"""The memory of a read is bounded by pages, not by the table."""

import asyncio
import tracemalloc
from collections.abc import Callable

import pytest
import uvloop

from lynq.sources import Query
from sources.engines import Engine, MariaDB, PostgreSQL, new_table, opened

ROWS = 40_000
"""The benchmark reads 1,000,000 rows; all of these at once already exceed the limit."""

LIMIT = 8 * 1024 * 1024


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_memory_of_a_read_is_bounded_by_pages(
    engine: Engine, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    # uvloop, which the operator uses, reads from sockets differently.
    with asyncio.Runner(loop_factory=loop) as runner:
        peak = runner.run(peak_of_reading(engine))
    assert peak < LIMIT


async def peak_of_reading(engine: Engine) -> int:
    table = new_table()
    columns = [f"c{n}" for n in range(8)]
    declared = ", ".join(f"{column} VARCHAR(60)" for column in columns)
    await engine.execute(
        f"CREATE TABLE {table} (uid VARCHAR(20), activate INTEGER, {declared})",
        f"INSERT INTO {table} {select_rows(engine, columns)}",
    )
    query = Query(
        table=table, uid="uid", activate="activate", extras={column: column for column in columns}
    )
    count = 0
    async with opened(engine.settings) as source:
        tracemalloc.start()
        reading = source.read(query)
        async for page in reading:
            count += len(page)
            # A slow consumer must not buffer the rest of the table.
            await tick()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert count == reading.summary.seen == ROWS
    return peak


async def tick() -> None:
    """Run the loop for a while, as a caller does between two pages."""
    for _ in range(20):
        await asyncio.sleep(0)


def select_rows(engine: Engine, columns: list[str]) -> str:
    """Return a SELECT that generates the rows on the server."""
    number = "i" if not isinstance(engine, MariaDB) else "seq"
    values = ", ".join(f"'some text of usual length for {column}'" for column in columns)
    if isinstance(engine, MariaDB):
        return f"SELECT seq, 1, {values} FROM seq_1_to_{ROWS}"
    if isinstance(engine, PostgreSQL):
        return f"SELECT i, 1, {values} FROM generate_series(1, {ROWS}) i"
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
    return f"{numbers} SELECT {number}, 1, {values} FROM n"
