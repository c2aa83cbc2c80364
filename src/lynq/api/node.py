"""LynqNode: one row × one form, and the state of its resources."""

from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Struct, field

from lynq.api.conditions import Conditions
from lynq.api.metadata import Metadata
from lynq.api.names import API_VERSION
from lynq.api.resource import ResourceLists
from lynq.api.wire import (
    AGE_COLUMN,
    Definition,
    Int32,
    Int64,
    PrinterColumn,
    Time,
    Wire,
    condition_column,
    count_column,
    default,
    list_map,
)


class NodeSpec(ResourceLists, frozen=True, kw_only=True):
    """The row, the form, and the form's resources with the row's names and labels filled in.

    Written by the hub; changes made by hand are undone at the next sync. nameTemplate,
    labelsTemplate and annotationsTemplate hold the finished texts; spec and targetNamespace are
    still templates.
    """

    uid: str
    """The row's uid."""

    template_ref: str
    """Name of the LynqForm, in the same namespace."""


class ResourceState(StrEnum):
    """How far one resource has come."""

    WAITING = "Waiting"
    """Not written yet: something that it depends on is not ready."""
    PROGRESSING = "Progressing"
    """Written, and not ready yet."""
    READY = "Ready"
    """Written and ready."""
    FAILED = "Failed"
    """Could not be rendered or written, or was not ready in time."""
    CONFLICTED = "Conflicted"
    """Left alone, because someone else owns a field of it and its conflictPolicy is Stuck."""
    SKIPPED = "Skipped"
    """Not written, because something that it depends on has failed."""
    DELETING = "Deleting"
    """No longer wanted, and not gone yet."""


class ResourceStatus(Wire, frozen=True, kw_only=True):
    """One object of this node: which it is, how far it has come, and why not further."""

    id: str
    """Id of the entry in the form."""

    api_version: str = ""
    """API group and version of the object, for example apps/v1."""

    kind: str
    """Kind of the object."""

    namespace: Annotated[str, default("")] = ""
    """Namespace that the object is in, empty for kinds without one."""

    name: str
    """Name of the object, empty if its template could not be rendered."""

    state: ResourceState
    """How far the object has come."""

    reason: str = ""
    """Why it is in this state, as one CamelCase word that scripts can compare."""

    message: str = ""
    """The same for people: what is missing, and what to do about it."""

    since: Time | None = None
    """When the object came into this state."""

    fields_digest: str = ""
    """Digest of the fields that the operator owned after its last write of the object: another one
    later means that somebody took a field, also while no operator ran."""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """How far the node's resources have come. Written by the operator only."""

    observed_generation: Int64 = 0
    """The metadata.generation of the node that this status speaks about."""

    ready_resources: Int32 = 0
    """Number of resources that are ready."""

    desired_resources: Int32 = 0
    """Number of resources that the node should have."""

    failed_resources: Int32 = 0
    """Number of resources that failed, conflicts included."""

    skipped_resources: Int32 = 0
    """Number of resources that were skipped because something they depend on has failed."""

    skipped_resource_ids: tuple[str, ...] = ()
    """Ids of the skipped resources."""

    applied_resources: tuple[str, ...] = ()
    """Every object that the node answers for, as Kind/namespace/name@id, for example
    Deployment/shop/acme-web@web."""

    last_full_reconcile_at: Time | None = None
    """When all resources were last written whether they had changed or not. The next time is due
    --force-reapply-interval after it."""

    observed_update_start: str = ""
    """The annotation lynq.sh/rollout-update-start that this status speaks about: the hub's last
    write that the resources reflect."""

    last_handled_force_reconcile: str = ""
    """The value of the annotation lynq.sh/force-reconcile that was last acted upon."""

    # Not by id alone: while a renamed resource is being replaced, both objects carry the id.
    resources: Annotated[
        tuple[ResourceStatus, ...], list_map("id", "kind", "namespace", "name")
    ] = ()
    """Every object of the node: which it is, how far it has come, and why not further."""

    conditions: Conditions = ()
    """Ready: all resources are ready. Progressing: resources are being written. Conflicted:
    someone else owns a field of a resource. Degraded: something needs attention. Paused: the
    annotation lynq.sh/paused is set."""


class LynqNode(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One active row × one form, and the state of its resources.

    LynqNodes are made, changed and removed by the hub: to add or remove a tenant, change its row.
    status.resources tells of every object whether it is ready, and if not, why.
    """

    definition: ClassVar[Definition] = Definition(
        kind="LynqNode",
        plural="lynqnodes",
        short_name="ln",
        columns=(
            PrinterColumn("UID", ".spec.uid"),
            PrinterColumn("Form", ".spec.templateRef"),
            count_column("Ready", ".status.readyResources"),
            count_column("Desired", ".status.desiredResources"),
            count_column("Skipped", ".status.skippedResources"),
            condition_column("Conflicted", of="Conflicted", show="status"),
            condition_column("Conditions", of="Ready", show="reason"),
            count_column("Failed", ".status.failedResources", wide=True),
            condition_column("Message", of="Ready", show="message", wide=True),
            AGE_COLUMN,
        ),
    )

    api_version: str = API_VERSION
    kind: str = "LynqNode"
    metadata: Metadata = field(default_factory=Metadata)
    spec: NodeSpec
    status: NodeStatus = NodeStatus()
