"""TResource: one entry of a list of resources in a form or a node.

The sixteen lists of resources that forms and nodes share.

The choices that a form makes for each of its resources.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, field
from msgspec.structs import fields

from lynq.api.wire import Int32, Wire


class CreationPolicy(StrEnum):
    """How often a resource is written."""

    ONCE = "Once"
    """Created if it is not there, never written again: for set-up Jobs and generated passwords."""
    WHEN_NEEDED = "WhenNeeded"
    """Written whenever the row, the form or the live object changes."""


class DeletionPolicy(StrEnum):
    """What becomes of a resource that is no longer wanted."""

    DELETE = "Delete"
    """Deleted when the row goes, or when the resource is taken out of the form."""
    RETAIN = "Retain"
    """Left in the cluster with the label lynq.sh/orphaned: "true"; adopted again if it comes
    back."""


class ConflictPolicy(StrEnum):
    """What happens when someone else owns a field that Lynq wants to set."""

    FORCE = "Force"
    """Lynq takes the field over. Only with patchStrategy apply."""
    STUCK = "Stuck"
    """The resource is left alone, the conflict is reported, and the node is Degraded."""


class PatchStrategy(StrEnum):
    """How a resource is written."""

    APPLY = "apply"
    """Server-side apply: Lynq owns only the fields it names; other controllers keep theirs."""
    MERGE = "merge"
    """JSON merge patch (RFC 7386) over the live object: lists are replaced as a whole."""
    REPLACE = "replace"
    """The live object is replaced: whatever the manifest does not name is gone."""


class TResource(Wire, frozen=True, kw_only=True):
    """One Kubernetes object that every row gets: a templated manifest, and how to treat it.

    Templates are Go text/template with the sprig functions. They see the row as .uid, .activate
    and one variable per entry of the hub's extraValueMappings, besides .hubId and .templateRef.
    """

    id: str
    """Name of this entry, unique over all lists of the form. Other entries name it in dependIds,
    and status.resources and events of the LynqNode speak of the resource by it."""

    spec: dict[str, Any]
    """The manifest: a complete Kubernetes object with apiVersion and kind. Every string in it may
    be a template, and a string that is nothing but a template ending in int, float or bool gives
    a value of that type, for example replicas: "{{ .replicas | int }}". Name and namespace are
    better given by nameTemplate and targetNamespace."""

    depend_ids: tuple[str, ...] = ()
    """Ids of the entries that must be ready before this one is written. On deletion the order is
    reversed. An unknown id or a circle makes the form invalid."""

    skip_on_dependency_failure: bool = True
    """What happens when one of dependIds has failed. If true, this resource is skipped and counted
    in skippedResources; if false, it is written all the same. Defaults to true."""

    creation_policy: CreationPolicy = CreationPolicy.WHEN_NEEDED
    """How often the resource is written. Defaults to WhenNeeded."""

    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    """What becomes of the resource when the row or this entry goes. Defaults to Delete. Only an
    object that is provably Lynq's own is ever deleted."""

    conflict_policy: ConflictPolicy = ConflictPolicy.STUCK
    """What happens when another manager owns a field that this manifest sets. Defaults to
    Stuck."""

    name_template: str = ""
    """Template of the object's name, for example "{{ .uid }}-web". It must give a name that
    Kubernetes accepts; trunc63 shortens. Without it, metadata.name of the manifest is taken."""

    target_namespace: str = ""
    """Namespace of the object, a template too, for example "tenant-{{ .uid }}". Defaults to the
    node's own namespace; has no meaning for kinds without a namespace. Objects in other
    namespaces are tracked by labels instead of an owner reference."""

    labels_template: dict[str, str] = field(default_factory=dict)
    """Labels for the object, whose values are templates. They are merged with the manifest's own
    labels and win where both name a key."""

    annotations_template: dict[str, str] = field(default_factory=dict)
    """Annotations for the object, whose values are templates. They are merged with the manifest's
    own annotations and win where both name a key."""

    wait_for_ready: bool = True
    """If true, the resource counts as ready, and the entries depending on it start, only when its
    kind's readiness rule holds. If false, it counts as ready once written. Defaults to true."""

    timeout_seconds: Annotated[Int32, Meta(ge=1, le=3600)] = 300
    """How long the resource may take to become ready after a change, in seconds. After that it
    has failed, until it does become ready. Defaults to 300."""

    patch_strategy: PatchStrategy = PatchStrategy.APPLY
    """How the resource is written. Defaults to apply."""

    ignore_fields: tuple[str, ...] = ()
    """JSONPath of fields that belong to someone else once the object exists, for example
    "$.spec.replicas" under a HorizontalPodAutoscaler: the manifest's value is used on creation
    and the live value is kept from then on."""


