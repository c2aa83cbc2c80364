"""`lynq lint`: findings with their line, and how rules are disabled."""

import json
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result

from lynq.cli.exit_codes import ExitCode
from lynq.cli.lint import REASONS
from lynq.cli.root import lynq
from unit.cli.manifests import form_text

FORM = form_text("""\
  persistentVolumeClaims:
    - id: data
      nameTemplate: "{{ .uid }}"
      spec: {apiVersion: v1, kind: PersistentVolumeClaim}
""")


def _lint(path: Path, text: str, *arguments: str) -> Result:
    (path / "form.yaml").write_text(text)
    result = CliRunner().invoke(lynq, ["lint", "-f", str(path), *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_finding_has_line_field_and_rule(tmp_path: Path) -> None:
    result = _lint(tmp_path, FORM)
    assert result.exit_code == ExitCode.DIFFERENT
    assert result.stdout.replace(f"{tmp_path}/", "") == (
        'form.yaml:8: LynqForm/web: spec.persistentVolumeClaims[0]: the volume of "data" is '
        "deleted with its row: deletionPolicy: Retain keeps it (deletes-volume)\n"
    )
    assert result.stderr == f"deletes-volume: {REASONS['deletes-volume']}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- id: data", "- id: data  # lynq-lint: disable=deletes-volume"),
        ("- id: data", "- id: data  # A cache. lynq-lint: disable=deletes-volume (rebuilt)"),
        ("    - id: data", "    # lynq-lint: disable=latest-image, deletes-volume\n    - id: data"),
        ("  persistent", "  # lynq-lint: disable=deletes-volume\n  # a claim\n  persistent"),
        ("apiVersion: op", "# lynq-lint: disable=deletes-volume\n\napiVersion: op"),
        ("name: web", "name: web\n  annotations: {lynq.sh/lint-disable: deletes-volume}"),
    ],
)
def test_rule_is_disabled_where_the_form_says_so(tmp_path: Path, before: str, after: str) -> None:
    result = _lint(tmp_path, FORM.replace(before, after, 1))
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- id: data", "- id: data  # lynq-lint: disable=latest-image"),
        ("  hubId", "  # lynq-lint: disable=deletes-volume\n  hubId"),
    ],
)
def test_comment_disables_only_its_rules_and_fields(
    tmp_path: Path, before: str, after: str
) -> None:
    assert _lint(tmp_path, FORM.replace(before, after, 1)).exit_code == ExitCode.DIFFERENT


def test_option_disables_a_rule(tmp_path: Path) -> None:
    assert _lint(tmp_path, FORM, "--disable", "deletes-volume").exit_code == ExitCode.OK
    unknown = _lint(tmp_path, FORM, "--disable", "nosuch")
    assert unknown.exit_code == ExitCode.ERROR


def test_unused_column_of_the_hub_is_found(tmp_path: Path) -> None:
    hub = dedent("""\
        ---
        apiVersion: operator.lynq.sh/v1
        kind: LynqHub
        metadata: {name: tenants}
        spec:
          source: {type: sqlite, sqlite: {path: t.db, table: t}}
          valueMappings: {uid: id, activate: active}
          extraValueMappings:
            plan: plan
        """)
    result = _lint(tmp_path, FORM + hub, "--disable", "deletes-volume", "-o", "json")
    (finding,) = json.loads(result.stdout)
    assert (finding["line"], finding["rule"]) == (19, "unused-column")


def test_invalid_file_is_an_error(tmp_path: Path) -> None:
    result = _lint(tmp_path, FORM.replace("hubId", "hub"))
    assert result.exit_code == ExitCode.ERROR
    assert "the files are invalid:" in result.stderr


def test_file_without_forms_is_said(tmp_path: Path) -> None:
    result = _lint(tmp_path, "kind: ConfigMap\n")
    assert result.exit_code == ExitCode.OK
    assert "There is no LynqForm and no LynqHub among the files.\n" in result.stderr


def test_rules_are_listed_with_one_sentence_each() -> None:
    result = CliRunner().invoke(lynq, ["lint", "--rules"])
    assert result.exit_code == ExitCode.OK
    assert len(result.stdout.splitlines()) == len(REASONS)
    assert all(reason.endswith(".") for reason in REASONS.values())
