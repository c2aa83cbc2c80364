"""examples/: every folder is valid, has no lint findings, and renders with its rows."""

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.blocks import ROOT
from lynq.api import LynqHub, SourceType
from lynq.cli.form_files import load_form_files
from lynq.cli.root import lynq

EXAMPLES = sorted({path.parent for path in (ROOT / "examples").rglob("hub*.yaml")})
TABLES = [
    path for path in sorted((ROOT / "examples").glob("*/rows.sql")) if path.parent.name != "tls"
]
"""The tables of SQLite; that of the page on TLS is PostgreSQL's."""
CHANGES = sorted((ROOT / "examples").glob("*/changes/*.yaml"))
"""Changed versions of a form, which a page applies later."""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT / "examples"))


@pytest.mark.parametrize("example", EXAMPLES, ids=_name)
def test_example_is_valid_and_renders(example: Path, tmp_path: Path) -> None:
    _check(sorted(example.glob("*.yaml")), example, tmp_path)


@pytest.mark.parametrize("change", CHANGES, ids=_name)
def test_changed_form_is_valid_and_renders(change: Path, tmp_path: Path) -> None:
    example = change.parent.parent
    _check([example / "hub.yaml", change], example, tmp_path)


@pytest.mark.parametrize("table", TABLES, ids=_name)
def test_table_can_be_written_during_a_read(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(table.read_text())
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as operator,
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as writer,
    ):
        operator.execute("BEGIN")
        operator.execute("SELECT * FROM sqlite_schema").fetchall()
        writer.execute("CREATE TABLE written (id INTEGER)")


def _check(paths: list[Path], example: Path, folder: Path) -> None:
    files = [argument for path in paths for argument in ("-f", str(path))]
    _run("validate", *files)
    _run("lint", *files)
    loaded = load_form_files(paths)
    for hub in loaded.hubs:
        rows = _rows(hub.object, example, folder)
        forms = [form for form in loaded.forms if loaded.hub_of(form.object) is hub.object]
        documents = [hub.document, *(form.document for form in forms)]
        if rows is not None:
            options = [text for document in documents for text in ("-f", str(document.path))]
            _run("render", *options, "--rows", str(rows), allowed="row rejected")


def _run(*arguments: str, allowed: str | None = None) -> None:
    result = CliRunner().invoke(lynq, arguments)
    # A page may show what happens to a row that is rejected.
    is_expected = allowed is not None and allowed in result.output
    assert result.exit_code == 0 or is_expected, result.output
    assert "warning" not in result.output.replace("0 warnings", ""), result.output


def _rows(hub: LynqHub, example: Path, folder: Path) -> Path | None:
    """Write the rows of a SQLite example to a CSV file; None for other databases."""
    source = hub.spec.source
    if source.type is not SourceType.SQLITE or source.sqlite is None:
        return None
    assert source.sqlite.path == f"{example.name}.db"
    path = folder / "rows.csv"
    with sqlite3.connect(":memory:") as database, path.open("w", newline="") as file:
        database.executescript((example / "rows.sql").read_text())
        selected = database.execute(f"SELECT * FROM {source.sqlite.table}")
        writer = csv.writer(file)
        writer.writerow(column[0] for column in selected.description)
        writer.writerows(selected)
    database.close()
    return path
