"""How far a changed form reaches, as its webhook counts it."""

from typing import Any

import msgspec
import pytest

from lynq.api import FormSpec
from lynq.core.plan.blast_radius import blast_radius


def entry(entry_id: str, kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    spec = {"apiVersion": "v1", "kind": kind} | fields.pop("spec", {})
    return {"id": entry_id, "nameTemplate": "{{ .uid }}-" + entry_id, "spec": spec} | fields


def form(*config_maps: dict[str, Any], **lists: Any) -> FormSpec:
    return msgspec.convert({"hubId": "hub", "configMaps": list(config_maps)} | lists, FormSpec)


OLD = form(entry("a"), entry("b"))


@pytest.mark.parametrize(("new", "nodes"), [(OLD, 2), (form(entry("a")), 0)])
def test_unchanged_form_or_no_node_gives_no_warning(new: FormSpec, nodes: int) -> None:
    assert blast_radius(OLD, new, nodes).warning("web") == ""


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (form(entry("a", spec={"data": {"x": "1"}}), entry("b")), "changes 2 ConfigMaps"),
        (form(entry("a"), entry("b"), entry("c")), "changes 2 ConfigMaps"),
        (form(entry("a")), "removes 2 ConfigMaps"),
        (form(entry("a", labelsTemplate={"t": "{{ .uid }}"}), entry("b")), "changes 2 ConfigMaps"),
        (form(entry("a", targetNamespace="other"), entry("b")), "changes 2 ConfigMaps"),
        (
            form(entry("a"), networkPolicies=[entry("n", "NetworkPolicy")]),
            "changes 2 NetworkPolicies; removes 2 ConfigMaps",
        ),
        (
            form(entry("a", spec={"data": {"x": "{{ fail .plan }}"}}), entry("b")),
            "changes 2 ConfigMaps",
        ),
    ],
)
def test_warning_counts_the_objects_of_all_nodes(new: FormSpec, expected: str) -> None:
    warning = blast_radius(OLD, new, 2).warning("web")
    assert warning == f"LynqForm web {expected}: lynq plan -f FILE shows them"


def test_one_node_has_one_object() -> None:
    assert "removes 1 ConfigMap:" in blast_radius(OLD, form(entry("a")), 1).warning("web")


def test_changed_policy_changes_no_object() -> None:
    new = form(entry("a", deletionPolicy="Retain"), entry("b"))
    assert blast_radius(OLD, new, 1).warning("web") == ""


@pytest.mark.parametrize(
    ("spec", "restarts"), [({"template": {"image": "2"}}, True), ({"replicas": 2}, False)]
)
def test_changed_pod_template_restarts_pods(spec: dict[str, Any], *, restarts: bool) -> None:
    old = form(deployments=[entry("d", "Deployment", spec={"spec": {"template": {}}})])
    new_spec = {"template": {}} | spec
    new = form(deployments=[entry("d", "Deployment", spec={"spec": new_spec})])
    assert ("(pods restart)" in blast_radius(old, new, 40).warning("web")) is restarts
