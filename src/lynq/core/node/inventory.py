"""The inventory: every object that a node answers for, read from its status and compared.

`status.resources` knows each object in full. `status.appliedResources` is the Go operator's form,
without apiVersion, with targetNamespace unrendered, and with the node's namespace for kinds that
have none; it is read where it says more, right after a change of operators.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lynq.api import NodeStatus, TResource
from lynq.core.node.objects import ObjectRef, ref_of
from lynq.template import Environment, SeededRandom, TemplateError, render

_PARTS: Final = (2, 3)
_STILL: Final = Environment(now=0, chance=SeededRandom(b""))
_CLUSTER_SCOPED: Final = frozenset({"Namespace"})
_API_VERSIONS: Final[Mapping[str, str]] = {
    "ConfigMap": "v1",
    "CronJob": "batch/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Ingress": "networking.k8s.io/v1",
    "Job": "batch/v1",
    "Namespace": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PersistentVolumeClaim": "v1",
    "PodDisruptionBudget": "policy/v1",
    "Secret": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "StatefulSet": "apps/v1",
}


@dataclass(frozen=True, slots=True)
class InventoryItem:
    """One object of the inventory."""

    id: str
    """The id of the entry that it was made from."""
    ref: ObjectRef
    """With apiVersion "" for a kind that only discovery can tell; then its namespace may be that
    of the node although the kind has none."""


def key_of(item: InventoryItem, node_namespace: str) -> str:
    """Return the item as `status.appliedResources` has it: Kind/namespace/name@id."""
    ref = item.ref
    return f"{ref.kind}/{ref.namespace or node_namespace}/{ref.name}@{item.id}"


def parse_key(key: str, node_namespace: str) -> InventoryItem | None:
    """Return what a key of `status.appliedResources` means; none if it is no key.

    Keys of two parts, Kind/name@id, were written by early versions for kinds without namespace.
    """
    place, _, this = key.rpartition("@")
    parts = place.split("/")
    if len(parts) not in _PARTS or not parts[0] or not parts[-1]:
        return None
    kind, *middle, name = parts
    namespace = "" if kind in _CLUSTER_SCOPED or not middle else middle[0] or node_namespace
    return InventoryItem(this, ObjectRef(_API_VERSIONS.get(kind, ""), kind, namespace, name))


def read_inventory(
    status: NodeStatus, node_namespace: str, variables: Mapping[str, str]
) -> tuple[InventoryItem, ...]:
    """Return every object that the node answers for, each once, in a fixed order."""
    known = {
        item.ref: item
        for item in (InventoryItem(this.id, ref_of(this)) for this in status.resources)
        if item.ref.name
    }
    covered = {key_of(item, node_namespace) for item in known.values()}
    for key in status.applied_resources:
        item = None if key in covered else parse_key(key, node_namespace)
        if item is not None:
            item = _with_rendered_namespace(item, variables)
            known.setdefault(item.ref, item)
    return tuple(sorted(known.values(), key=lambda item: (item.id, item.ref)))


def orphans(
    inventory: Iterable[InventoryItem], wanted: Iterable[ObjectRef], unrendered: Iterable[str]
) -> tuple[InventoryItem, ...]:
    """Return the items that nobody wants any more.

    What an entry that cannot be rendered would want is unknown, so all of its objects stay: a typo
    in a template must not take a tenant down.
    """
    wanted, undecided = tuple(wanted), frozenset(unrendered)
    places = {ref.place for ref in wanted}
    loosely = {(ref.kind, ref.namespace, ref.name) for ref in wanted}
    return tuple(
        item
        for item in inventory
        if item.id not in undecided
        and item.ref.place not in places
        and not _is_loosely_wanted(item.ref, loosely)
    )


def claimed(
    items: Iterable[InventoryItem], undecided: Iterable[TResource]
) -> dict[InventoryItem, str]:
    """Return the items that an entry of another id may want, with that id.

    An entry that got a new id keeps its object, if only it can be rendered; until it can, its
    object must not go for that. Its name is known, unless the manifest says it.
    """
    undecided = tuple(undecided)
    pairs = (
        (item, next((each for each in undecided if _may_want(each, item)), None)) for item in items
    )
    return {item: this.id for item, this in pairs if this is not None}


def _may_want(resource: TResource, item: InventoryItem) -> bool:
    kind = str(resource.spec.get("kind", ""))
    return (kind == item.ref.kind or "{{" in kind) and resource.name_template in ("", item.ref.name)


def _is_loosely_wanted(ref: ObjectRef, loosely: set[tuple[str, str, str]]) -> bool:
    """Return whether an object whose group is unknown may be one that is wanted."""
    return not ref.api_version and (
        (ref.kind, ref.namespace, ref.name) in loosely or (ref.kind, "", ref.name) in loosely
    )


def _with_rendered_namespace(item: InventoryItem, variables: Mapping[str, str]) -> InventoryItem:
    """Return the item in the namespace that the Go operator put it in.

    Our own keys hold names of namespaces, in which no template can be: only what a form said is
    rendered here, never what a row did.
    """
    if "{{" not in item.ref.namespace:
        return item
    try:
        namespace = render(item.ref.namespace, variables, _STILL)
    except TemplateError:
        return item
    return InventoryItem(item.id, item.ref._replace(namespace=namespace))
