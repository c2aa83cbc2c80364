"""`lynq test`: golden manifests, readable differences and JUnit."""

from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq
from unit.cli.manifests import form_text

FORM = form_text("""\
  configMaps:
    - id: settings
      nameTemplate: "{{ .uid }}"
      creationPolicy: Once
      spec:
        apiVersion: v1
        kind: ConfigMap
        data:
          plan: "{{ .plan | upper }}"
          since: '{{ now | date "2006-01-02" }}'
          key: '{{ genPrivateKey "ecdsa" }}'
""")
CASE = """\
form: ../form.yaml
rows:
  - {uid: acme, plan: pro}
"""
EXPECTED = """\
---
# acme-web: settings
apiVersion: v1
kind: ConfigMap
metadata:
  name: acme
  namespace: default
  labels:
    lynq.sh/managed: 'true'
data:
  plan: PRO
  since: '2024-01-01'
  key: (generated)
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "form.yaml").write_text(FORM)
    directory = tmp_path / "cases"
    (directory / "expected").mkdir(parents=True)
    (directory / "web.yaml").write_text(CASE)
    (directory / "expected" / "web.yaml").write_text(EXPECTED)
    return directory


def _test(directory: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(lynq, ["test", str(directory), *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_equal_manifests_pass(cases: Path) -> None:
    result = _test(cases)
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "ok       web\n")
    assert result.stderr == "1 case, all passed.\n"


def test_difference_is_shown_and_fails(cases: Path) -> None:
    form = cases.parent / "form.yaml"
    form.write_text(form.read_text().replace(".plan | upper", ".plan"))
    result = _test(cases)
    assert result.exit_code == ExitCode.DIFFERENT
    assert result.stdout == dedent("""\
        FAIL     web: the manifests differ
          --- expected/web.yaml
          +++ rendered
          @@ -8,6 +8,6 @@
             labels:
               lynq.sh/managed: 'true'
           data:
          -  plan: PRO
          +  plan: pro
             since: '2024-01-01'
             key: (generated)
        """)
    assert result.stderr.endswith(f"If the changes are intended: lynq test {cases} --update\n")


def test_update_writes_what_was_rendered(cases: Path) -> None:
    expected = cases / "expected" / "web.yaml"
    expected.write_text("old\n")
    assert _test(cases, "--update").stdout == "updated  web\n"
    assert expected.read_text() == EXPECTED
    assert _test(cases, "--update").stdout == "ok       web\n"


def test_case_without_expected_manifests_fails(cases: Path) -> None:
    (cases / "expected" / "web.yaml").unlink()
    result = _test(cases)
    assert result.exit_code == ExitCode.DIFFERENT
    assert result.stdout == (
        "FAIL     web: there is no expected/web.yaml: write it with --update\n"
    )


def test_expected_manifests_without_case_fail_and_are_kept(cases: Path) -> None:
    stale = cases / "expected" / "old.yaml"
    stale.write_text("")
    result = _test(cases, "--update")
    assert result.exit_code == ExitCode.DIFFERENT
    assert "ERROR    expected/old.yaml: no case has this name" in result.stdout
    assert stale.exists()


def test_errors_and_rejected_rows_are_part_of_what_is_expected(cases: Path) -> None:
    (cases / "web.yaml").write_text(
        "form: ../form.yaml\nrows: [{uid: acme}, {uid: '-', plan: x}]\n"
    )
    _test(cases, "--update")
    assert (cases / "expected" / "web.yaml").read_text() == (
        '---\n# acme-web: settings: error in spec.data.plan: there is no variable "plan"; map it '
        "in the hub's extraValueMappings, or correct the template\n"
        '---\n# row rejected: uid "-" is not a valid label value; use letters, digits, "-", "_" '
        'and ".", starting and ending with a letter or digit\n'
    )


def test_rows_of_a_file_have_the_columns_of_the_hub(cases: Path) -> None:
    (cases.parent / "hub.yaml").write_text(
        dedent("""\
            apiVersion: operator.lynq.sh/v1
            kind: LynqHub
            metadata: {name: tenants}
            spec:
              source: {type: sqlite, sqlite: {path: t.db, table: t}}
              valueMappings: {uid: id, activate: active}
              extraValueMappings: {plan: plan_id}
            """)
    )
    (cases / "rows.csv").write_text("id,active,plan_id\nacme,1,pro\nbeta,0,pro\n")
    (cases / "web.yaml").write_text("form: ../form.yaml\nhub: ../hub.yaml\nrows: rows.csv\n")
    assert _test(cases).stdout == "ok       web\n"


def test_time_of_templates_can_be_chosen(cases: Path) -> None:
    (cases / "web.yaml").write_text(CASE + "now: 2030-05-06T00:00:00Z\n")
    assert "+  since: '2030-05-06'" in _test(cases).stdout


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("form: ../nosuch.yaml\nrows: []\n", "there is no file"),
        ("form: ../form.yaml\n", "not a case: Object missing required field `rows`"),
        ("form: ../form.yaml\nrows: []\nhubs: x\n", "not a case: Object contains unknown field"),
        ("form: [\n", "invalid YAML"),
        ("form: ../form.yaml\nrows: nosuch.csv\n", "nosuch.csv: No such file or directory"),
        ("form: ../form.yaml\nrows: []\nnow: noon\n", "now is not a time"),
    ],
)
def test_broken_case_is_an_error(cases: Path, case: str, message: str) -> None:
    (cases / "web.yaml").write_text(case)
    result = _test(cases)
    assert result.exit_code == ExitCode.DIFFERENT
    assert result.stdout.startswith("ERROR    web: ")
    assert message in result.stdout


def test_results_are_written_for_ci(cases: Path) -> None:
    (cases / "other.yaml").write_text("form: ../nosuch.yaml\nrows: []\n")
    (cases / "expected" / "web.yaml").write_text("old\n")
    report = cases.parent / "results.xml"
    _test(cases, "--junit", str(report))
    suite = ET.parse(report).getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "1",
    }
    (failure,) = suite.findall("testcase[@name='web']/failure")
    assert failure.text is not None
    assert "-old" in failure.text


def test_directory_without_cases_is_an_error(tmp_path: Path) -> None:
    result = _test(tmp_path)
    assert result.exit_code == ExitCode.ERROR
    assert "has no case" in result.stderr


def test_samples_give_the_expected_manifests() -> None:
    result = _test(Path(__file__).parents[3] / "deploy" / "samples" / "tests")
    assert (result.exit_code, result.stdout) == (
        ExitCode.OK,
        "ok       all-kinds\nok       policies\n",
    )
