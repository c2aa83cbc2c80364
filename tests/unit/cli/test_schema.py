"""`lynq schema`: JSON schemas that editors understand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lynq.cli.root import lynq

_KEYWORDS = {
    "$schema",
    "additionalProperties",
    "const",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maximum",
    "maxItems",
    "maxLength",
    "minimum",
    "minLength",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
}


def _schema(*arguments: str) -> Result:
    result = CliRunner().invoke(lynq, ["schema", *arguments])
    assert result.exit_code == 0, result.output
    return result


def _subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for child in (*schema.get("properties", {}).values(), schema.get("items")):
        if child:
            yield from _subschemas(child)


@pytest.mark.parametrize("kind", ["lynqhub", "lynqform", "lynqnode"])
def test_schema_has_only_keywords_of_json_schema(kind: str) -> None:
    schema = json.loads(_schema(kind).stdout)
    assert schema["properties"]["kind"]["const"].lower() == kind
    for subschema in _subschemas(schema):
        assert set(subschema) <= _KEYWORDS


def test_unknown_fields_are_errors_except_in_manifests() -> None:
    spec = json.loads(_schema("lynqform").stdout)["properties"]["spec"]
    resource = spec["properties"]["deployments"]["items"]
    assert spec["additionalProperties"] is False
    assert resource["additionalProperties"] is False
    assert "additionalProperties" not in resource["properties"]["spec"]
    assert resource["properties"]["deletionPolicy"]["enum"] == ["Delete", "Retain"]


def test_every_kind_gets_a_file(tmp_path: Path) -> None:
    directory = tmp_path / "schemas"
    names = ["lynqhub.json", "lynqform.json", "lynqnode.json", "lynq.json"]
    assert _schema("--out", str(directory)).stdout.splitlines() == [
        str(directory / name) for name in names
    ]
    combined = json.loads((directory / "lynq.json").read_text())
    assert [each["title"] for each in combined["oneOf"]] == ["LynqHub", "LynqForm", "LynqNode"]
    assert combined == json.loads(_schema().stdout)
