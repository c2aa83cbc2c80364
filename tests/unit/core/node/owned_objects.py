"""Live objects with the marks of a node, and the nodes that exist."""

from typing import Any

import msgspec
from msgspec.structs import replace

from lynq.api import DeletionPolicy, LynqNode, Metadata, NodeStatus, ResourceState, ResourceStatus
from lynq.api.metadata import ObjectKey
from lynq.core.node.objects import LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import with_ownership
from lynq.core.readiness.rules import evaluate_readiness
from unit.core.node.nodes import a_node, an_owner

HERE = ObjectRef("v1", "ConfigMap", "shop", "x")
ELSEWHERE = HERE._replace(namespace="tenant-acme")
CLUSTER = ObjectRef("v1", "Namespace", "", "tenant-acme")
LONG = "x" * 64
MANAGED = {"lynq.sh/managed": "true"}
DELETE, RETAIN = DeletionPolicy.DELETE, DeletionPolicy.RETAIN


def an_object(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", **metadata}}


def live_from(obj: dict[str, Any]) -> LiveObject:
    metadata = obj["metadata"]
    return LiveObject(
        uid="77",
        readiness=evaluate_readiness({}),
        labels={k: v for k, v in metadata.get("labels", {}).items() if v is not None},
        annotations={k: v for k, v in metadata.get("annotations", {}).items() if v is not None},
        owner_uids=tuple(reference["uid"] for reference in metadata.get("ownerReferences") or ()),
    )


class Fleet:
    """The nodes that exist."""

    def __init__(self, *nodes: LynqNode, covered: bool = True) -> None:
        self.nodes = nodes
        self.covered = covered

    def covers(self, namespace: str) -> bool:  # noqa: ARG002 - the interface
        return self.covered

    def key_by_uid(self, uid: str) -> ObjectKey | None:
        return next((node.metadata.key for node in self.nodes if node.metadata.uid == uid), None)

    def by_key(self, key: ObjectKey) -> LynqNode | None:
        return next((node for node in self.nodes if node.metadata.key == key), None)


def a_node_of(owner: Owner, status: NodeStatus | None = None) -> LynqNode:
    metadata = Metadata(namespace=owner.namespace, name=owner.name, uid=owner.uid)
    return msgspec.structs.replace(a_node(), metadata=metadata, status=status or NodeStatus())


def an_entry(name: str) -> ResourceStatus:
    return ResourceStatus(
        id=name,
        api_version="v1",
        kind="ConfigMap",
        namespace="tenant-acme",
        name=name,
        state=ResourceState.READY,
    )


def desired(owner: Owner) -> dict[str, Any]:
    return with_ownership(an_object(labels=MANAGED), ELSEWHERE, owner, DELETE)


def tracked(owner: Owner | None = None) -> LiveObject:
    """Return a live object in another namespace."""
    return live_from(desired(owner or an_owner()))


def without_proof(live: LiveObject) -> LiveObject:
    kept = {key: text for key, text in live.annotations.items() if key != "lynq.sh/tracking-id"}
    return replace(live, annotations=kept)


def relabeled(live: LiveObject, name: str) -> LiveObject:
    return replace(live, labels={**live.labels, "lynq.sh/node": name})
