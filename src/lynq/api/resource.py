"""TResource, one resource of a form or node, its policies, and the lists that hold resources."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Final

from msgspec import Meta, field
from msgspec.structs import fields

from lynq.api.wire import Int32, Wire


class CreationPolicy(StrEnum):
    """How often a resource is applied."""

    ONCE = "Once"
    """Created if it does not exist, and not applied again: for setup Jobs and generated
    passwords. A Job that has completed is not created again."""
    WHEN_NEEDED = "WhenNeeded"
    """Applied whenever the row, the form or the live object changes."""


class DeletionPolicy(StrEnum):
    """What happens to a resource that is no longer desired."""

    DELETE = "Delete"
    """Deleted with its row, or when the resource is removed from the form."""
    RETAIN = "Retain"
    """Left in the cluster with the label lynq.sh/orphaned: "true"; adopted again if it is desired
    again."""


class ConflictPolicy(StrEnum):
    """What happens when another manager owns a field that the manifest sets."""

    FORCE = "Force"
    """The operator takes over the field. Only with patchStrategy apply."""
    STUCK = "Stuck"
    """The resource is not applied, the conflict is reported, and the LynqNode is Degraded."""


class AdoptionPolicy(StrEnum):
    """What happens when an object of the same name exists that the operator did not create."""

    RETAIN = "Retain"
    """The object is applied and marked with lynq.sh/adopted. When its row or resource is removed,
    only the fields and marks of the operator are removed; the object stays."""
    OWN = "Own"
    """The object is treated as if the operator had created it: deletionPolicy applies."""
    REFUSE = "Refuse"
    """The object is not changed, and the conflict is reported."""


class PatchStrategy(StrEnum):
    """How a resource is applied."""

    APPLY = "apply"
    """Server-side apply: the operator owns only the fields of the manifest."""
    MERGE = "merge"
    """JSON merge patch (RFC 7386) of the live object: lists are replaced as a whole."""
    REPLACE = "replace"
    """The live object is replaced: fields that are not in the manifest are removed."""


class TResource(Wire, frozen=True, kw_only=True):
    """One Kubernetes object per row: a templated manifest, and its policies.

    Templates are Go text/template with the sprig functions. Their variables are .uid, .activate,
    .hubId, .templateRef and one per entry of the hub's extraValueMappings.
    """

    id: str
    """Name of the resource, unique over all lists of the form. It is referenced in dependIds, and
    identifies the resource in status.resources and events of the LynqNode."""

    spec: dict[str, Any]
    """The manifest: a complete Kubernetes object with apiVersion and kind. Every string in it can
    be a template. A string that is only a template ending in int, float or bool gives a value of
    that type, for example replicas: "{{ .replicas | int }}". Prefer nameTemplate and
    targetNamespace for name and namespace."""

    depend_ids: tuple[str, ...] = ()
    """Ids of the resources that must be ready before this one is applied. On deletion the order is
    reversed. An unknown id or a cycle makes the form invalid."""

    skip_on_dependency_failure: bool = True
    """If true, this resource is skipped when a dependency failed, and counted in skippedResources.
    If false, it is applied nevertheless. Defaults to true."""

    creation_policy: CreationPolicy = CreationPolicy.WHEN_NEEDED
    """How often the resource is applied. Defaults to WhenNeeded."""

    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    """What happens to the object when its row or this resource is removed. Defaults to Delete. Only
    objects that the operator owns are deleted."""

    conflict_policy: ConflictPolicy = ConflictPolicy.STUCK
    """What happens when another manager owns a field that this manifest sets. Defaults to
    Stuck."""

    adoption_policy: AdoptionPolicy | None = None
    """What happens when the object existed before the operator first applied it. Defaults to
    Retain, and for a Namespace to Refuse. It takes effect when the object is first applied; later
    only a change from Retain to Own does."""

    name_template: str = ""
    """Template of the object's name, for example "{{ .uid }}-web". The rendered name must be valid;
    use trunc63 to shorten it. Defaults to metadata.name of the manifest."""

    target_namespace: str = ""
    """Template of the object's namespace, for example "tenant-{{ .uid }}". Defaults to the
    LynqNode's namespace. Ignored for cluster-scoped kinds. Objects in other namespaces are tracked
    by labels instead of an owner reference."""

    labels_template: dict[str, str] = field(default_factory=dict)
    """Labels of the object; the values are templates. They override labels of the manifest."""

    annotations_template: dict[str, str] = field(default_factory=dict)
    """Annotations of the object; the values are templates. They override annotations of the
    manifest."""

    wait_for_ready: bool = True
    """If true, the resource is ready, and its dependents are applied, when the readiness rule of
    its kind holds. If false, it is ready once applied. Defaults to true."""

    timeout_seconds: Annotated[Int32, Meta(ge=1, le=3600)] = 300
    """Maximum time in seconds for the resource to become ready after a change. After that the
    resource is Failed until it becomes ready. Defaults to 300."""

    patch_strategy: PatchStrategy = PatchStrategy.APPLY
    """How the resource is applied. Defaults to apply."""

    ignore_fields: tuple[str, ...] = ()
    """JSONPath of fields that other controllers own once the object exists, for example
    "$.spec.replicas" with a HorizontalPodAutoscaler. The manifest's value is used on creation, and
    the live value is kept afterwards."""


Resources = tuple[TResource, ...]


class ResourceLists(Wire, frozen=True, kw_only=True):
    """The resources of a form or node, one list per kind."""

    # A base class, because these fields are part of the spec of both kinds. Their order is the
    # canonical order of resources.

    service_accounts: Resources = ()
    """ServiceAccounts. Ready as soon as they exist."""

    deployments: Resources = ()
    """Deployments. Ready when the current generation is rolled out and every desired replica is
    updated, ready and available. With zero replicas, ready when no replica is left."""

    stateful_sets: Resources = ()
    """StatefulSets. Ready when the current generation is rolled out and every desired replica is
    current, updated and ready. Their PersistentVolumeClaims are not deleted with the row, unless
    persistentVolumeClaimRetentionPolicy is set."""

    daemon_sets: Resources = ()
    """DaemonSets. Ready when the current generation is available on every scheduled Kubernetes
    node."""

    services: Resources = ()
    """Services. Ready as soon as they exist; with type LoadBalancer, when they have an address."""

    ingresses: Resources = ()
    """Ingresses. Ready when they have a rule or an address."""

    config_maps: Resources = ()
    """ConfigMaps. Ready as soon as they exist. Values in data and binaryData are always text, even
    if a template ends in int, float or bool."""

    secrets: Resources = ()
    """Secrets. Ready as soon as they exist. Their contents are never part of events, status, logs
    or metrics."""

    persistent_volume_claims: Resources = ()
    """PersistentVolumeClaims. Ready when bound. With volumeBindingMode WaitForFirstConsumer the
    consumer of the claim must not depend on it, or both wait for each other."""

    jobs: Resources = ()
    """Jobs. Ready when complete; a failed Job is a failed resource. A Job's pod template is
    immutable, so use creationPolicy Once."""

    cron_jobs: Resources = ()
    """CronJobs. Ready as soon as they exist, regardless of their Jobs."""

    pod_disruption_budgets: Resources = ()
    """PodDisruptionBudgets. Ready as soon as they exist."""

    network_policies: Resources = ()
    """NetworkPolicies. Ready as soon as they exist. A policy that workloads depend on is applied
    before their first pod starts."""

    horizontal_pod_autoscalers: Resources = ()
    """HorizontalPodAutoscalers. Ready when they can scale their target. Set ignoreFields:
    ["$.spec.replicas"] on the target, so that the operator does not revert the number of
    replicas."""

    namespaces: Resources = ()
    """Namespaces, for example one per row. Ready when Active. Resources with the namespace as
    targetNamespace should depend on it."""

    manifests: Resources = ()
    """Objects of any other kind, including custom resources, for example a Certificate or an
    ExternalSecret. Ready when the condition Ready or Available is True; objects without conditions
    are ready as soon as they exist. The operator needs RBAC permissions for the kind."""


RESOURCE_LISTS: Final = tuple((item.name, item.encode_name) for item in fields(ResourceLists))
"""Attribute name and JSON name of each list, in the canonical order."""


_lists_of: Final = attrgetter(*(name for name, _ in RESOURCE_LISTS))
_JSON_NAMES: Final = tuple(json_name for _, json_name in RESOURCE_LISTS)


def resources_by_list(lists: ResourceLists) -> Iterator[tuple[str, Resources]]:
    """Return the JSON name and the resources of each list, in the canonical order."""
    return zip(_JSON_NAMES, _lists_of(lists), strict=True)


def all_resources(lists: ResourceLists) -> Resources:
    """Return the resources of all lists in the canonical order."""
    return tuple(chain.from_iterable(_lists_of(lists)))
