"""Manifests from files: the values that kubectl would send, and the line of every field."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from lynq.cli.exit_codes import CommandError
from lynq.cli.manifest_files import Document, parse_documents, read_documents

_FILE = Path("form.yaml")


def _documents(text: str) -> list[Document]:
    return parse_documents(_FILE, dedent(text).removeprefix("\n"))


def _value(text: str) -> Any:
    (document,) = _documents(f"value: {text}\n")
    return document.value["value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-02", "2024-01-02"),
        ("12:30:45", "12:30:45"),
        ("3306", 3306),
        ("-7", -7),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("yes", True),
        ('"yes"', "yes"),
        ("null", None),
        ("1.2.3", "1.2.3"),
        ("{1: a}", {"1": "a"}),
    ],
)
def test_scalars_are_read_as_kubectl_reads_them(text: str, value: object) -> None:
    assert _value(text) == value
    assert type(_value(text)) is type(value)


def test_every_field_has_its_line() -> None:
    (document,) = _documents("""
        kind: LynqForm
        metadata:
          name: web
        spec:
          deployments:
            - id: web
              labelsTemplate:
                app.kubernetes.io/name: "{{ .uid }}"
              spec:
                text: |
                  first
                  second
    """)
    assert document.reference == "LynqForm/web"
    assert document.line_of("spec.deployments[0]") == 6
    assert document.line_of("spec.deployments[0].labelsTemplate[app.kubernetes.io/name]") == 8
    assert document.line_of("spec.deployments[0].spec.text", 2) == 12
    assert document.line_of("spec.deployments[0].nameTemplate") == 6
    assert document.line_of("status") == 1


def test_documents_and_items_of_lists_are_separate_objects() -> None:
    first, second, third = _documents("""
        kind: A
        ---
        ---
        kind: List
        items:
          - kind: B
          - kind: C
            metadata: {name: c}
    """)
    assert [first.kind, second.kind, third.reference] == ["A", "B", "C/c"]
    assert third.line_of("metadata.name") == 8


def test_merged_keys_are_part_of_the_object() -> None:
    (document,) = _documents("""
        base: &base {a: 1}
        derived:
          <<: *base
          b: 2
    """)
    assert document.value["derived"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 'form.yaml:3: the key "a" occurs twice in one object'),
        ("a: [1\nb: 2\n", "form.yaml:2: invalid YAML: "),
        ("- a\n", "form.yaml:1: a document is not an object"),
        ("? [a]\n: 1\n", "form.yaml:1: a key is not a text"),
        ("a: !!python/name:os.system\n", "form.yaml:1: invalid YAML: could not determine"),
    ],
)
def test_error_names_file_and_line(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_documents(_FILE, text)
    assert caught.value.message.startswith(message)


def test_directory_has_the_files_below_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.yaml").write_text("kind: B\n")
    (tmp_path / "sub" / "a.json").write_text('{"kind": "A"}')
    (tmp_path / "notes.txt").write_text("no manifest")
    assert [document.kind for document in read_documents([tmp_path])] == ["B", "A"]
