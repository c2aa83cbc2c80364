"""Rows from files: the values that templates see, inactive rows, and errors with their line."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lynq.api import HubSource, HubSpec, SourceType, ValueMappings
from lynq.api.source import SQLite
from lynq.cli.exit_codes import CommandError
from lynq.cli.row_file import read_rows, read_variables

_HUB = HubSpec(
    source=HubSource(type=SourceType.SQLITE, sqlite=SQLite(path="t.db", table="tenants")),
    value_mappings=ValueMappings(uid="tenant_id", activate="active"),
    extra_value_mappings={"planId": "plan", "note": "note"},
)


def _file(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text, "utf-8", newline="")
    return path


def test_csv_rows_have_the_mapped_columns(tmp_path: Path) -> None:
    path = _file(
        tmp_path, "rows.csv", 'note,tenant_id,unused,active,plan\n"a, b",acme,x,1,pro\n,b,,yes,\n'
    )
    first, second = read_rows(path, _HUB)
    assert (first.uid, first.activate, first.host_or_url) == ("acme", "1", "")
    assert first.extras == {"planId": "pro", "note": "a, b"}
    assert (second.uid, second.extras) == ("b", {"planId": "", "note": ""})


def test_json_values_have_the_text_of_the_file(tmp_path: Path) -> None:
    text = (
        '{"tenant_id": "acme", "active": true, "plan": 1.50, "note": null}\n\n'
        '{"tenant_id": 7, "active": 1, "plan": {"a": [1, 2]}, "note": "\\u00e9"}\n'
    )
    first, second = read_rows(_file(tmp_path, "rows.jsonl", text), _HUB)
    assert first.extras == {"planId": "1.50", "note": ""}
    assert (second.uid, second.extras) == ("7", {"planId": '{"a": [1, 2]}', "note": "é"})


def test_only_rows_that_say_no_are_left_out(tmp_path: Path) -> None:
    values = ["1", "true", "Yes", "0", "", " 1", "on", "false"]
    lines = "".join(f"t{index},{value},,\n" for index, value in enumerate(values))
    path = _file(tmp_path, "rows.csv", "tenant_id,active,plan,note\n" + lines)
    assert [row.uid for row in read_rows(path, _HUB)] == ["t0", "t1", "t2", "t5", "t6"]


def test_host_or_url_is_read_if_it_is_mapped(tmp_path: Path) -> None:
    hub = HubSpec(
        source=_HUB.source,
        value_mappings=ValueMappings(uid="id", activate="on", host_or_url="url"),
    )
    path = _file(tmp_path, "rows.csv", "id,on,url\na,1,https://a.example\n")
    assert [row.host_or_url for row in read_rows(path, hub)] == ["https://a.example"]


def test_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    path = _file(tmp_path, "rows.csv", "\ufefftenant_id,active,plan,note\na,1,,\n")
    assert [row.uid for row in read_rows(path, _HUB)] == ["a"]


def test_columns_are_variables_without_a_hub(tmp_path: Path) -> None:
    path = _file(tmp_path, "rows.ndjson", '{"uid": "a"}\n{"uid": "b", "plan": "pro"}\n')
    assert read_variables(path) == [{"uid": "a"}, {"uid": "b", "plan": "pro"}]
    with pytest.raises(CommandError, match=r'rows\.csv:2: the row has no column "uid"; give'):
        read_variables(_file(tmp_path, "rows.csv", "id\na\n"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.csv", "", "rows.csv: the file is empty: its first line must name the columns"),
        ("rows.csv", "a,a\n", 'rows.csv:1: the column "a" occurs twice'),
        ("rows.csv", "a,,b\n", "rows.csv:1: column 2 has no name"),
        (
            "rows.csv",
            "tenant_id,active,note\na,1,\n",
            'rows.csv:2: the row has no column "plan", which the hub maps',
        ),
        (
            "rows.csv",
            'tenant_id,active,plan,note\na,1,,"two\nlines"\nb,1\n',
            "rows.csv:4: the row has 2 fields, the header has 4",
        ),
        (
            "rows.csv",
            'tenant_id,active,plan,note\na,1,,"open\n',
            "rows.csv:2: invalid CSV: unexpected end of data",
        ),
        (
            "rows.jsonl",
            '{"tenant_id": "a", "active": 1, "plan": "", "note": ""}\n["b"]\n',
            "rows.jsonl:2: not a JSON object: Expected `object`, got `array`",
        ),
        (
            "rows.jsonl",
            '\n{"tenant_id": "a"}\n',
            'rows.jsonl:2: the row has no column "active", "note", "plan", which the hub maps',
        ),
        (
            "rows.xls",
            "",
            "rows.xls: the format is unknown: the name must end with .csv, .jsonl, .ndjson",
        ),
    ],
)
def test_error_names_the_file_and_the_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(CommandError) as caught:
        read_rows(_file(tmp_path, name, text), _HUB)
    assert caught.value.message == f"{tmp_path}/{message}"


def test_missing_file_and_binary_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"rows\.csv: No such file or directory"):
        read_rows(tmp_path / "rows.csv", _HUB)
    (tmp_path / "rows.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match=r"rows\.csv: the file is not UTF-8 text"):
        read_rows(tmp_path / "rows.csv", _HUB)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.tuples(_TEXT, _TEXT)))
def test_values_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, str]]
) -> None:
    directory = tmp_path_factory.mktemp("rows")
    rows = [
        {"tenant_id": f"t{index}", "active": "1", "plan": plan, "note": note}
        for index, (plan, note) in enumerate(values)
    ]
    table = io.StringIO()
    writer = csv.DictWriter(table, ["tenant_id", "active", "plan", "note"])
    writer.writeheader()
    writer.writerows(rows)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    expected = [{"planId": plan, "note": note} for plan, note in values]
    for path in (
        _file(directory, "rows.csv", table.getvalue()),
        _file(directory, "rows.jsonl", lines),
    ):
        assert [row.extras for row in read_rows(path, _HUB)] == expected
