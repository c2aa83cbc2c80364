"""`lynq validate`: the checks of admission, one line per problem."""

import json
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq
from unit.cli.manifests import form_text

SAMPLES = Path(__file__).parents[3] / "deploy" / "samples"

HUB = """
    apiVersion: operator.lynq.sh/v1
    kind: LynqHub
    metadata:
      name: tenants
    spec:
      source:
        type: mysql
        mysql: {host: db, username: u, database: d, table: t}
      valueMappings: {uid: id, activate: active}
      extraValueMappings: {plan: plan}
"""
FORM = form_text("""\
  configMaps:
    - id: settings
      nameTemplate: "{{ .uid }}"
      spec:
        apiVersion: v1
        kind: ConfigMap
        data:
          plan: |
            first
            {{ .plan }}
""")


def _validate(directory: Path, *files: str, output: str = "table") -> Result:
    for index, text in enumerate(files):
        (directory / f"{index}.yaml").write_text(dedent(text).removeprefix("\n"))
    result = CliRunner().invoke(lynq, ["validate", "-f", str(directory), "-o", output])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def _lines(result: Result, directory: Path) -> list[str]:
    return result.stdout.replace(f"{directory}/", "").splitlines()


def test_samples_are_valid() -> None:
    result = CliRunner().invoke(lynq, ["validate", "-f", str(SAMPLES)])
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert "objects: valid." in result.stderr


def test_valid_hub_and_form_print_nothing_to_stdout(tmp_path: Path) -> None:
    result = _validate(tmp_path, HUB, FORM)
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert result.stderr == "2 objects: valid.\n"


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("hubId: tenants", "hubID: tenants", "0.yaml:6: LynqForm/web: spec.hubID: unknown field"),
        ("- id: settings", "- id: 7", "0.yaml:8: LynqForm/web: spec.configMaps[0].id: must be of"),
        (
            "nameTemplate:",
            "deletionPolicy: Keep\n      nameTemplate:",
            "0.yaml:9: LynqForm/web: spec.configMaps[0].deletionPolicy: must be one of Delete",
        ),
        (
            "nameTemplate:",
            "dependIds: [db]\n      nameTemplate:",
            '0.yaml:9: LynqForm/web: spec.configMaps[0].dependIds: "settings" depends on "db"',
        ),
        (
            "nameTemplate:",
            "timeoutSeconds: 9999\n      nameTemplate:",
            "0.yaml:9: LynqForm/web: spec.configMaps[0].timeoutSeconds: must be at most 3600",
        ),
        (
            "{{ .plan }}",
            "{{ nosuch .plan }}",
            "0.yaml:16: LynqForm/web: spec.configMaps[0].spec.data.plan: line 2: function",
        ),
        ("name: web", "name: Web", "0.yaml:4: LynqForm/Web: metadata.name: required: lowercase"),
        ("kind: LynqForm", "kind: LynqFrom", "0.yaml:2: LynqFrom/web: kind: must be one of"),
        (
            "operator.lynq.sh/v1",
            "operator.lynq.sh/v2",
            "0.yaml:1: LynqForm/web: apiVersion: must be operator.lynq.sh/v1",
        ),
        ("hubId: tenants", "hubId: [", "0.yaml:8: invalid YAML: while parsing a flow"),
    ],
)
def test_error_has_its_line_and_field(tmp_path: Path, before: str, after: str, line: str) -> None:
    result = _validate(tmp_path, FORM.replace(before, after, 1))
    assert result.exit_code == ExitCode.ERROR
    assert any(each.startswith(line) for each in _lines(result, tmp_path))


def test_unmapped_variable_is_a_warning(tmp_path: Path) -> None:
    result = _validate(tmp_path, HUB, FORM.replace(".plan }}", ".size }}"))
    assert result.exit_code == ExitCode.OK
    (line,) = _lines(result, tmp_path)
    assert line == (
        "1.yaml:14: warning: LynqForm/web: spec.configMaps[0].spec.data.plan: "
        "the hub does not map .size: add it to extraValueMappings"
    )


def test_variables_are_not_checked_without_the_hub(tmp_path: Path) -> None:
    result = _validate(tmp_path, FORM.replace(".plan }}", ".size }}"))
    assert result.stdout == ""
    assert 'no valid LynqHub "tenants" is among the files' in result.stderr


def test_empty_fields_get_the_defaults_of_the_webhook(tmp_path: Path) -> None:
    hub = HUB.replace("type: mysql", 'type: mysql\n        syncInterval: ""')
    assert _validate(tmp_path, hub).stdout == ""


def test_other_kinds_are_ignored(tmp_path: Path) -> None:
    result = _validate(tmp_path, "apiVersion: v1\nkind: ConfigMap\nnosuch: 1\n", HUB)
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "1 object: valid.\n")


def test_problems_are_data(tmp_path: Path) -> None:
    result = _validate(tmp_path, HUB.replace("uid: id", "uid: 'a;b'"), output="json")
    assert json.loads(result.stdout) == [
        {
            "file": f"{tmp_path}/0.yaml",
            "line": 9,
            "severity": "error",
            "object": "LynqHub/tenants",
            "field": "spec.valueMappings.uid",
            "message": "'a;b' contains a semicolon or a comment",
        }
    ]


def test_objects_are_read_from_stdin() -> None:
    form = FORM.replace("hubId", "hubID")
    result = CliRunner().invoke(lynq, ["validate", "-f", "-"], input=form)
    assert result.exit_code == ExitCode.ERROR
    assert result.stdout.splitlines()[-1].startswith("-:6: LynqForm/web: spec.hubID: unknown field")
