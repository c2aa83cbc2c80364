"""LynqNode: the resources of one row and one form, and their status."""

from enum import StrEnum
from typing import ClassVar

from msgspec import Struct, field

from lynq.api.conditions import Conditions
from lynq.api.metadata import Metadata
from lynq.api.names import API_VERSION
from lynq.api.resource import DeletionPolicy, ResourceLists
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
)


class NodeSpec(ResourceLists, frozen=True, kw_only=True):
    """The row, the form, and the form's resources with rendered names, labels and annotations.

    Written by the hub controller, which reverts manual changes at the next sync. nameTemplate,
    labelsTemplate and annotationsTemplate are rendered; spec and targetNamespace are still
    templates.
    """

    uid: str
    """The row's uid."""

    template_ref: str
    """Name of the LynqForm in the same namespace."""


class ResourceState(StrEnum):
    """The state of one resource."""

    WAITING = "Waiting"
    """Not applied yet: a dependency is not ready."""
    PROGRESSING = "Progressing"
    """Applied, and not ready yet."""
    READY = "Ready"
    """Applied and ready."""
    FAILED = "Failed"
    """Could not be rendered or applied, or was not ready in time."""
    CONFLICTED = "Conflicted"
    """Not applied: another manager owns one of its fields, and its conflictPolicy is Stuck."""
    SKIPPED = "Skipped"
    """Not applied: a dependency failed."""
    DELETING = "Deleting"
    """No longer desired, and being deleted."""


class ResourceStatus(Wire, frozen=True, kw_only=True):
    """One object of the LynqNode: its identity, its state, and the reason of the state."""

    id: str
    """Id of the resource in the form."""

    api_version: str = ""
    """API group and version of the object, for example apps/v1."""

    kind: str
    """Kind of the object."""

    namespace: str = ""
    """Namespace of the object, empty for cluster-scoped kinds."""

    name: str
    """Name of the object, empty if its template could not be rendered."""

    state: ResourceState
    """State of the object."""

    reason: str = ""
    """Reason of the state, as a CamelCase word for programs."""

    message: str = ""
    """Human-readable reason of the state, and what to do about it."""

    deletion_policy: DeletionPolicy | None = None
    """Retain if the form says so, whether or not the object itself could be written. Absent for
    Delete."""

    since: Time | None = None
    """Time of the last transition to this state."""

    readiness_lost_at: Time | None = None
    """Time at which a ready object ceased to be ready. Its timeout is counted from then."""

    fields_digest: str = ""
    """Digest of the managed fields that the operator owned after its last write of the object. A
    different digest means that another manager took over a field, even while the operator was
    down."""

    adopted_uid: str = ""
    """The uid of the object, if it existed before and was adopted by adoptionPolicy Retain: the
    object is released, and not deleted, when it is no longer desired."""

    completed: bool = False
    """Whether a Job with creationPolicy Once has completed. It is not created again if it is
    deleted, for example by ttlSecondsAfterFinished."""


class RandomValueSource(StrEnum):
    """The source of the random values in a node's templates."""

    INSTALLATION_KEY = "InstallationKey"
    """The key in the Secret of the installation: only the operator can compute the values."""
    UID = "UID"
    """The uid of the node: readers of its objects can compute the values."""
    NONE = "None"
    """None yet: there was no key, so that templates with random values failed. The key is used as
    soon as there is one."""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """The observed state of the LynqNode, written by the operator."""

    # The owners of its fields were a sixth of a node, which the API server decoded, compared and
    # stored with every write. Only the operator writes it.
    map_type = "atomic"

    observed_generation: Int64 = 0
    """The metadata.generation of the LynqNode that this status is based on."""

    ready_resources: Int32 = 0
    """Number of resources that are ready."""

    desired_resources: Int32 = 0
    """Number of resources in spec."""

    failed_resources: Int32 = 0
    """Number of resources that failed, conflicts included."""

    skipped_resources: Int32 = 0
    """Number of resources that were skipped because a dependency failed."""

    skipped_resource_ids: tuple[str, ...] = ()
    """Ids of the skipped resources."""

    applied_resources: tuple[str, ...] = ()
    """Inventory: every object of the LynqNode, as Kind/namespace/name@id, for example
    Deployment/shop/acme-web@web."""

    last_full_reconcile_at: Time | None = None
    """Time at which all resources were last applied, changed or not. The next time is
    --force-reapply-interval later."""

    observed_update_start: str = ""
    """The annotation lynq.sh/rollout-update-start that this status is based on: the last write of
    the hub controller that the resources reflect."""

    settled_update_start: str = ""
    """The last annotation lynq.sh/rollout-update-start with which the LynqNode was Ready. A
    LynqNode that was Ready with its last write and lost it holds no slot of maxSkew."""

    last_handled_force_reconcile: str = ""
    """The last handled value of the annotation lynq.sh/force-reconcile."""

    random_source: RandomValueSource | None = None
    """Source of the random values of the templates: InstallationKey, the Secret of the
    installation. A LynqNode from before that key keeps UID, which can be computed by readers of
    its objects. None: the key did not exist yet, and no value was generated. A change replaces all
    generated values."""

    resources: tuple[ResourceStatus, ...] = ()
    """Every object of the LynqNode, with its state."""

    conditions: Conditions = ()
    """Ready: all resources are ready. Progressing: resources are being applied or are not ready
    yet. Conflicted: another manager owns a field of a resource. Degraded: resources failed,
    conflict, or are not ready. Paused: the annotation lynq.sh/paused is "true"."""


class LynqNode(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The resources of one active row and one form.

    The hub controller creates, updates and deletes LynqNodes: to add or remove a tenant, change its
    row. status.resources reports the state of every object.
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
