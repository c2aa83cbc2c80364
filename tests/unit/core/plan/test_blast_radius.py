"""How far a changed form reaches, as its webhook counts it."""

import json
from itertools import count
from typing import Any

import msgspec
import pytest

from lynq.api import FormSpec, HubSpec, LynqForm, LynqHub, LynqNode, Metadata
from lynq.api.installation_key import NO_KEY
from lynq.api.names import ANNOTATION_ACTIVATE, ANNOTATION_EXTRA
from lynq.api.wire import EPOCH
from lynq.core.hub.desired_node import render_spec
from lynq.core.hub.row_values import RowValues
from lynq.core.plan.blast_radius import MAX_NODES, BlastRadius, blast_radius

HUB = LynqHub(
    metadata=Metadata(name="hub", namespace="ns"),
    spec=msgspec.convert(
        {
            "source": {"type": "sqlite", "sqlite": {"path": "a", "table": "t"}},
            "valueMappings": {"uid": "uid", "activate": "active"},
        },
        HubSpec,
    ),
)


def entry(entry_id: str, kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    spec = {"apiVersion": "v1", "kind": kind} | fields.pop("spec", {})
    return {"id": entry_id, "nameTemplate": "{{ .uid }}-" + entry_id, "spec": spec} | fields


def form(*config_maps: dict[str, Any], **lists: Any) -> LynqForm:
    spec = {"hubId": "hub", "configMaps": list(config_maps)} | lists
    metadata = Metadata(name="web", namespace="ns")
    return LynqForm(metadata=metadata, spec=msgspec.convert(spec, FormSpec))


def node(uid: str, old: LynqForm, plan: str = "pro") -> LynqNode:
    extra = json.dumps({"plan": plan})
    values = RowValues(uid, "1", "", extra)
    annotations = {ANNOTATION_ACTIVATE: "1", ANNOTATION_EXTRA: extra}
    return LynqNode(
        metadata=Metadata(name=f"{uid}-web", namespace="ns", annotations=annotations),
        spec=render_spec(HUB, old, values, now=EPOCH),
    )


def radius(old: LynqForm, new: LynqForm, *uids: str) -> BlastRadius:
    nodes = [node(uid, old) for uid in uids]
    return blast_radius(HUB, new, nodes, NO_KEY, may_continue=lambda: True)


OLD = form(entry("a"), entry("b"))


def test_same_form_gives_no_warning() -> None:
    assert radius(OLD, OLD, "acme").warning("web") == ""


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
            form(entry("a"), entry("b", spec={"data": {"x": "{{ .plan | fail }}"}})),
            "2 rows cannot be rendered (acme, beta)",
        ),
        (
            form(entry("a"), entry("b", nameTemplate="{{ fail .plan }}")),
            "2 rows cannot be rendered (acme, beta)",
        ),
    ],
)
def test_warning_counts_the_objects_of_all_nodes(new: LynqForm, expected: str) -> None:
    warning = radius(OLD, new, "acme", "beta").warning("web")
    assert warning == f"LynqForm web {expected}: lynq plan -f FILE shows them"


def test_changed_policy_changes_no_object() -> None:
    new = form(entry("a", deletionPolicy="Retain"), entry("b"))
    assert radius(OLD, new, "acme").warning("web") == ""


@pytest.mark.parametrize(
    ("spec", "restarts"), [({"template": {"image": "2"}}, True), ({"replicas": 2}, False)]
)
def test_changed_pod_template_restarts_pods(spec: dict[str, Any], *, restarts: bool) -> None:
    old = form(deployments=[entry("d", "Deployment", spec={"spec": {"template": {}}})])
    new_spec = {"template": {}} | spec
    new = form(deployments=[entry("d", "Deployment", spec={"spec": new_spec})])
    assert ("(pods restart)" in radius(old, new, "acme").warning("web")) is restarts


def test_counts_of_a_sample_are_scaled() -> None:
    nodes = [node("acme", OLD)] * (3 * MAX_NODES)
    new = form(entry("a"), entry("b", spec={"data": {"x": "1"}}))
    found = blast_radius(HUB, new, nodes, NO_KEY, may_continue=lambda: True)
    assert found.examined == MAX_NODES
    assert "about: changes 6,000 ConfigMaps (from 2,000 of 6,000 LynqNodes)" in found.warning("web")


def test_examination_ends_with_its_time() -> None:
    calls = count()
    nodes = [node(f"t{number}", OLD) for number in range(10)]
    found = blast_radius(HUB, form(), nodes, NO_KEY, may_continue=lambda: next(calls) < 4)
    assert found.examined == 4
    assert "removes 20 ConfigMaps" in found.warning("web")
