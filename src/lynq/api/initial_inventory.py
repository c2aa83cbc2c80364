"""The initial inventory of a node: the objects that it is going to apply, in an annotation.

The hub writes it when it creates the node, and the node reads it until its status lists objects.
An object whose place the hub does not know is left out: one whose name is in the manifest, or of a
kind whose scope only discovery knows. Then the node lists all its objects in the status before it
applies the first.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from lynq.api.names import ANNOTATION_INITIAL_INVENTORY
from lynq.api.naming import is_namespace_name, is_subdomain
from lynq.api.nesting import depth_checked
from lynq.api.node import LynqNode

API_VERSIONS: Final[Mapping[str, str]] = {
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
"""The kinds that a form has lists for, each with its apiVersion."""
CLUSTER_SCOPED: Final = frozenset({"Namespace"})

MAX_LENGTH: Final = 16 * 1024
"""Characters of the annotation. The API server limits all annotations of an object to 256 KiB."""


class InitialObject(NamedTuple):
    """An object that a new node applies."""

    id: str
    """The id of the resource that it is rendered from."""
    api_version: str
    kind: str
    namespace: str
    """Empty for a cluster-scoped kind."""
    name: str


def initial_inventory(objects: Iterable[InitialObject]) -> dict[str, str]:
    """Return the annotation of a new node; empty if there are no objects, or too many."""
    listed = tuple(filter(_is_valid, objects))
    text = msgspec.json.encode(listed).decode()
    return {ANNOTATION_INITIAL_INVENTORY: text} if listed and len(text) <= MAX_LENGTH else {}


def initial_objects(node: LynqNode) -> tuple[InitialObject, ...]:
    """Return the objects in the annotation, if the status of the node lists none."""
    text = node.metadata.annotations.get(ANNOTATION_INITIAL_INVENTORY)
    if not text or lists_objects(node):
        return ()
    try:
        objects = msgspec.json.decode(depth_checked(text), type=tuple[InitialObject, ...])
    except msgspec.DecodeError:
        # Edited by hand: the node lists its objects before it applies them.
        return ()
    return tuple(filter(_is_valid, objects))


def _is_valid(obj: InitialObject) -> bool:
    """Return whether the object can exist; the node applies no object with another name."""
    if obj.kind in CLUSTER_SCOPED:
        return is_subdomain(obj.name) and not obj.namespace
    return is_subdomain(obj.name) and is_namespace_name(obj.namespace)


def lists_objects(node: LynqNode) -> bool:
    """Return whether the status of a node lists objects."""
    return bool(node.status.resources or node.status.applied_resources)
