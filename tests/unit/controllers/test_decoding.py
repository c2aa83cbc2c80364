"""Objects of ours as they come from the API server, sound and broken."""

from typing import Any

import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.controllers.decoding import Loose, Nodes, Unreadable, form_from, hub_from

METADATA = {"name": "acme-web", "namespace": "shop", "uid": "1", "resourceVersion": "7"}


def loose(spec: Any, status: Any = None) -> Loose:
    text = msgspec.json.encode({"metadata": METADATA, "spec": spec, "status": status or {}})
    return msgspec.json.decode(text, type=Loose)


def a_node(name: str = "acme-config", data: str = "{{ .plan }}") -> Loose:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": data}}
    resource = {"id": "config", "nameTemplate": name, "spec": manifest}
    return loose({"uid": "acme", "templateRef": "web", "configMaps": [resource]})


def test_a_form_comes_with_spec_and_status() -> None:
    form = form_from(loose({"hubId": "shop"}, {"totalNodes": 3}))
    assert isinstance(form, LynqForm)
    assert (form.spec.hub_id, form.status.total_nodes) == ("shop", 3)


def test_a_spec_that_makes_no_sense_leaves_an_unreadable_object() -> None:
    form = form_from(loose({"hubId": 5}))
    assert isinstance(form, Unreadable)
    assert form.metadata.name == "acme-web"
    assert "hubId" in form.problem


def test_a_broken_object_shows_no_values() -> None:
    hub = hub_from(loose({"source": {"type": "hunter2"}, "valueMappings": {}}))
    assert isinstance(hub, Unreadable)
    assert "hunter2" not in hub.problem


def test_a_status_that_makes_no_sense_is_as_good_as_none() -> None:
    source = {"type": "sqlite", "sqlite": {"path": "a", "table": "b"}}
    spec = {"source": source, "valueMappings": {"uid": "a", "activate": "b"}}
    hub = hub_from(loose(spec, {"desired": "many"}))
    assert isinstance(hub, LynqHub)
    assert hub.status.desired == 0


def test_nodes_of_one_form_share_their_manifests() -> None:
    decode = Nodes()
    one, two = decode(a_node("acme-config")), decode(a_node("beta-config"))
    other = decode(a_node("acme-config", data="fixed"))
    assert isinstance(one, LynqNode)
    assert isinstance(two, LynqNode)
    assert isinstance(other, LynqNode)
    assert one.spec.config_maps[0].spec is two.spec.config_maps[0].spec
    assert one.spec.config_maps[0].name_template != two.spec.config_maps[0].name_template
    assert other.spec.config_maps[0].spec["data"] == {"plan": "fixed"}


def test_who_manages_which_field_is_not_kept() -> None:
    text = msgspec.json.encode(
        {
            "metadata": {**METADATA, "managedFields": [{"manager": "x", "fieldsV1": {"f:a": {}}}]},
            "spec": {"uid": "acme", "templateRef": "web"},
        }
    )
    node = Nodes()(msgspec.json.decode(text, type=Loose))
    assert node.metadata.managed_fields == []
