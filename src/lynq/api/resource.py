"""TResource: one entry of a list of resources in a form or a node."""

from typing import Annotated, Any

from msgspec import Meta, field

from lynq.api.policies import ConflictPolicy, CreationPolicy, DeletionPolicy, PatchStrategy
from lynq.api.wire import Int32, Wire


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
