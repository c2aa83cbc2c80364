"""Forms under test: manifests by attribute, and errors that show the template."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lynq.testing.form import FormError, FormUnderTest, Manifest

FORM = """\
apiVersion: operator.lynq.sh/v1
kind: LynqForm
metadata: {name: web}
spec:
  hubId: tenants
  deployments:
    - id: web
      nameTemplate: "{{ .uid }}-web"
      spec:
        apiVersion: apps/v1
        kind: Deployment
        spec:
          replicas: '{{ if eq .plan "pro" }}2{{ else }}1{{ end }}'
          template: {spec: {containers: [{name: main, image: "web:{{ now | date \\"2006\\" }}"}]}}
"""
HUB = """\
apiVersion: operator.lynq.sh/v1
kind: LynqHub
metadata: {name: tenants}
spec:
  source: {type: sqlite, sqlite: {path: t.db, table: t}}
  valueMappings: {uid: id, activate: active}
  extraValueMappings: {plan: plan_id}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "web.yaml").write_text(FORM)
    (tmp_path / "hub.yaml").write_text(HUB)
    return tmp_path


def test_fields_of_manifests_are_attributes(files: Path) -> None:
    node = FormUnderTest.load(files / "web.yaml").render(uid="acme", plan="pro")
    assert (node.name, node.ids, list(node)) == ("acme-web", {"web"}, ["web"])
    assert node["web"].spec.replicas == "2"
    assert node["web"].spec.template.spec.containers[0].image == "web:2024"
    assert node["web"].metadata.name == "acme-web"


def test_manifest_equals_a_dict_and_names_its_fields() -> None:
    manifest = Manifest({"spec": {"ports": [{"port": 80}]}})
    assert manifest.spec == {"ports": [{"port": 80}]}
    with pytest.raises(AttributeError, match='there is no field "replicas"; there are: ports'):
        _ = manifest.spec.replicas


def test_time_of_templates_can_be_chosen(files: Path) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    node = FormUnderTest.load(files / "web.yaml").render(uid="acme", plan="", now=now)
    assert node["web"].spec.template.spec.containers[0].image == "web:2030"


def test_variable_that_is_not_given_is_null_with_a_hub(files: Path) -> None:
    form = FormUnderTest.load(files / "web.yaml", files / "hub.yaml")
    assert form.render(uid="acme")["web"].spec.replicas == "1"
    with pytest.raises(FormError, match="The hub does not map size"):
        form.render(uid="acme", size=3)


def test_error_shows_the_template(files: Path) -> None:
    with pytest.raises(FormError) as caught:
        FormUnderTest.load(files / "web.yaml").render(uid="acme")
    assert str(caught.value).removeprefix(f"{files}/") == (
        'web.yaml:13: LynqForm/web: spec.deployments[0].spec.spec.replicas: "web" of node acme-web'
        ': there is no variable "plan"; map it in the hub\'s extraValueMappings, or correct the '
        "template\n"
        '    {{ if eq .plan "pro" }}2{{ else }}1{{ end }}\n'
        "             ^^^^^"
    )


def test_inactive_row_has_no_node(files: Path) -> None:
    with pytest.raises(FormError, match="the row 'acme' is not active"):
        FormUnderTest.load(files / "web.yaml").render(uid="acme", activate=False, plan="pro")


def test_rows_of_a_file_are_rendered_by_uid(files: Path) -> None:
    rows = files / "rows.csv"
    rows.write_text("id,active,plan_id\nacme,1,pro\nbeta,1,free\ncorp,0,pro\n")
    nodes = FormUnderTest.load(files / "web.yaml", files / "hub.yaml").render_file(rows)
    assert {uid: node["web"].spec.replicas for uid, node in nodes.items()} == {
        "acme": "2",
        "beta": "1",
    }


def test_invalid_form_has_the_lines_of_its_problems(files: Path) -> None:
    (files / "web.yaml").write_text(FORM.replace("hubId", "hub"))
    with pytest.raises(FormError, match=r"web\.yaml:5: LynqForm/web: spec\.hub: unknown field"):
        FormUnderTest.load(files / "web.yaml")
