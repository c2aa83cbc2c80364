"""`lynq render`: the manifests that the operator would apply, and errors with their template."""

import json
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from click.testing import CliRunner, Result

from lynq.cli.exit_codes import ExitCode
from lynq.cli.root import lynq

HUB = """
    apiVersion: operator.lynq.sh/v1
    kind: LynqHub
    metadata:
      name: tenants
      namespace: lynq
    spec:
      source:
        type: mysql
        mysql: {host: db, username: u, database: d, table: t}
      valueMappings: {uid: id, activate: active}
      extraValueMappings: {plan: plan_id, replicas: replicas}
"""
FORM = """
    apiVersion: operator.lynq.sh/v1
    kind: LynqForm
    metadata:
      name: web
      namespace: lynq
    spec:
      hubId: tenants
      configMaps:
        - id: settings
          dependIds: [web]
          nameTemplate: "{{ .uid }}"
          targetNamespace: "tenant-{{ .uid }}"
          spec:
            apiVersion: v1
            kind: ConfigMap
            data:
              plan: |
                hub={{ .hubId }}
                plan={{ .plan | upper }}
      deployments:
        - id: web
          nameTemplate: "{{ .uid }}-web"
          labelsTemplate:
            app.kubernetes.io/name: "{{ .uid }}"
          spec:
            apiVersion: apps/v1
            kind: Deployment
            spec:
              replicas: "{{ .replicas | int }}"
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "form.yaml").write_text(dedent(FORM).removeprefix("\n"))
    (tmp_path / "hub.yaml").write_text(dedent(HUB).removeprefix("\n"))
    return tmp_path


def _render(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(lynq, ["render", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_objects_are_printed_as_yaml_dependencies_first(files: Path) -> None:
    result = _render("-f", files / "form.yaml", "--row", "uid=acme,plan=pro,replicas=2")
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "")
    assert result.stdout == dedent("""\
        ---
        # acme-web: web
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: acme-web
          namespace: lynq
          labels:
            app.kubernetes.io/name: acme
            lynq.sh/managed: 'true'
        spec:
          replicas: 2
        ---
        # acme-web: settings
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: acme
          namespace: tenant-acme
          labels:
            lynq.sh/managed: 'true'
        data:
          plan: |
            hub=tenants
            plan=PRO
        """)


def test_rows_of_a_file_have_the_columns_of_the_hub(files: Path) -> None:
    (files / "rows.csv").write_text(
        "id,active,plan_id,replicas\nacme,1,pro,2\nbeta,0,pro,1\ncorp,1,,\n"
    )
    result = _render("-f", files, "--rows", files / "rows.csv", "-o", "table")
    assert result.exit_code == ExitCode.OK
    assert result.stdout == dedent("""\
        NODE       ID         KIND         NAMESPACE     NAME
        acme-web   web        Deployment   lynq          acme-web
        acme-web   settings   ConfigMap    tenant-acme   acme
        corp-web   web        Deployment   lynq          corp-web
        corp-web   settings   ConfigMap    tenant-corp   corp
        """)


def test_uid_selects_rows(files: Path) -> None:
    (files / "rows.csv").write_text("uid,plan,replicas\nacme,pro,2\nbeta,pro,1\n")
    arguments = ("-f", files / "form.yaml", "--rows", files / "rows.csv", "-o", "name")
    assert _render(*arguments, "--uid", "beta").stdout == (
        "deployment.apps/beta-web\nconfigmap/beta\n"
    )
    missing = _render(*arguments, "--uid", "nosuch")
    assert missing.exit_code == ExitCode.ERROR
    assert missing.stderr == "Error: No active row has the uid nosuch.\n"


def test_json_is_a_list(files: Path) -> None:
    result = _render("-f", files, "--row", "uid=acme", "-o", "json")
    listed = json.loads(result.stdout)
    assert (listed["kind"], [item["kind"] for item in listed["items"]]) == (
        "List",
        ["Deployment", "ConfigMap"],
    )


def test_failing_template_is_underlined_and_other_objects_are_printed(files: Path) -> None:
    result = _render("-f", files / "form.yaml", "--row", "uid=acme,replicas=1", "-o", "name")
    assert result.exit_code == ExitCode.ERROR
    assert result.stdout == "deployment.apps/acme-web\n"
    assert result.stderr.removeprefix(f"{files}/") == (
        "form.yaml:19: LynqForm/web: spec.configMaps[0].spec.data.plan: "
        '"settings" of node acme-web: there is no variable "plan"; map it in the hub\'s '
        "extraValueMappings, or correct the template\n"
        "    plan={{ .plan | upper }}\n"
        "            ^^^^^\n"
    )


def test_failing_name_is_underlined(files: Path) -> None:
    form = files / "form.yaml"
    form.write_text(form.read_text().replace('"{{ .uid }}-web"', "'{{ fail \"no\" }}'"))
    result = _render("-f", form, "--row", "uid=acme,plan=pro,replicas=2")
    assert result.stdout == ""
    assert "spec.deployments[0].nameTemplate: " in result.stderr
    assert result.stderr.endswith('    {{ fail "no" }}\n       ^^^^^^^^^\n')


def test_rejected_row_is_reported(files: Path) -> None:
    result = _render("-f", files / "form.yaml", "--row", "uid=-,plan=pro,replicas=2")
    assert result.exit_code == ExitCode.ERROR
    assert 'row rejected: uid "-" is not a valid label value' in result.stderr


def test_cluster_scoped_kinds_have_no_namespace(files: Path) -> None:
    (files / "crd.yaml").write_text(
        "kind: CustomResourceDefinition\n"
        "spec: {group: example.com, scope: Cluster, names: {kind: Zone}}\n"
    )
    (files / "form.yaml").write_text(
        dedent("""\
            apiVersion: operator.lynq.sh/v1
            kind: LynqForm
            metadata: {name: web}
            spec:
              hubId: tenants
              namespaces:
                - {id: ns, nameTemplate: "{{ .uid }}", spec: {apiVersion: v1, kind: Namespace}}
              manifests:
                - id: zone
                  nameTemplate: "{{ .uid }}"
                  spec: {apiVersion: example.com/v1, kind: Zone}
                - id: other
                  nameTemplate: "{{ .uid }}"
                  spec: {apiVersion: example.com/v1, kind: Other}
            """)
    )
    result = _render("-f", files, "--row", "uid=acme")
    namespaces = [
        each["metadata"].get("namespace") for each in yaml.safe_load_all(result.stdout) if each
    ]
    assert namespaces == [None, None, "lynq"]


def test_random_values_are_repeatable_examples(files: Path) -> None:
    form = files / "form.yaml"
    form.write_text(form.read_text().replace("{{ .hubId }}", "{{ randAlphaNum 8 }}"))
    arguments = ("-f", form, "--row", "uid=acme,plan=p,replicas=1")
    first, second = _render(*arguments), _render(*arguments)
    assert first.stdout == second.stdout
    assert first.stderr.startswith("Random values are examples")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give the rows with --row NAME=VALUE,… or with --rows FILE."),
        (["--row", "acme"], '"acme" in --row is not NAME=VALUE.'),
        (["--row", "plan=pro"], "--row needs a uid: --row uid=acme,…"),
        (["--row", "uid=a,size=1"], "The hub does not map size: add it to extraValueMappings."),
    ],
)
def test_wrong_input_is_one_sentence(files: Path, arguments: list[str], message: str) -> None:
    result = _render("-f", files, *arguments)
    assert (result.exit_code, result.stderr) == (ExitCode.ERROR, f"Error: {message}\n")


def test_invalid_form_is_not_rendered(files: Path) -> None:
    form = files / "form.yaml"
    form.write_text(form.read_text().replace("dependIds: [web]", "dependIds: [nosuch]"))
    result = _render("-f", files, "--row", "uid=a")
    assert result.exit_code == ExitCode.ERROR
    assert "form.yaml:10: LynqForm/web: spec.configMaps[0].dependIds: " in result.stderr


def test_hub_of_another_name_is_an_error(files: Path) -> None:
    hub = files / "hub.yaml"
    hub.write_text(hub.read_text().replace("name: tenants", "name: others"))
    result = _render("-f", files, "--row", "uid=a")
    assert result.stderr == (
        'Error: LynqForm/web has the hubId "tenants", but the files have only the LynqHub '
        '"others".\n'
    )