Resources = tuple[TResource, ...]


class ResourceLists(Wire, frozen=True, kw_only=True):
    """The resources of a form or node, one list per kind.

    Inherited, because JSON has these fields in the middle of the spec of both kinds. Their order
    is the canonical one: whatever has no other order goes in this one, list by list.
    """

    service_accounts: Resources = ()
    """ServiceAccounts, for the pods of the row to run as. Ready as soon as they exist."""

    deployments: Resources = ()
    """Deployments. Ready when the newest generation is rolled out and every wanted replica is
    updated, ready and available; scaled to zero counts as ready once no replica is left."""

    stateful_sets: Resources = ()
    """StatefulSets. Ready when the newest generation is rolled out and every wanted replica is
    current, updated and ready. Their PersistentVolumeClaims stay when the row goes, unless
    persistentVolumeClaimRetentionPolicy says otherwise."""

    daemon_sets: Resources = ()
    """DaemonSets. Ready when the newest generation runs and is available on every machine that it
    is scheduled on."""

    services: Resources = ()
    """Services. Ready as soon as they exist, those of type LoadBalancer when they have an
    address."""

    ingresses: Resources = ()
    """Ingresses. Ready when they have a rule or an address."""

    config_maps: Resources = ()
    """ConfigMaps. Ready as soon as they exist. Values under data and binaryData stay text, also
    where a template ends in int, float or bool."""

    secrets: Resources = ()
    """Secrets. Ready as soon as they exist. Their contents never appear in events, status, logs
    or metrics."""

    persistent_volume_claims: Resources = ()
    """PersistentVolumeClaims. Ready when bound. With a StorageClass that waits for the first
    consumer nothing that uses the claim may depend on it, or both wait for each other."""

    jobs: Resources = ()
    """Jobs. Ready when complete; a failed Job is a failed resource. A Job's pod template cannot
    be changed, so creationPolicy Once is usually what is wanted."""

    cron_jobs: Resources = ()
    """CronJobs. Ready as soon as they exist, whatever becomes of the Jobs they start."""

    pod_disruption_budgets: Resources = ()
    """PodDisruptionBudgets. Ready as soon as they exist."""

    network_policies: Resources = ()
    """NetworkPolicies. Ready as soon as they exist. An entry that the workloads depend on is in
    force before their first pod starts."""

    horizontal_pod_autoscalers: Resources = ()
    """HorizontalPodAutoscalers. Ready when they are able to scale their target. Give the target
    ignoreFields: ["$.spec.replicas"], so that both do not fight over the number of replicas."""

    namespaces: Resources = ()
    """Namespaces, for rows that get one of their own. Ready when Active. Entries whose
    targetNamespace is the new namespace should depend on it."""

    manifests: Resources = ()
    """Objects of any other kind, custom resources included, for example a Certificate or an
    ExternalSecret. Ready when their Ready or Available condition is True; a kind without
    conditions is ready as soon as it exists. The operator needs the right to manage the kind."""


RESOURCE_LISTS: Final = tuple((each.name, each.encode_name) for each in fields(ResourceLists))
"""Attribute name and JSON name of each list, in the canonical order."""


def resources_by_list(lists: ResourceLists) -> Iterator[tuple[str, Resources]]:
    """Yield the JSON name and the resources of each list, in the canonical order."""
    for name, json_name in RESOURCE_LISTS:
        yield json_name, getattr(lists, name)


def all_resources(lists: ResourceLists) -> Resources:
    """Return the resources of all lists in the canonical order."""
    return tuple(resource for _, resources in resources_by_list(lists) for resource in resources)
