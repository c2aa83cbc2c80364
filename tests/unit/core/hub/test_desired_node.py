"""The node that a row and a form want."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from lynq.api import CreationPolicy, LynqForm, LynqNode, OwnerReference, TResource
from lynq.api.digests import spec_digest
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.diff import UpdateCause, visible_cause
from lynq.core.hub.row_values import RenderFailure, RowRenderError, RowValues
from unit.core.hub.fixtures import NOON, ARow, a_form, a_hub, at, resource


def node_of(form: LynqForm, row: ARow | None = None) -> LynqNode:
    return DesiredNode(a_hub(), form, RowValues.of(row or ARow("acme"))).new(NOON)


def rendered(given: TResource, row: ARow | None = None) -> TResource:
    [only] = node_of(a_form("web", given), row).spec.config_maps
    return only


def failure(given: TResource, row: ARow | None = None) -> RenderFailure:
    with pytest.raises(RowRenderError) as raised:
        rendered(given, row)
    return raised.value.failure


def test_one_create_brings_everything() -> None:
    row = ARow("acme", {"plan": "gold"}, "yes", "https://a.example.com")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"host": "{{ .uid }}"}}
    given = resource(
        name_template="{{ .uid }}-{{ .plan }}",
        labels_template={"host": "{{ .host }}"},
        annotations_template={"form": "{{ .templateRef }}"},
        target_namespace="tenant-{{ .uid }}",
        spec=body,
    )
    made = node_of(a_form("web", given, generation=7), row)
    manifest: dict[str, Any] = json.decode(json.encode(made))
    assert manifest == {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {
            "name": "acme-web",
            "namespace": "prod",
            "labels": {"lynq.sh/hub": "shop", "lynq.sh/uid": "acme"},
            "annotations": {
                "lynq.sh/hostOrUrl": "https://a.example.com",
                "lynq.sh/activate": "yes",
                "lynq.sh/extra": '{"plan":"gold"}',
                "lynq.sh/template-generation": "7",
                "lynq.sh/hubId": "shop",
                "lynq.sh/rollout-update-start": "2026-01-01T12:00:00.000000Z",
                "lynq.sh/spec-digest": spec_digest(made.spec, made.metadata.annotations),
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
def test_a_value_that_looks_like_a_template_stays_as_it_is(value: str) -> None:
    row = ARow("acme", {"x": value, "y": "{{ fail }}"})
    made = rendered(
        resource(name_template="{{ .x }}{{ .y }}", labels_template={"a": "{{ .y }}"}), row
    )
    assert made.name_template == f"{value}{{{{ fail }}}}"
    assert made.labels_template == {"a": "{{ fail }}"}


def test_a_whole_number_as_a_name_is_text() -> None:
    assert rendered(resource(name_template="{{ 7 | int }}")).name_template == "7"


def test_time_and_chance_in_names_can_be_repeated() -> None:
    given = resource(
        name_template="{{ randAlphaNum 8 | lower }}",
        labels_template={"a": "{{ randAlphaNum 8 }}", "at": '{{ now | date "150405" }}'},
    )
    first, again = rendered(given), rendered(given)
    assert first == again
    assert first.labels_template["at"] == "120000"
    assert first.labels_template["a"].lower() != first.name_template
    assert rendered(given, ARow("other")).name_template != first.name_template


def test_what_cannot_be_repeated_is_drawn_once_in_the_life_of_a_node() -> None:
    given = resource(
        name_template='x-{{ encryptAES "k" .uid | sha256sum | trunc 8 }}',
        creation_policy=CreationPolicy.ONCE,
    )
    wanted = DesiredNode(a_hub(), a_form("web", given), RowValues.of(ARow("acme")))
    node = wanted.new(NOON)
    assert wanted.new(NOON).spec != node.spec
    assert wanted.over(node, at(60)).spec == node.spec


def test_writing_over_a_node_keeps_what_others_put_on_it() -> None:
    wanted = DesiredNode(a_hub(), a_form(generation=2), RowValues.of(ARow("acme")))
    node = node_of(a_form())
    friend = OwnerReference(kind="Fleet", name="f", uid="f-uid")
    former = OwnerReference(kind="LynqHub", name="shop", uid="old", controller=True)
    node = replace(
        node,
        metadata=replace(
            node.metadata,
            resource_version="42",
            labels={"team": "a"},
            annotations={"note": "b"},
            owner_references=[friend, former],
            finalizers=["theirs"],
        ),
    )
    after = wanted.over(node, at(60)).metadata
    assert after.resource_version == "42"
    assert after.labels == {"team": "a", "lynq.sh/hub": "shop", "lynq.sh/uid": "acme"}
    assert after.annotations["note"] == "b"
    assert after.annotations["lynq.sh/template-generation"] == "2"
    assert after.annotations["lynq.sh/rollout-update-start"] == "2026-01-01T12:01:00.000000Z"
    assert after.owner_references == [friend, wanted.owner]
    assert after.finalizers == ["theirs", "lynqnode.operator.lynq.sh/finalizer"]


def test_a_failure_names_form_resource_field_line_and_variable() -> None:
    found = failure(resource("db", labels_template={"a.b/c": "x\n{{ .plan | upper }}"}))
    assert (found.pair, found.resource, found.field) == (
        ("acme", "web"),
        "db",
        "labelsTemplate[a.b/c]",
    )
    assert (found.line, found.variable) == (2, "plan")
    assert found.message == (
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
def test_a_failure_never_shows_a_value(template: str) -> None:
    found = failure(resource(name_template=template), ARow("acme", {"password": "hunter2("}))
    assert "hunter2" not in found.message


def test_the_variable_is_told_where_a_function_refuses_it() -> None:
    found = failure(resource(name_template="{{ .plan | mustFromJson }}"), ARow("a", {"plan": "{"}))
    assert (found.variable, found.reason) == (
        "plan",
        "error calling mustFromJson at <mustFromJson>",
    )


def test_an_empty_name_is_a_failure() -> None:
    found = failure(resource(name_template="{{ .plan }}"), ARow("acme", {"plan": ""}))
    assert found.reason == "the name is empty for this row"


def test_without_a_template_the_manifest_has_the_name() -> None:
    assert rendered(resource(name_template="")).name_template == ""


def test_the_service_account_of_the_form_travels_with_the_node_and_goes_with_it() -> None:
    plain = a_form("web", resource())
    named = replace(plain, spec=replace(plain.spec, service_account_name="tenant-writer"))
    node = node_of(named)
    assert node.metadata.annotations["lynq.sh/service-account"] == "tenant-writer"
    wanted = DesiredNode(a_hub(), plain, RowValues.of(ARow("acme")))
    assert "lynq.sh/service-account" not in wanted.over(node, NOON).metadata.annotations
    assert visible_cause(node, wanted) is UpdateCause.DRIFT
    assert visible_cause(wanted.over(node, NOON), wanted) is None
