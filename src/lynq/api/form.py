"""LynqForm: the blueprint of what every row of a hub gets."""

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


class Rollout(Wire, frozen=True, kw_only=True):
    """How fast a changed form reaches the nodes."""

    max_skew: Annotated[Int32, Meta(ge=0), default(0)] = 0
    """How many nodes may be on their way at once: written with the new form, but not ready yet.
    The next one follows the moment one of them is ready. New rows count too. 0, the default,
    means all at once."""

    progress_deadline_seconds: Annotated[Int32, Meta(ge=60, le=3600)] = 600
    """How long a rollout may go on without progress, in seconds: no further node becoming ready.
    Then its phase is Failed, until a node becomes ready, is repaired by its row, or the form is
    changed. Nodes that are not ready keep counting against maxSkew. Defaults to 600."""


class FormSpec(ResourceLists, frozen=True, kw_only=True):
    """The hub whose rows are taken, and the resources that each of them gets."""

    lists_keyed_by: ClassVar[str | None] = "id"

    hub_id: Annotated[str, rule("self == oldSelf", "hubId is immutable")]
    """Name of the LynqHub, in the same namespace, whose rows are taken. It cannot be changed:
    make another form instead, and delete this one."""

    rollout: Rollout | None = None
    """How fast changes reach the nodes. Without this block all nodes are changed at once."""

    paused: bool = False
    """If true, changes of rows and of this form are not handed on to its nodes, and none are made
    or removed, until it is set back. Shown in the condition Paused."""

    service_account_name: Annotated[str, Meta(max_length=253, pattern=_SUBDOMAIN)] | None = None
    """ServiceAccount, in the form's namespace, as which the resources are written and deleted, so
    that the form can do no more than this account may. Without it the operator's own rights
    hold."""

    allowed_namespaces: tuple[NamespacePattern, ...] = ()
    """Namespaces that targetNamespace may lead to, by name or with * for any characters, for
    example tenant-*. A resource meant for another namespace fails. The form's own namespace is
    always allowed. An empty list allows all that the operator allows."""


class RolloutPhase(StrEnum):
    """How far a rollout has come."""

    IDLE = "Idle"
    """No node has the new form yet."""
    IN_PROGRESS = "InProgress"
    """Some nodes have it, and not all of them are ready."""
    FAILED = "Failed"
    """No node became ready within progressDeadlineSeconds."""
    COMPLETE = "Complete"
    """All nodes have it and are ready."""


class RolloutStatus(Wire, frozen=True, kw_only=True):
    """The rollout of the form's present generation."""

    phase: RolloutPhase | None = None
    """How far the rollout has come."""

    target_generation: Int64 = 0
    """The form's generation that is being rolled out."""

    total_nodes: Int32 = 0
    """Number of nodes of this form."""

    updated_nodes: Int32 = 0
    """Number of nodes that have been written with the target generation."""

    updating_nodes: Int32 = 0
    """Number of updated nodes that are not ready yet: never more than maxSkew."""

    ready_updated_nodes: Int32 = 0
    """Number of updated nodes that are ready."""

    start_time: Time | None = None
    """When this rollout began."""

    completion_time: Time | None = None
    """When the last node became ready. Absent while the rollout goes on."""

    message: str = ""
    """The state of the rollout in words, with the node that holds it up, if there is one."""


class FormStatus(Wire, frozen=True, kw_only=True):
    """Whether the form is valid, and how many nodes are ready. Written by the operator only."""

    observed_generation: Int64 = 0
    """The metadata.generation of the form that this status speaks about."""

    total_nodes: Int32 = 0
    """Number of nodes of this form, one per active row."""

    ready_nodes: Int32 = 0
    """Number of nodes of this form that are Ready."""

    rollout: RolloutStatus | None = None
    """The rollout of the present generation. Absent unless spec.rollout limits it."""

    conditions: Conditions = ()
    """Valid: the form can be used; if not, its nodes stay as they are and the message says why.
    Applied: all of its nodes are ready. Paused: spec.paused is set."""


class LynqForm(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The blueprint of what every active row of a hub gets.

    A LynqForm holds templates of Kubernetes objects, in one list per kind, with their policies
    and the order in which they depend on each other. A hub can have many forms; each makes one
    LynqNode per active row, named after the row's uid and the form.
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
