"""A SQLite read evaluates its table or view once, unless a value is long."""

import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.api.source import VALUES_LIMIT
from lynq.sources import Query, Row, SQLiteSettings, errors, open_source
from lynq.sources.read import FIRST_PAGE
from lynq.sources.rows import RowLayout, active_rows
from lynq.sources.sqlite import source as sqlite_source
from sources.engines import read

QUERY = Query(table="tenants", uid="uid", activate="activate", extras={"a": "a", "b": "b"})
SHARE = VALUES_LIMIT // 4
"""The bytes of a value that the plain statement accepts, of four columns."""

SIZES = st.sampled_from([1, 900, 5000, SHARE - 1, SHARE, SHARE + 1, VALUES_LIMIT, 8 * SHARE + 2])
VALUES = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    st.builds(operator.mul, st.sampled_from(["x", "ä", b"x", b"\xff"]), SIZES),
)
ROWS = st.lists(st.tuples(st.sampled_from(["1", 1, "no", None]), VALUES, VALUES), max_size=12)
ENCODINGS = st.sampled_from(["UTF-8", "UTF-16le"])


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the statements of all connections."""
    recorded: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(recorded.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return recorded


async def test_view_is_evaluated_once(tmp_path: Path, statements: list[str]) -> None:
    create(tmp_path, [("1", "a", "b")] * 600)
    rows, _ = await read_view(tmp_path)
    assert len(rows) == 600
    assert len([sql for sql in statements if "`v`" in sql]) == 1


async def test_long_value_behind_many_rows_is_read_whole(tmp_path: Path) -> None:
    values = [("1", "a", str(n)) for n in range(3000)] + [("1", "x" * (SHARE + 9), "last")]
    create(tmp_path, values)
    rows, summary = await read_view(tmp_path)
    assert [row.extras["b"] for row in rows] == [b for _, _, b in values]
    assert summary.seen == 3001
    assert len(rows[-1].extras["a"]) == SHARE + 9


async def test_later_reads_expect_long_values(tmp_path: Path, statements: list[str]) -> None:
    create(tmp_path, [("1", "a", "b")] * 600 + [("1", "x" * (SHARE + 9), "last")])
    source = open_source(settings_of(tmp_path))
    await read(source, QUERY)
    first = [sql for sql in statements if "`tenants`" in sql]
    statements.clear()
    await read(source, QUERY)
    later = [sql for sql in statements if "`tenants`" in sql]
    await source.close()
    assert len(first) == 3
    assert later == first[1:]


async def test_view_with_other_rows_behind_a_long_value_fails_and_is_read_next_time(
    tmp_path: Path,
) -> None:
    create(tmp_path, [("1", "a", str(n)) for n in range(3000)] + [("1", "x" * (SHARE + 9), "x")])
    view = "SELECT * FROM (SELECT *, 0 AS n FROM tenants WHERE b <> 'x' ORDER BY random())"
    execute(tmp_path, f"CREATE VIEW v AS {view} UNION ALL SELECT *, 1 FROM tenants WHERE b = 'x'")
    source = open_source(settings_of(tmp_path))
    query = Query(table="v", uid="uid", activate="activate", extras={"a": "a", "b": "b"})
    with pytest.raises(errors.Interrupted, match="read again"):
        await read(source, query)
    rows, _ = await read(source, query)
    await source.close()
    assert {row.extras["b"] for row in rows} == {"x", *map(str, range(3000))}


async def test_view_that_reorders_rows_of_a_page_before_a_long_value_fails(tmp_path: Path) -> None:
    rows = [("1", "a", n) for n in range(FIRST_PAGE + 9)]
    create(tmp_path, [*rows, ("1", "x" * (SHARE + 9), len(rows))])
    last = FIRST_PAGE - 1
    page = f"SELECT * FROM (SELECT *, 0 AS n FROM tenants WHERE b < {last} ORDER BY random())"
    execute(
        tmp_path, f"CREATE VIEW v AS {page} UNION ALL SELECT *, 1 FROM tenants WHERE b >= {last}"
    )
    with pytest.raises(errors.Interrupted, match="read again"):
        await read_view(tmp_path)


async def test_definition_longer_than_a_value_is_read(tmp_path: Path) -> None:
    create(tmp_path, [("1", "a", "b")])
    comment = "x" * (2 * VALUES_LIMIT)
    execute(tmp_path, f"CREATE VIEW v AS SELECT * FROM tenants /* {comment} */")
    rows, _ = await read_view(tmp_path)
    assert len(rows) == 1


@settings(max_examples=60)
@given(rows=ROWS, encoding=ENCODINGS, batch=st.integers(1, 5))
def test_plain_statement_returns_what_the_bounded_one_does(
    rows: list[tuple[object, object, object]], encoding: str, batch: int
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        create(folder, rows, encoding=encoding)
        plain, bounded = (fetch_all(folder, batch, large=large) for large in (False, True))
    assert plain == bounded
    assert [row.oversize for row in plain] == [row.oversize for row in bounded]


def fetch_all(folder: Path, batch: int, *, large: bool) -> list[Row]:
    worker = sqlite_source.SQLiteWorker(settings_of(folder), QUERY, expects_large_values=large)
    try:
        layout = RowLayout.of(QUERY, worker.execute())
        rows: list[Row] = []
        while page := worker.fetch(batch):
            rows += active_rows(layout, page)
        return rows
    finally:
        worker.close()


async def read_view(folder: Path) -> tuple[list[Row], Any]:
    """Read the table through a view, which is created if it is missing."""
    execute(folder, "CREATE VIEW IF NOT EXISTS v AS SELECT * FROM tenants")
    query = Query(table="v", uid="uid", activate="activate", extras={"a": "a", "b": "b"})
    source = open_source(settings_of(folder))
    try:
        return await read(source, query)
    finally:
        await source.close()


def settings_of(folder: Path) -> SQLiteSettings:
    return SQLiteSettings(path="rows.db", directory=folder)


def create(folder: Path, rows: list[tuple[Any, Any, Any]], *, encoding: str = "UTF-8") -> None:
    with closing(sqlite3.connect(folder / "rows.db")) as connection, connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute("CREATE TABLE tenants (uid, activate, a, b)")
        values = [(f"u{n}", *row) for n, row in enumerate(rows)]
        connection.executemany("INSERT INTO tenants VALUES (?, ?, ?, ?)", values)


def execute(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "rows.db")) as connection, connection:
        connection.execute(statement)
