"""Rows from a file instead of a database: CSV with a header, or JSON lines.

The file has the columns of the hub's table, by the names that valueMappings and extraValueMappings
map; further columns are ignored. Values are texts, as templates see them. A CSV field is its own
text. A number, boolean, list or object of JSON is the text of the file, and null is the empty text.
As in a read of a database, inactive rows are left out, and no other row is rejected here.

Errors name the file and the line, and no value of a row.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from lynq.api import HubSpec
from lynq.api.nesting import depth_checked
from lynq.cli.exit_codes import CommandError
from lynq.sources import Query, Row
from lynq.sources.rows import RowLayout, SourceColumn, active_rows

_Record = tuple[int, dict[str, str]]
"""The line of a row, and its values by column."""


class RowFileError(CommandError):
    """A file of rows cannot be read."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")


def read_rows(path: Path, hub: HubSpec) -> list[Row]:
    """Return the active and unclear rows of a file, in its order; raises CommandError."""
    mappings = hub.value_mappings
    query = Query(
        table="rows",
        uid=mappings.uid,
        activate=mappings.activate,
        host_or_url=mappings.host_or_url,
        extras=hub.extra_value_mappings,
    )
    layout = RowLayout.of(query, [SourceColumn(column, "text") for column in query.columns])
    page = [(*_mapped(path, record, query.columns), None) for record in _records(path)]
    return active_rows(layout, page)


def read_variables(path: Path) -> list[dict[str, str]]:
    """Return all rows of a file whose columns are named as variables; raises CommandError."""
    rows = []
    for line, values in _records(path):
        if "uid" not in values:
            problem = 'the row has no column "uid"; give the hub if its columns have other names'
            raise RowFileError(path, line, problem)
        rows.append(values)
    return rows


def _mapped(path: Path, record: _Record, columns: Sequence[str]) -> list[str]:
    line, values = record
    missing = [column for column in columns if column not in values]
    if missing:
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(missing))
        raise RowFileError(path, line, f"the row has no column {names}, which the hub maps")
    return [values[column] for column in columns]


def _records(path: Path) -> Iterator[_Record]:
    try:
        # A byte order mark, which spreadsheets write, is not part of the first name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = file.readlines()
    except UnicodeDecodeError as error:
        raise RowFileError(path, 0, "the file is not UTF-8 text") from error
    except OSError as error:
        raise RowFileError(path, 0, error.strerror or "the file cannot be read") from error
    if path.suffix not in _FORMATS:
        expected = ", ".join(_FORMATS)
        raise RowFileError(path, 0, f"the format is unknown: the name must end with {expected}")
    yield from _FORMATS[path.suffix](path, lines)


def _csv_records(path: Path, lines: Sequence[str]) -> Iterator[_Record]:
    reader = csv.reader(lines, strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for fields in reader:
            if header is None:
                header = fields
                _check_header(path, header)
            elif fields:
                yield start, _named_fields(path, start, header, fields)
            # A field in quotes may have several lines.
            start = reader.line_num + 1
    except csv.Error as error:
        raise RowFileError(path, start, f"invalid CSV: {error}") from None
    if header is None:
        raise RowFileError(path, 0, "the file is empty: its first line must name the columns")


def _check_header(path: Path, header: Sequence[str]) -> None:
    if "" in header:
        raise RowFileError(path, 1, f"column {header.index('') + 1} has no name")
    if repeated := next((name for name in header if header.count(name) > 1), None):
        raise RowFileError(path, 1, f'the column "{repeated}" occurs twice')


def _named_fields(
    path: Path, line: int, header: Sequence[str], fields: Sequence[str]
) -> dict[str, str]:
    if len(fields) != len(header):
        raise RowFileError(
            path, line, f"the row has {len(fields)} fields, the header has {len(header)}"
        )
    return dict(zip(header, fields, strict=True))


def _json_records(path: Path, lines: Sequence[str]) -> Iterator[_Record]:
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            values = decoder.decode(depth_checked(line))
        except msgspec.DecodeError as error:
            problem = f"not a JSON object: {error}"
            raise RowFileError(path, number, problem) from None
        yield number, {name: _json_text(raw) for name, raw in values.items()}


def _json_text(raw: msgspec.Raw) -> str:
    text = bytes(raw).decode()
    if text == "null":
        return ""
    return msgspec.json.decode(raw, type=str) if text.startswith('"') else text


_FORMATS: Final[dict[str, Callable[[Path, Sequence[str]], Iterator[_Record]]]] = {
    ".csv": _csv_records,
    ".jsonl": _json_records,
    ".ndjson": _json_records,
}
