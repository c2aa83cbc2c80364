"""Data of Secrets, and columns that only Secrets read, are hidden."""

import json
from typing import Any

from lynq.core.plan.changes import Action, Plan, PlannedChange, document
from lynq.core.plan.fields import field_changes
from lynq.core.plan.masking import HIDDEN, masked, masked_manifest

VALUE = "hunter2-value"


def test_data_of_a_secret_is_hidden_and_its_keys_are_shown() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "a",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": VALUE},
        },
        "data": {"password": VALUE},
        "stringData": {"token": VALUE},
    }
    shown = masked(secret)
    assert VALUE not in json.dumps(shown)
    assert shown["data"] == {"password": HIDDEN}
    assert secret["data"] == {"password": VALUE}


def test_hidden_variable_of_a_node_is_hidden_in_its_annotations() -> None:
    extra = json.dumps({"plan": "pro", "password": VALUE})
    node = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {"annotations": {"lynq.sh/extra": extra}},
        "spec": {},
    }
    text = masked(node, {"password"})["metadata"]["annotations"]["lynq.sh/extra"]
    assert json.loads(text) == {"plan": "pro", "password": HIDDEN}
    broken = {**node, "metadata": {"annotations": {"lynq.sh/extra": f"[{VALUE}"}}}
    assert VALUE not in json.dumps(masked(broken, {"password"}))


def test_literal_of_a_form_is_hidden_and_its_template_is_shown() -> None:
    manifest = {"kind": "Secret", "stringData": {"literal": VALUE, "token": "{{ .token }}"}}
    assert masked_manifest(manifest)["stringData"] == {"literal": HIDDEN, "token": "{{ .token }}"}
    form = {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqForm",
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": VALUE}},
        "spec": {"hubId": "a", "secrets": [{"id": "x", "spec": manifest}]},
    }
    assert VALUE not in json.dumps(masked(form))


def test_other_kinds_are_unchanged() -> None:
    config = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
    assert masked(config) == config


def node(**values: str) -> dict[str, Any]:
    annotations = {
        "lynq.sh/extra": json.dumps(values),
        "lynq.sh/hostOrUrl": f"https://{VALUE}.example",
        "lynq.sh/activate": f"yes-{VALUE}",
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(values),
    }
    literal = {"kind": "Secret", "stringData": {"literal": values["dbPassword"]}}
    return {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {"name": "acme-web", "annotations": annotations},
        "spec": {"uid": "acme", "secrets": [{"id": "a", "spec": literal}]},
    }


def test_node_without_forms_has_no_value_of_its_row() -> None:
    shown = masked(node(dbPassword=VALUE, plan="pro-plan"))
    assert VALUE not in json.dumps(shown)
    assert "pro-plan" not in json.dumps(shown)
    assert json.loads(shown["metadata"]["annotations"]["lynq.sh/extra"]).keys() == {
        "dbPassword",
        "plan",
    }


def test_planned_node_has_no_value_of_its_row() -> None:
    before, after = (node(dbPassword=f"{when}-{VALUE}", plan=f"{when}-pro") for when in ("a", "b"))
    for old, new in ((before, after), (None, after), (before, None)):
        changes = field_changes(old, new)
        plan = Plan(
            changes=[
                PlannedChange(
                    action=Action.UPDATE,
                    api_version="operator.lynq.sh/v1",
                    kind="LynqNode",
                    namespace="shop",
                    name="acme-web",
                    fields=changes,
                )
            ]
        )
        text = json.dumps(document(plan))
        assert VALUE not in text
        assert "-pro" not in text
        assert "metadata.annotations[lynq.sh/extra]" in {change.path for change in changes}


def test_planned_node_without_change_of_its_row_has_none() -> None:
    assert field_changes(node(dbPassword=VALUE), node(dbPassword=VALUE)) == ()
