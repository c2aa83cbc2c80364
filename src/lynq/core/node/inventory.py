"""The inventory of a node: every object that it manages, read from its status.

A new node has no status. Its hub has written into an annotation what the node is going to apply
(`lynq.api.initial_inventory`), so that no object is lost if the process ends before the first
status write.

`status.resources` identifies each object in full. `status.appliedResources` is the format of the Go
operator: without apiVersion, with targetNamespace unrendered, and with the node's namespace for
cluster-scoped kinds. It is read after a migration from that operator, where it lists more.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lynq.api import (
    DeletionPolicy,
    LynqNode,
    NodeStatus,
    ResourceState,
    ResourceStatus,
    TResource,
)
from lynq.api.initial_inventory import API_VERSIONS, CLUSTER_SCOPED, initial_objects
from lynq.core.node.objects import AppliedRecord, ObjectIdentity, ObjectRef, ref_of
from lynq.template import Environment, TemplateError, render

_NEVER_APPLIED: Final = frozenset({ResourceState.SKIPPED, ResourceState.WAITING})
_PARTS: Final = (2, 3)
_FIXED: Final = Environment.fixed()
"""Inventory keys depend on neither time nor chance."""


@dataclass(frozen=True, slots=True)
class InventoryItem:
    """One object of the inventory."""

    id: str
    """The id of the resource that it was rendered from."""
    ref: ObjectRef
    """apiVersion is "" if only discovery can find it; then the namespace of a cluster-scoped object
    may be that of the node."""
    is_retained: bool = field(default=False, compare=False)
    """Whether the last deletionPolicy of the object in the spec was Retain."""
    is_listed: bool = True
    """Whether the status of the node lists the object."""
    adopted_uid: str = field(default="", compare=False)
    """The uid of the object if it existed before and was adopted."""

    def with_ref(self, ref: ObjectRef) -> "InventoryItem":
        """Return the item with this object."""
        return replace(self, ref=ref)


def inventory_key(item: InventoryItem, node_namespace: str) -> str:
    """Return the entry of `status.appliedResources`: Kind/namespace/name@id."""
    ref = item.ref
    return f"{ref.kind}/{ref.namespace or node_namespace}/{ref.name}@{item.id}"


def parse_inventory_key(key: str, node_namespace: str) -> InventoryItem | None:
    """Parse an entry of `status.appliedResources`; None if it is malformed.

    Keys of two parts, Kind/name@id, were written by early versions for cluster-scoped kinds.
    """
    path, _, resource_id = key.rpartition("@")
    parts = path.split("/")
    if len(parts) not in _PARTS or not parts[0] or not parts[-1]:
        return None
    kind, *middle, name = parts
    namespace = "" if kind in CLUSTER_SCOPED or not middle else middle[0] or node_namespace
    ref = ObjectRef(API_VERSIONS.get(kind, ""), kind, namespace, name)
    return InventoryItem(resource_id, ref)


def inventory_of(node: LynqNode, variables: Mapping[str, str]) -> tuple[InventoryItem, ...]:
    """Return every object that the node manages, or is going to apply first."""
    if initial := initial_objects(node):
        return tuple(InventoryItem(obj.id, ObjectRef(*obj[1:]), is_listed=False) for obj in initial)
    return read_inventory(node.status, node.metadata.namespace, variables)


def read_inventory(
    status: NodeStatus, node_namespace: str, variables: Mapping[str, str]
) -> tuple[InventoryItem, ...]:
    """Return every object that a status lists, each once, in a fixed order."""
    items = {item.ref: item for item in map(_item, status.resources) if item.ref.name}
    covered = {inventory_key(item, node_namespace) for item in items.values()}
    for key in status.applied_resources:
        item = None if key in covered else parse_inventory_key(key, node_namespace)
        if item is not None:
            item = _with_rendered_namespace(item, variables)
            items.setdefault(item.ref, item)
    return tuple(sorted(items.values(), key=lambda item: (item.id, item.ref)))


def _item(entry: ResourceStatus) -> InventoryItem:
    return InventoryItem(
        entry.id,
        ref_of(entry),
        is_retained=entry.deletion_policy is DeletionPolicy.RETAIN,
        adopted_uid=entry.adopted_uid,
    )


def read_records(
    status: NodeStatus, inventory: Iterable[InventoryItem]
) -> dict[ObjectIdentity, AppliedRecord]:
    """Return what the status says about each object that it lists."""
    entries = {ref_of(entry).identity: entry for entry in status.resources}
    return {
        item.ref.identity: _record(entries.get(item.ref.identity))
        for item in inventory
        if item.is_listed
    }


def _record(entry: ResourceStatus | None) -> AppliedRecord:
    # An item without an entry is from the Go operator, which lists what it has applied.
    if entry is None:
        return AppliedRecord(was_applied=True)
    return AppliedRecord(bool(entry.fields_digest), entry.adopted_uid, entry.completed)


def objects_to_read(
    status: NodeStatus, inventory: Iterable[InventoryItem], *, waiting_since: datetime | None = None
) -> set[ObjectIdentity]:
    """Return the objects of the inventory to read if no watch has them.

    They are those that the node has tried to apply, and those that have waited for a dependency
    since `waiting_since` or longer: the watch of a shard does not select the objects of other
    shards, which the node may be in conflict about.
    """
    never_applied = {
        ref_of(entry).identity
        for entry in status.resources
        if entry.state in _NEVER_APPLIED and not _is_older(entry, waiting_since)
    }
    return {item.ref.identity for item in inventory if item.is_listed} - never_applied


def _is_older(entry: ResourceStatus, waiting_since: datetime | None) -> bool:
    return waiting_since is not None and entry.since is not None and entry.since <= waiting_since


def stale_items(
    inventory: Iterable[InventoryItem], desired: Iterable[ObjectRef]
) -> tuple[InventoryItem, ...]:
    """Return the items that are no longer desired."""
    desired = tuple(desired)
    identities = {ref.identity for ref in desired}
    names = {(ref.kind, ref.namespace, ref.name) for ref in desired}
    return tuple(
        item
        for item in inventory
        if item.ref.identity not in identities and not _may_be_desired(item.ref, names)
    )


def possible_claims(
    items: Iterable[InventoryItem], unresolved: Iterable[TResource]
) -> dict[InventoryItem, str]:
    """Return the items that an unresolved resource of another id may desire, with that id.

    A resource whose id was renamed keeps its object, but only once it can be rendered; until then
    its object must not be deleted. nameTemplate of a node is already rendered, so the name is
    known unless the manifest contains it.
    """
    unresolved = tuple(unresolved)
    pairs = (
        (item, next((resource for resource in unresolved if _may_desire(resource, item)), None))
        for item in items
    )
    return {item: resource.id for item, resource in pairs if resource is not None}


def unresolved_items(
    inventory: Iterable[InventoryItem],
    unresolved: Iterable[TResource],
    contested: Collection[ObjectIdentity],
) -> Iterator[InventoryItem]:
    """Yield the listed items of unresolved resources, which stay in the inventory.

    A contested object stays, too, if the id of its resource was renamed: it belongs to another node
    and is not pruned, and this node may still desire it.
    """
    items, unresolved = tuple(inventory), tuple(unresolved)
    if not unresolved:
        return
    ids, claims = {resource.id for resource in unresolved}, possible_claims(items, unresolved)
    for item in items:
        # An object that only the annotation lists is observed first: it may never have existed.
        if item.is_listed and item.id in ids:
            yield item
        elif item.is_listed and item in claims and item.ref.identity in contested:
            yield replace(item, id=claims[item])


def _may_desire(resource: TResource, item: InventoryItem) -> bool:
    may_be_kind = is_possible_kind(str(resource.spec.get("kind", "")), item.ref.kind)
    return may_be_kind and resource.name_template in ("", item.ref.name)


def is_possible_kind(template: str, kind: str) -> bool:
    """Return whether the kind of an entry, which may be an unrendered template, can be this one."""
    return template == kind or "{{" in template


def _may_be_desired(ref: ObjectRef, names: set[tuple[str, str, str]]) -> bool:
    """Return whether an object of unknown group has kind and name of a desired one."""
    return not ref.api_version and (
        (ref.kind, ref.namespace, ref.name) in names or (ref.kind, "", ref.name) in names
    )


def _with_rendered_namespace(item: InventoryItem, variables: Mapping[str, str]) -> InventoryItem:
    """Return the item with the namespace that the Go operator left as a template.

    Our own keys contain names of namespaces, which cannot be templates. So only text of a form is
    rendered here, never a value of a row.
    """
    if "{{" not in item.ref.namespace:
        return item
    try:
        namespace = render(item.ref.namespace, variables, _FIXED)
    except TemplateError:
        return item
    return item.with_ref(item.ref._replace(namespace=namespace))
