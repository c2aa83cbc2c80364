"""Data of Secrets, and columns that only Secrets read, are hidden."""

import json

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
