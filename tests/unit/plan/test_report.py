"""A planned change shows no value of a column that a Secret reads, whichever object has it."""

import json
from typing import Any

import msgspec

from lynq.api import LynqNode
from lynq.core.plan.changes import Plan, document
from lynq.plan.dry_run import Recorded
from lynq.plan.report import ChangeReport

SECRET = {
    "id": "key",
    "nameTemplate": "acme-key",
    "spec": {"apiVersion": "v1", "kind": "Secret", "stringData": {"token": "{{ .token }}"}},
}
CONFIG = {
    "id": "settings",
    "nameTemplate": "acme-settings",
    "spec": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"mode": "fast", "note": "{{ .token }}", "plan": "{{ .plan }}"},
    },
}


def node(token: str, *, with_secret: bool) -> dict[str, Any]:
    extra = json.dumps({"token": token, "plan": "pro-plan"})
    return {
        "apiVersion": "operator.lynq.sh/v1",
        "kind": "LynqNode",
        "metadata": {
            "name": "acme-web",
            "namespace": "shop",
            "uid": "1",
            "annotations": {"lynq.sh/extra": extra},
        },
        "spec": {
            "uid": "acme",
            "templateRef": "web",
            "configMaps": [CONFIG],
            "secrets": [SECRET] if with_secret else [],
        },
    }


def config_map(token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "acme-settings",
            "namespace": "shop",
            "ownerReferences": [{"uid": "1"}],
        },
        "data": {"mode": "fast", "note": f"token is {token}", "plan": "pro-plan", "n": [token]},
    }


def changes(old: dict[str, Any], new: dict[str, Any], *recorded: Recorded) -> str:
    report = ChangeReport([msgspec.convert(each, LynqNode) for each in (new, old)])
    planned = [change for each in recorded if (change := report._change(each))]
    return json.dumps(document(Plan(changes=planned)))


def test_old_and_new_value_are_masked_even_if_the_secret_goes() -> None:
    """A form that moves a column from a Secret into a ConfigMap is no way to read it."""
    old, new = node("old-hunter2", with_secret=True), node("new-hunter2", with_secret=False)
    text = changes(
        old, new, Recorded(config_map("old-hunter2"), config_map("new-hunter2")), Recorded(old, new)
    )
    assert "hunter2" not in text
    assert "token is <token>" in text


def test_other_columns_are_shown_in_objects_and_hidden_in_the_node() -> None:
    old, new = node("old-hunter2", with_secret=True), node("new-hunter2", with_secret=True)
    text = changes(old, new, Recorded(None, config_map("new-hunter2")), Recorded(None, new))
    assert "hunter2" not in text
    assert text.count("pro-plan") == 1


def test_literals_of_the_form_are_known() -> None:
    live = node("a-token", with_secret=False)
    report = ChangeReport([msgspec.convert(live, LynqNode)])
    change = report._change(Recorded(config_map("a-token"), config_map("b-token")))
    assert change
    assert change.is_literal("data.mode", "fast")
    assert not change.is_literal("data.plan", "pro-plan")
    assert not change.is_literal("data.note", "{{ .token }}")
