"""`lynq plan` without a cluster: files of a hub, forms and rows."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq

HUB = {
    "apiVersion": "operator.lynq.sh/v1",
    "kind": "LynqHub",
    "metadata": {"name": "tenants"},
    "spec": {
        "source": {"type": "sqlite", "sqlite": {"path": "a.db", "table": "t"}},
        "valueMappings": {"uid": "id", "activate": "active"},
        "extraValueMappings": {"plan": "plan"},
    },
}


def test_column_that_a_secret_reads_is_in_no_object(files: list[str], tmp_path: Path) -> None:
    secret = {
        "id": "key",
        "nameTemplate": "{{ .uid }}-key",
        "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"plan": "{{ .plan }}"}},
    }
    planned = form({"plan": "is {{ .plan }}", "uid": "{{ .uid }}"})
    planned["spec"]["secrets"] = [secret]
    (tmp_path / "form.yaml").write_text(yaml.safe_dump(planned))
    (tmp_path / "rows.csv").write_text("id,active,plan\nacme,1,hunter2\n")
    result = CliRunner().invoke(lynq, [*files, "-o", "json"])
    assert "hunter2" not in result.stdout
    fields = {
        field["path"]: field["after"]
        for change in json.loads(result.stdout)["changes"]
        for field in change["fields"]
    }
    assert fields["data.plan"] == "is <plan>"
    assert fields["data.uid"] == "acme"


def form(data: dict[str, Any]) -> dict[str, Any]:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    entry = {"id": "settings", "nameTemplate": "{{ .uid }}-settings", "spec": manifest}
    return {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqForm",
        "metadata": {"name": "web"},
        "spec": {"hubId": "tenants", "configMaps": [entry]},
    }


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    (tmp_path / "hub.yaml").write_text(yaml.safe_dump(HUB))
    (tmp_path / "form.yaml").write_text(yaml.safe_dump(form({"plan": "{{ .plan }}"})))
    (tmp_path / "rows.csv").write_text("id,active,plan\nacme,1,pro\nbeta,1,free\nold,0,free\n")
    hub, forms, rows = (str(tmp_path / name) for name in ("hub.yaml", "form.yaml", "rows.csv"))
    return ["plan", "-f", hub, "-f", forms, "--rows", rows]


def test_all_objects_are_created(files: list[str]) -> None:
    result = CliRunner().invoke(lynq, files)
    assert result.exit_code == ExitCode.DIFFERENT
    assert (
        result.stdout
        == """\
  + 2 to create: 2 ConfigMaps
  note: nothing was validated by an API server

acme-web (1 more like it, --all shows them):
  + create ConfigMap default/acme-settings
"""
    )


def test_json_has_the_fields_of_created_objects(files: list[str]) -> None:
    plan = json.loads(CliRunner().invoke(lynq, [*files, "-o", "json"]).stdout)
    fields = {each["path"]: each["after"] for each in plan["changes"][0]["fields"]}
    assert fields["data.plan"] == "pro"


def test_row_that_cannot_be_rendered_is_named(files: list[str], tmp_path: Path) -> None:
    text = yaml.safe_dump(form({"plan": '{{ if eq .plan "free" }}{{ fail "no" }}{{ end }}'}))
    (tmp_path / "form.yaml").write_text(text)
    result = CliRunner().invoke(lynq, files)
    assert result.exit_code == ExitCode.DIFFERENT
    assert '! 1 node fails: beta-web: "settings": ' in result.stdout
