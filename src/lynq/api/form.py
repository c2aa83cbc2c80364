"""LynqForm: the resources that are created for every row of a hub."""

from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Meta, Struct, field

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
    rule,
)

_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

NamespacePattern = Annotated[
    str, Meta(min_length=1, max_length=63, pattern="^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$")
]

ClusterKind = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=253,
        pattern=r"^[A-Z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
]


class Rollout(Wire, frozen=True, kw_only=True):
    """Limits of the rollout of a changed form."""

    max_skew: Annotated[Int32, Meta(ge=0), default(0)] = 0
    """Maximum number of LynqNodes that are updated to the new form and not Ready yet. The next
    LynqNode is updated as soon as one of them is Ready. Beside them, as many LynqNodes may be in
    progress for new or changed rows. 0, the default, means all at once."""

    progress_deadline_seconds: Annotated[Int32, Meta(ge=60, le=3600)] = 600
    """Maximum time in seconds in which no further LynqNode becomes Ready. After that the phase of
    the rollout is Failed, until a LynqNode becomes Ready, is fixed by a change of its row, or the
    form changes. Updated LynqNodes that are not Ready still count against maxSkew. LynqNodes that
    are not Ready after a change of their row do not after this time. Defaults to 600."""


class FormSpec(ResourceLists, frozen=True, kw_only=True):
    """The hub, and the resources that are created for each of its active rows."""

    lists_keyed_by: ClassVar[str | None] = "id"

    hub_id: Annotated[str, rule("self == oldSelf", "hubId is immutable")]
    """Name of the LynqHub in the same namespace. It cannot be changed: create another LynqForm
    instead, and delete this one."""

    rollout: Rollout | None = None
    """Limits of the rollout of changes. Without this block all LynqNodes are updated at once."""

    paused: bool = False
    """If true, LynqNodes of this form are neither created, updated nor deleted. Reported in the
    condition Paused."""

    service_account_name: Annotated[str, Meta(max_length=253, pattern=_SUBDOMAIN)] | None = None
    """ServiceAccount in the form's namespace that the operator impersonates to apply and delete the
    resources, so that the permissions of this account apply. Without it the operator's own
    permissions apply."""

    allowed_namespaces: tuple[NamespacePattern, ...] = ()
    """Namespaces that targetNamespace may render to, by name or with * for any characters, for
    example tenant-*. A resource in another namespace fails. The form's own namespace is always
    allowed. An empty list allows every namespace that the operator allows."""

    allowed_cluster_kinds: tuple[ClusterKind, ...] = ()
    """Cluster-scoped kinds that resources may have, each as Kind or Kind.group, for example
    Namespace or PriorityClass.scheduling.k8s.io. A resource of another cluster-scoped kind fails.
    An empty list allows every kind that the operator allows, or only Namespace if allowedNamespaces
    is set."""


class RolloutPhase(StrEnum):
    """The phase of a rollout."""

    IDLE = "Idle"
    """No LynqNode is updated yet."""
    IN_PROGRESS = "InProgress"
    """Some LynqNodes are updated, and not all of them are Ready."""
    FAILED = "Failed"
    """No LynqNode became Ready within progressDeadlineSeconds."""
    COMPLETE = "Complete"
    """All LynqNodes are updated and Ready."""


class RolloutStatus(Wire, frozen=True, kw_only=True):
    """The rollout of the form's current generation."""

    phase: RolloutPhase | None = None
    """Phase of the rollout."""

    target_generation: Int64 = 0
    """The metadata.generation of the form that is rolled out."""

    total_nodes: Int32 = 0
    """Number of LynqNodes of this form."""

    updated_nodes: Int32 = 0
    """Number of LynqNodes that are updated to the target generation."""

    updating_nodes: Int32 = 0
    """Number of LynqNodes that the form change has updated and that are not Ready yet: never more
    than maxSkew."""

    ready_updated_nodes: Int32 = 0
    """Number of updated LynqNodes that are Ready."""

    start_time: Time | None = None
    """Start time of the rollout."""

    completion_time: Time | None = None
    """Time at which the last LynqNode became Ready. Absent while the rollout is in progress."""

    message: str = ""
    """Human-readable state of the rollout, with the LynqNode that it waits for, if any."""


class FormStatus(Wire, frozen=True, kw_only=True):
    """The observed state of the form, written by the operator."""

    observed_generation: Int64 = 0
    """The metadata.generation of the form that this status is based on."""

    total_nodes: Int32 = 0
    """Number of LynqNodes of this form, one per active row."""

    ready_nodes: Int32 = 0
    """Number of LynqNodes of this form that are Ready."""

    rollout: RolloutStatus | None = None
    """The rollout of the current generation. Absent unless spec.rollout limits it."""

    retained_ids: tuple[str, ...] = ()
    """Ids of resources whose last deletionPolicy is Retain. Ids that left the form stay until no
    LynqNode has an object of theirs: it is retained even if its LynqNode skipped the generation
    that said so."""

    conditions: Conditions = ()
    """Valid: the form is valid; LynqNodes of an invalid form are not changed, and the message is
    the reason. Applied: all LynqNodes of the form are Ready. Paused: spec.paused is true."""


class LynqForm(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The resources that are created for every active row of a hub.

    A LynqForm holds templates of Kubernetes objects, in one list per kind, with their policies and
    dependencies. A hub can have many forms. For each form and active row the operator creates one
    LynqNode, named after the row's uid and the form.
    """

    definition: ClassVar[Definition] = Definition(
        kind="LynqForm",
        plural="lynqforms",
        short_name="lf",
        columns=(
            PrinterColumn("Hub", ".spec.hubId"),
            count_column("Total", ".status.totalNodes"),
            count_column("Ready", ".status.readyNodes"),
            PrinterColumn("Rollout", ".status.rollout.phase"),
            count_column("Updating", ".status.rollout.updatingNodes"),
            condition_column("Applied", of="Applied", show="status"),
            condition_column("Valid", of="Valid", show="status", wide=True),
            condition_column("Message", of="Valid", show="message", wide=True),
            AGE_COLUMN,
        ),
    )

    api_version: str = API_VERSION
    kind: str = "LynqForm"
    metadata: Metadata = field(default_factory=Metadata)
    spec: FormSpec
    status: FormStatus = FormStatus()
