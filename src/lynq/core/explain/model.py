"""The data types of an explanation: causes, the columns that they come from, and the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from lynq.core.node.objects import ObjectRef


class CauseKind(StrEnum):
    """Why a node, or one of its objects, is not as desired."""

    # Of an object
    CONTAINER_FAILING = "ContainerFailing"
    """A container of the workload does not start, or crashes."""
    POD_NOT_SCHEDULED = "PodNotScheduled"
    """The scheduler finds no Kubernetes node for a pod."""
    NOT_READY = "NotReady"
    """The object exists, and its readiness rule does not hold."""
    TEMPLATE_ERROR = "TemplateError"
    """A template of the resource failed."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """A ResourceQuota denies the object."""
    POLICY_DENIED = "PolicyDenied"
    """An admission webhook, policy or limit denies the object."""
    RIGHT_MISSING = "RightMissing"
    """RBAC denies the request of the operator or of the form's service account."""
    NAMESPACE_MISSING = "NamespaceMissing"
    """The namespace of the object does not exist, or is being deleted."""
    KIND_NOT_SERVED = "KindNotServed"
    """The API server does not serve the kind: its CRD is not installed."""
    WRITE_REJECTED = "WriteRejected"
    """The API server rejects the object for another reason."""
    FIELD_CONFLICT = "FieldConflict"
    """Another manager owns a field, or the object existed before."""
    OWNED_BY_ANOTHER_NODE = "OwnedByAnotherNode"
    """Another LynqNode has the object."""
    HELD_FOR_SUCCESSOR = "HeldForSuccessor"
    """The object is no longer desired, and stays until its successor is accepted."""
    DELETION_PENDING = "DeletionPending"
    """The object or the node is being deleted: finalizers, pods or dependents remain."""
    # Of the node
    PAUSED = "Paused"
    """The node, its form or its hub is paused."""
    PROTECTED = "Protected"
    """The annotation lynq.sh/protect blocks the deletion."""
    NOT_RECONCILED = "NotReconciled"
    """The operator has not reconciled the last change of the node."""
    NODE_INVALID = "NodeInvalid"
    """No resource of the node can be applied: its row values or dependIds are invalid."""
    WAITING_FOR_HUB = "WaitingForHub"
    """The node was edited, and waits until its hub has restored it."""
    WAITING_FOR_KEY = "WaitingForKey"
    """The installation key is missing: signatures of nodes cannot be checked."""
    # Of the form or the hub
    FORM_MISSING = "FormMissing"
    """The form of the node, or any form of the hub, does not exist."""
    FORM_INVALID = "FormInvalid"
    """The form is invalid, so that its nodes are not changed."""
    SOURCE_UNAVAILABLE = "SourceUnavailable"
    """The hub cannot read its rows."""
    ROW_REJECTED = "RowRejected"
    """The hub rejected the row."""
    ROLLOUT_WAITING = "RolloutWaiting"
    """The node waits for a slot of the rollout."""
    DELETION_HELD = "DeletionHeld"
    """The deletion guard of the hub holds deletions."""


def entry_of(kind: CauseKind) -> str:
    """Return where the documentation says what a cause means and what to do about it."""
    return f"docs/troubleshooting/causes.md#{kind.lower()}"


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A field whose template reads a column of the row."""

    field: str
    """The path in the manifest, or the name of the template: nameTemplate, targetNamespace."""
    variable: str
    column: str
    """The column of the hub; empty if the hub does not map the variable."""
    value: str | None = None
    """The value in the node; None if it must not be shown, or is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One reason, the object that it concerns, and what to do about it."""

    kind: CauseKind
    subject: str
    """Kind and name of the object."""
    id: str = ""
    """The id of the resource; empty if the cause concerns no resource."""
    message: str
    since: datetime | None = None
    origins: tuple[ColumnOrigin, ...] = ()
    details: tuple[str, ...] = ()
    """What other components report about the object: warnings, exit codes."""
    waiting: tuple[str, ...] = ()
    """The resources that wait for this one, or are skipped for it."""
    next_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a node is not ready; the first cause is the most important one."""

    node: str
    """The name of the node; empty if the row has none."""
    uid: str
    form: str = ""
    hub: str = ""
    is_ready: bool = False
    ready: int = 0
    desired: int = 0
    since: datetime | None = None
    """The time of the last change of the condition Ready."""
    causes: tuple[Cause, ...] = ()
    notes: tuple[Cause, ...] = ()
    """What does not concern the readiness: a pause, a rollout that has not reached the node."""


@dataclass(frozen=True, slots=True)
class ObjectEvidence:
    """What was read about the object of a resource."""

    live: Mapping[str, Any] | None = None
    """None if the object does not exist or could not be read."""
    pods: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    """Warning events of the object and its pods, as "Reason: message", the newest first."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was read about the objects of a node."""

    objects: Mapping[ObjectRef, ObjectEvidence] = field(default_factory=dict)
    is_form_unread: bool = False
    """Whether the viewer may not read the form: then nothing is said about its absence."""

    def of(self, ref: ObjectRef) -> ObjectEvidence:
        """Return what was read about an object."""
        return self.objects.get(ref, ObjectEvidence())
