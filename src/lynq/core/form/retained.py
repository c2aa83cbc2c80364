"""Which resource ids of a form are retained, also by generations that a node never gets.

Under `rollout.maxSkew` a node may skip a generation of its form. A Retain of that generation still
counts: its objects are retained when the entry leaves the form. So the ids whose last
deletionPolicy is Retain are part of the status of the form, until no node lists an object of
theirs.
"""

from collections.abc import Iterable

from lynq.api import DeletionPolicy, LynqNode, ResourceLists
from lynq.api.initial_inventory import initial_objects
from lynq.api.resource import all_resources


def retained_ids(previous: Iterable[str], spec: ResourceLists) -> frozenset[str]:
    """Return the ids whose last deletionPolicy is Retain; `previous` are those of earlier specs."""
    policies = {resource.id: resource.deletion_policy for resource in all_resources(spec)}
    removed = (resource_id for resource_id in previous if resource_id not in policies)
    return frozenset(removed) | {
        resource_id for resource_id, policy in policies.items() if policy is DeletionPolicy.RETAIN
    }


def without_unlisted(
    ids: frozenset[str], spec: ResourceLists, nodes: Iterable[LynqNode]
) -> frozenset[str]:
    """Return the ids that the spec has, or of which a node lists an object."""
    removed = ids - {resource.id for resource in all_resources(spec)}
    if not removed:
        return ids
    listed: set[str] = set()
    for node in nodes:
        listed.update(entry.id for entry in node.status.resources)
        listed.update(obj.id for obj in initial_objects(node))
    return ids - (removed - listed)
