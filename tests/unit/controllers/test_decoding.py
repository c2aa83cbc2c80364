"""Decoding of hubs, forms and nodes: valid, invalid, too deeply nested."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from lynq.api import LynqForm, LynqHub, LynqNode, TResource
from lynq.controllers.decoding import NodeDecoder, RawObject, Unreadable, decode_form, decode_hub
from lynq.kube.codec import decode

METADATA = {"name": "acme-web", "namespace": "shop", "uid": "1", "resourceVersion": "7"}


def raw_object(spec: Any, status: Any = None) -> RawObject:
    text = msgspec.json.encode({"metadata": METADATA, "spec": spec, "status": status or {}})
    return msgspec.json.decode(text, type=RawObject)


def a_node(name: str = "acme-config", data: str = "{{ .plan }}", **fields: Any) -> RawObject:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": data}}
    resource = {"id": "config", "nameTemplate": name, "spec": manifest, **fields}
    return raw_object({"uid": "acme", "templateRef": "web", "configMaps": [resource]})


def test_form_is_decoded_with_spec_and_status() -> None:
    form = decode_form(raw_object({"hubId": "shop"}, {"totalNodes": 3}))
    assert isinstance(form, LynqForm)
    assert (form.spec.hub_id, form.status.total_nodes) == ("shop", 3)


def test_invalid_spec_gives_an_unreadable_object() -> None:
    form = decode_form(raw_object({"hubId": 5}))
    assert isinstance(form, Unreadable)
    assert form.metadata.name == "acme-web"
    assert "hubId" in form.problem


def test_decode_problem_quotes_no_value() -> None:
    hub = decode_hub(raw_object({"source": {"type": "hunter2"}, "valueMappings": {}}))
    assert isinstance(hub, Unreadable)
    assert "hunter2" not in hub.problem


def test_invalid_status_is_replaced_by_an_empty_one() -> None:
    source = {"type": "sqlite", "sqlite": {"path": "a", "table": "b"}}
    spec = {"source": source, "valueMappings": {"uid": "a", "activate": "b"}}
    hub = decode_hub(raw_object(spec, {"desired": "many"}))
    assert isinstance(hub, LynqHub)
    assert hub.status.desired == 0


@pytest.mark.parametrize("levels", [600, 900, 950, 980, 1_300, 9_900])
@pytest.mark.parametrize("decode_kind", [decode_form, NodeDecoder()])
def test_deep_nesting_never_raises(
    decode_kind: Callable[[RawObject], LynqForm | LynqNode | Unreadable], levels: int
) -> None:
    decoded = decode_kind(nested(levels))
    assert decoded.metadata.name == "acme-web"
    if isinstance(decoded, Unreadable):
        assert decoded.problem == "spec is nested too deeply"
    else:
        assert levels < 1_000


def test_too_deeply_nested_spec_is_unreadable() -> None:
    assert isinstance(decode_form(nested(1_300)), Unreadable)
    assert isinstance(NodeDecoder()(nested(1_300)), Unreadable)


def test_spec_too_deep_for_the_decoder_alone_is_unreadable() -> None:
    # The codec runs with a deeper stack, and accepts what the decoder does not.
    obj = msgspec.structs.replace(
        raw_object({}), spec=Raw(spec_of(1_300)), status=Raw(b"[" * 1_300)
    )
    form = decode_form(obj)
    assert isinstance(form, Unreadable)
    assert form.problem == "spec is nested too deeply"


def test_too_deeply_nested_status_is_replaced_by_an_empty_one() -> None:
    deep = Raw(b'{"totalNodes":' + b"[" * 1_300 + b"]" * 1_300 + b"}")
    form = decode_form(msgspec.structs.replace(raw_object({"hubId": "shop"}), status=deep))
    assert isinstance(form, LynqForm)
    assert form.status.total_nodes == 0


def spec_of(levels: int) -> bytes:
    """Return a spec of a form and a node, with a manifest of this depth."""
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    entry = b'{"id":"deep","nameTemplate":"deep","spec":' + deep + b"}"
    return b'{"hubId":"hub","uid":"acme","templateRef":"web","manifests":[' + entry + b"]}"


def nested(levels: int) -> RawObject:
    metadata = msgspec.json.encode(METADATA)
    text = b'{"metadata":' + metadata + b',"spec":' + spec_of(levels) + b"}"
    return decode(text, RawObject, what="get")


def test_nodes_of_one_form_share_manifests() -> None:
    decode_node = NodeDecoder()
    one, two = decode_node(a_node("acme-config")), decode_node(a_node("beta-config"))
    other = decode_node(a_node("acme-config", data="fixed"))
    assert isinstance(one, LynqNode)
    assert isinstance(two, LynqNode)
    assert isinstance(other, LynqNode)
    assert one.spec.config_maps[0].spec is two.spec.config_maps[0].spec
    assert one.spec.config_maps[0].name_template != two.spec.config_maps[0].name_template
    assert other.spec.config_maps[0].spec["data"] == {"plan": "fixed"}


def test_nodes_with_different_labels_share_manifests() -> None:
    decode_node = NodeDecoder()
    labels: tuple[dict[str, str], ...] = ({"tenant": "acme"}, {"tenant": "beta"}, {})
    one, two, none = (resource_of(decode_node(a_node(labelsTemplate=label))) for label in labels)
    assert one.spec is two.spec is none.spec
    assert (one.labels_template, two.labels_template, none.labels_template) == labels
    assert one.id is two.id


def resource_of(node: LynqNode | Unreadable) -> TResource:
    assert isinstance(node, LynqNode)
    return node.spec.config_maps[0]


def test_nodes_share_texts_of_their_status() -> None:
    decode_node = NodeDecoder()
    entry = {"id": "config", "apiVersion": "v1", "kind": "ConfigMap", "state": "Ready"}
    condition = {"type": "Ready", "status": "True", "reason": "Reconciled", "message": "all ready"}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    statuses = [
        {"resources": [{**entry, "name": name}], "conditions": [condition]}
        for name in ("acme", "beta")
    ]
    spec = {"uid": "acme", "templateRef": "web"}
    one, two = (decode_node(raw_object(spec, status)) for status in statuses)
    assert isinstance(one, LynqNode)
    assert isinstance(two, LynqNode)
    assert [one.status.resources[0].name, two.status.resources[0].name] == ["acme", "beta"]
    assert one.status.resources[0].kind is two.status.resources[0].kind
    assert one.status.conditions[0].message is two.status.conditions[0].message
    assert one.status.conditions == two.status.conditions


def test_managed_fields_are_dropped() -> None:
    text = msgspec.json.encode(
        {
            "metadata": {**METADATA, "managedFields": [{"manager": "x", "fieldsV1": {"f:a": {}}}]},
            "spec": {"uid": "acme", "templateRef": "web"},
        }
    )
    node = NodeDecoder()(msgspec.json.decode(text, type=RawObject))
    assert node.metadata.managed_fields == []
