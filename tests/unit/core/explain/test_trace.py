"""Traces of objects to their nodes."""

from msgspec import Raw

from lynq.api import Metadata, OwnerReference
from lynq.api.metadata import ManagedFields, ObjectKey
from lynq.core.explain.trace import (
    controller_of,
    entry_of,
    is_orphan,
    node_in_marks,
    object_step,
    orphan_sentence,
    source_of,
    steps_to_row,
)
from lynq.core.node.objects import ref_of
from unit.core.explain.explained import NOW, WEB, a_form, a_hub, a_node, an_entry

NODE = OwnerReference(api_version="operator.lynq.sh/v1", kind="LynqNode", name="acme-web", uid="n")
REPLICA_SET = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="a", controller=True)


def managed(manager: str, fields: bytes, subresource: str = "") -> ManagedFields:
    return ManagedFields(manager=manager, time=NOW, fields_v1=Raw(fields), subresource=subresource)


def test_owner_reference_names_the_node() -> None:
    metadata = Metadata(namespace="shop", owner_references=[REPLICA_SET, NODE])
    assert node_in_marks(metadata) == ObjectKey("shop", "acme-web")


def test_labels_name_the_node_in_another_namespace() -> None:
    labels = {"lynq.sh/node": "acme-web", "lynq.sh/node-namespace": "lynq"}
    assert node_in_marks(Metadata(labels=labels)) == ObjectKey("lynq", "acme-web")
    assert node_in_marks(Metadata(labels={"lynq.sh/node": "acme-web"})) is None


def test_node_of_another_group_is_no_mark() -> None:
    other = OwnerReference(api_version="other.example/v1", kind="LynqNode", name="a")
    assert node_in_marks(Metadata(owner_references=[other])) is None


def test_controller_of_a_pod_is_followed() -> None:
    assert controller_of(Metadata(owner_references=[REPLICA_SET])) == REPLICA_SET
    assert controller_of(Metadata(owner_references=[NODE])) is None


def test_object_that_the_status_does_not_list_is_a_copy() -> None:
    entry = an_entry()
    copy = ref_of(entry)._replace(name="copy")
    assert entry_of(a_node(entry), copy, Metadata()) is None


def test_listed_object_without_a_tie_is_not_managed() -> None:
    entry = an_entry()
    assert entry_of(a_node(entry), ref_of(entry), Metadata()) is None


def test_fields_of_other_managers_are_named_without_values() -> None:
    ref = ref_of(an_entry())
    metadata = Metadata(
        managed_fields=[
            managed("lynq-operator", b'{"f:spec":{"f:template":{}}}'),
            managed("hpa", b'{"f:spec":{"f:replicas":{},"f:list":{"k:{\\"name\\":\\"x\\"}":{}}}}'),
            managed("kubelet", b'{"f:status":{}}', "status"),
        ]
    )
    assert object_step(ref, metadata).detail == (
        "applied 2026-03-01T12:00:00Z by lynq-operator; fields of hpa (spec.replicas, spec.list[])"
    )


def test_orphan_says_when_and_why_it_was_retained() -> None:
    metadata = Metadata(
        labels={"lynq.sh/orphaned": "true"},
        annotations={"lynq.sh/orphaned-at": "T", "lynq.sh/orphaned-reason": "LynqNodeDeleted"},
    )
    assert is_orphan(metadata)
    assert orphan_sentence(metadata) == "was retained as an orphan at T (LynqNodeDeleted)"
    metadata.annotations["lynq.sh/orphaned-from"] = "shop/acme-web"
    assert orphan_sentence(metadata) == (
        "was retained as an orphan of LynqNode shop/acme-web at T (LynqNodeDeleted)"
    )


def test_steps_end_at_the_row() -> None:
    entry = an_entry()
    steps = list(steps_to_row(a_node(entry), entry, a_form(WEB, generation=4), a_hub(), "shop"))
    assert [(step.kind, step.name) for step in steps] == [
        ("LynqNode", "acme-web"),
        ("LynqForm", "web"),
        ("LynqHub", "shop"),
        ("row", "tenant_id = acme"),
    ]
    assert steps[1].detail == "generation 3 (the form has 4), entry manifests[web]"


def test_missing_form_and_hub_are_named() -> None:
    entry = an_entry()
    steps = list(steps_to_row(a_node(entry), entry, None, None, "shop"))
    assert {steps[1].detail, steps[2].detail} == {"does not exist, or may not be read"}
    assert steps[3].name == "uid = acme"


def test_source_names_database_and_table() -> None:
    assert source_of(a_hub()) == "sqlite a.db tenants"
