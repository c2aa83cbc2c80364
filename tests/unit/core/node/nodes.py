"""Nodes and entries to test with."""

from datetime import UTC, datetime
from typing import Any

from lynq.api import LynqNode, Metadata, NodeSpec, TResource
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef, Owner, owner_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_node(
    *resources: TResource, name: str = "acme-web", uid: str = "acme", **annotations: str
) -> LynqNode:
    """Return a node of the row `uid`; annotations are named without their prefix."""
    return LynqNode(
        metadata=Metadata(
            name=name,
            namespace="shop",
            uid="11111111-2222-3333-4444-555555555555",
            generation=3,
            annotations={
                f"lynq.sh/{key.replace('_', '-')}": value for key, value in annotations.items()
            },
        ),
        spec=NodeSpec(uid=uid, template_ref="web", manifests=resources),
    )


def an_owner(name: str = "acme-web") -> Owner:
    """Return the node as an owner."""
    return owner_of(a_node(name=name))


def a_resource(
    resource_id: str = "config", spec: dict[str, Any] | None = None, **more: Any
) -> TResource:
    """Return an entry of a ConfigMap, or of the given manifest."""
    manifest = spec or {"apiVersion": "v1", "kind": "ConfigMap", "data": {"plan": "{{ .uid }}"}}
    return TResource(
        id=resource_id, spec=manifest, **{"name_template": f"acme-{resource_id}", **more}
    )


def an_item(resource_id: str) -> InventoryItem:
    """Return the ConfigMap of a resource as an item of the inventory."""
    return InventoryItem(resource_id, ObjectRef("v1", "ConfigMap", "shop", f"n-{resource_id}"))
