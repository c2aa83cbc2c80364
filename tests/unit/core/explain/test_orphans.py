"""Which orphans may be deleted, and which node desires one again."""

import pytest

from lynq.api import Metadata, OwnerReference, TResource
from lynq.core.explain.orphans import deletion_blocker, desiring_node
from lynq.core.node.objects import ObjectRef
from unit.core.explain.explained import NOW, a_node

LABELS = {"lynq.sh/orphaned": "true", "lynq.sh/managed": "true"}
ANNOTATIONS = {"lynq.sh/orphaned-at": "2026-03-01T12:00:00Z"}
NODE = OwnerReference(api_version="operator.lynq.sh/v1", kind="LynqNode", name="a", uid="u")
OTHER = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid="s")


def test_orphan_with_all_marks_may_be_deleted() -> None:
    assert deletion_blocker(Metadata(labels=LABELS, annotations=ANNOTATIONS)) == ""


@pytest.mark.parametrize(
    "metadata",
    [
        Metadata(annotations=ANNOTATIONS),
        Metadata(labels={**LABELS, "lynq.sh/orphaned": "false"}, annotations=ANNOTATIONS),
        Metadata(labels=LABELS),
        Metadata(labels={"lynq.sh/orphaned": "true"}, annotations=ANNOTATIONS),
        Metadata(labels=LABELS, annotations=ANNOTATIONS, owner_references=[NODE]),
        Metadata(labels=LABELS, annotations=ANNOTATIONS, owner_references=[OTHER]),
        Metadata(
            labels={**LABELS, "lynq.sh/node": "a", "lynq.sh/node-namespace": "b"},
            annotations=ANNOTATIONS,
        ),
        Metadata(labels=LABELS, annotations=ANNOTATIONS, deletion_timestamp=NOW),
    ],
)
def test_object_without_proof_is_not_deleted(metadata: Metadata) -> None:
    assert deletion_blocker(metadata)


CONFIG = TResource(
    id="config",
    name_template="acme-config",
    target_namespace="tenant-{{ .uid }}",
    spec={"apiVersion": "v1", "kind": "ConfigMap"},
)
REF = ObjectRef("v1", "ConfigMap", "tenant-acme", "acme-config")


def test_node_that_renders_the_object_desires_it() -> None:
    node = a_node(resources=(CONFIG,))
    assert desiring_node(REF, [node]) is node


@pytest.mark.parametrize(
    "ref",
    [
        REF._replace(namespace="other"),
        REF._replace(name="other"),
        REF._replace(kind="Secret"),
        REF._replace(api_version="other/v1"),
    ],
)
def test_other_object_is_not_desired(ref: ObjectRef) -> None:
    assert desiring_node(ref, [a_node(resources=(CONFIG,))]) is None


def test_paused_or_deleted_node_adopts_nothing() -> None:
    paused = a_node(resources=(CONFIG,), annotations={"lynq.sh/paused": "true"})
    assert desiring_node(REF, [paused, a_node(resources=(CONFIG,), deleting=True)]) is None
