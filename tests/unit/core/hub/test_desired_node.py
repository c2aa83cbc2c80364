"""The desired node of a row and a form."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from lynq.api import LynqForm, LynqNode, OwnerReference, TResource
from lynq.api.digests import signed, spec_digest
from lynq.api.installation_key import InstallationKey, MissingKey
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.diff import UpdateCause, visible_cause
from lynq.core.hub.row_values import RenderFailure, RowRenderError, RowValues
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub, at, resource

KEY = InstallationKey(b"k" * 32)


def node_of(form: LynqForm, row: ARow | None = None) -> LynqNode:
    return DesiredNode(a_hub(), form, RowValues.of(row or ARow("acme")), KEY).new(NOON)


def rendered(form_resource: TResource, row: ARow | None = None) -> TResource:
    [node_resource] = node_of(a_form("web", form_resource), row).spec.config_maps
    return node_resource


def failure(form_resource: TResource, row: ARow | None = None) -> RenderFailure:
    with pytest.raises(RowRenderError) as raised:
        rendered(form_resource, row)
    return raised.value.failure


def test_new_node_is_complete() -> None:
    row = ARow("acme", {"plan": "gold"}, "yes", "https://a.example.com")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"host": "{{ .uid }}"}}
    form_resource = resource(
        name_template="{{ .uid }}-{{ .plan }}",
        labels_template={"host": "{{ .host }}"},
        annotations_template={"form": "{{ .templateRef }}"},
        target_namespace="tenant-{{ .uid }}",
        spec=body,
    )
    node = node_of(a_form("web", form_resource, generation=7), row)
    manifest: dict[str, Any] = json.decode(json.encode(node))
    assert manifest == {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {
            "name": "acme-web",
            "namespace": "prod",
            "labels": {"lynq.sh/bucket": "19", "lynq.sh/hub": "shop", "lynq.sh/uid": "acme"},
            "annotations": {
                "lynq.sh/hostOrUrl": "https://a.example.com",
                "lynq.sh/activate": "yes",
                "lynq.sh/extra": '{"plan":"gold"}',
                "lynq.sh/template-generation": "7",
                "lynq.sh/hubId": "shop",
                "lynq.sh/initial-inventory": (
                    '[["app","v1","ConfigMap","tenant-acme","acme-gold"]]'
                ),
                "lynq.sh/rollout-update-start": "2026-01-01T12:00:00.000000Z",
                "lynq.sh/spec-digest": spec_digest(node.spec, node.metadata.annotations),
                "lynq.sh/signature": signed(node, KEY).metadata.annotations["lynq.sh/signature"],
            },
            "ownerReferences": [
                {
                    "apiVersion": "operator.lynq.sh/v1",
                    "kind": "LynqHub",
                    "name": "shop",
                    "uid": "hub-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "finalizers": ["lynqnode.operator.lynq.sh/finalizer"],
        },
        "spec": {
            "uid": "acme",
            "templateRef": "web",
            "configMaps": [
                {
                    "id": "app",
                    "spec": body,
                    "nameTemplate": "acme-gold",
                    "labelsTemplate": {"host": "a.example.com"},
                    "annotationsTemplate": {"form": "web"},
                    "targetNamespace": "tenant-{{ .uid }}",
                }
            ],
        },
        "status": {},
    }


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_value_that_looks_like_a_template_is_kept_verbatim(value: str) -> None:
    row = ARow("acme", {"x": value, "y": "{{ fail }}"})
    node_resource = rendered(
        resource(name_template="{{ .x }}{{ .y }}", labels_template={"a": "{{ .y }}"}), row
    )
    assert node_resource.name_template == f"{value}{{{{ fail }}}}"
    assert node_resource.labels_template == {"a": "{{ fail }}"}


def test_integer_name_is_rendered_as_text() -> None:
    assert rendered(resource(name_template="{{ 7 | int }}")).name_template == "7"


def test_time_and_random_functions_in_names_are_repeatable() -> None:
    form_resource = resource(
        name_template="{{ randAlphaNum 8 | lower }}",
        labels_template={"a": "{{ randAlphaNum 8 }}", "at": '{{ now | date "150405" }}'},
    )
    first, second = rendered(form_resource), rendered(form_resource)
    assert first == second
    assert first.labels_template["at"] == "120000"
    assert first.labels_template["a"].lower() != first.name_template
    assert rendered(form_resource, ARow("other")).name_template != first.name_template


def test_random_name_without_key_fails_and_says_why() -> None:
    form = a_form("web", resource(name_template="{{ randAlphaNum 8 | lower }}"))
    desired = DesiredNode(a_hub(), form, RowValues.of(ARow("acme")), MissingKey("restore it"))
    with pytest.raises(RowRenderError, match="need the installation key: restore it"):
        desired.new(NOON)


def test_refused_resource_is_not_rendered_and_named_in_an_annotation() -> None:
    fine, refused = resource("a"), resource("b", name_template='{{ env "HOME" }}')
    values = RowValues.of(ARow("acme"))
    desired = DesiredNode(a_hub(), a_form("web", fine, refused), values, refused={"b": "why"})
    node = desired.new(NOON)
    [first, second] = node.spec.config_maps
    assert (first.name_template, second) == ("acme-app", refused)
    assert node.metadata.annotations["lynq.sh/refused-resources"] == '{"b":"why"}'
    assert visible_cause(node, desired) is None


def test_annotation_of_refused_resources_follows_the_form() -> None:
    values = RowValues.of(ARow("acme"))
    node = DesiredNode(a_hub(), a_form(), values, refused={"b": "why"}).new(NOON)
    accepted = DesiredNode(a_hub(), a_form(), values)
    assert visible_cause(node, accepted) is UpdateCause.DRIFT
    assert "lynq.sh/refused-resources" not in accepted.updated(node, NOON).metadata.annotations


def test_texts_of_a_node_share_one_deadline() -> None:
    slow = '{{ range until 95000 }}{{ $x := sha256sum "abc" }}{{ end }}x'
    found = failure(resource(annotations_template={f"a{number}": slow for number in range(20)}))
    assert found.hit_limit
    assert "rendering took longer than 0.2 s" in found.message


def test_update_keeps_foreign_metadata() -> None:
    desired = DesiredNode(a_hub(), a_form(generation=2), RowValues.of(ARow("acme")))
    node = node_of(a_form())
    foreign = OwnerReference(kind="Fleet", name="f", uid="f-uid")
    former = OwnerReference(kind="LynqHub", name="shop", uid="old", controller=True)
    node = replace(
        node,
        metadata=replace(
            node.metadata,
            resource_version="42",
            labels={"team": "a"},
            annotations={"note": "b"},
            owner_references=[foreign, former, replace(desired.owner, controller=False)],
            finalizers=["theirs"],
        ),
    )
    after = desired.updated(node, at(60)).metadata
    assert after.resource_version == "42"
    assert after.labels == {
        "team": "a",
        "lynq.sh/bucket": "19",
        "lynq.sh/hub": "shop",
        "lynq.sh/uid": "acme",
    }
    assert after.annotations["note"] == "b"
    assert after.annotations["lynq.sh/template-generation"] == "2"
    assert after.annotations["lynq.sh/rollout-update-start"] == "2026-01-01T12:01:00.000000Z"
    assert after.owner_references == [foreign, desired.owner]
    assert after.finalizers == ["theirs", "lynqnode.operator.lynq.sh/finalizer"]


def test_failure_names_form_resource_field_line_and_variable() -> None:
    render_failure = failure(resource("db", labels_template={"a.b/c": "x\n{{ .plan | upper }}"}))
    assert (render_failure.pair, render_failure.resource, render_failure.field) == (
        ("acme", "web"),
        "db",
        "labelsTemplate[a.b/c]",
    )
    assert (render_failure.line, render_failure.variable) == (2, "plan")
    assert render_failure.message == (
        'form "web", resource "db", labelsTemplate[a.b/c], line 2: '
        'map has no entry for key "plan" at <.plan>'
    )


@pytest.mark.parametrize(
    "template",
    [
        '{{ mustToDate "2006" .password }}',
        "{{ range .password }}{{ end }}",
        "{{ fail .password }}",
        "{{ mustRegexMatch .password .uid }}",
        "{{ .password.x }}",
        "{{ index .password .password }}",
        "{{ template .password }}",
        "{{ atoi .password | mustFromJson }}",
        '{{ printf "%d" .password | mustFromJson }}',
    ],
)
def test_failure_never_contains_row_values(template: str) -> None:
    render_failure = failure(
        resource(name_template=template), ARow("acme", {"password": "hunter2("})
    )
    assert "hunter2" not in render_failure.message


def test_failure_of_function_names_variable() -> None:
    render_failure = failure(
        resource(name_template="{{ .plan | mustFromJson }}"), ARow("a", {"plan": "{"})
    )
    assert (render_failure.variable, render_failure.reason) == (
        "plan",
        'error calling mustFromJson at <mustFromJson> (variable "plan")',
    )


def test_empty_name_is_a_failure() -> None:
    render_failure = failure(resource(name_template="{{ .plan }}"), ARow("acme", {"plan": ""}))
    assert render_failure.reason == "renders to an empty name"


def test_missing_name_template_stays_empty() -> None:
    assert rendered(resource(name_template="")).name_template == ""


def test_service_account_annotation_follows_form() -> None:
    plain = a_form("web", resource())
    named = replace(plain, spec=replace(plain.spec, service_account_name="tenant-writer"))
    node = node_of(named)
    assert node.metadata.annotations["lynq.sh/service-account"] == "tenant-writer"
    desired = DesiredNode(a_hub(), plain, RowValues.of(ARow("acme")))
    assert "lynq.sh/service-account" not in desired.updated(node, NOON).metadata.annotations
    assert visible_cause(node, desired) is UpdateCause.DRIFT
    assert visible_cause(desired.updated(node, NOON), desired) is None
