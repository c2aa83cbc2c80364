"""The words for scripts: types and reasons of conditions, reasons of events and of rejections.

Alerts, dashboards and test suites compare them, so they are part of the contract, those of the
Go operator included. Each is spelt here once.
"""

from enum import StrEnum


class ConditionType(StrEnum):
    """Which aspect of a hub, form or node a condition is about."""

    READY = "Ready"
    """Hub: the last read succeeded. Node: all resources are ready."""
    DELETION_HELD = "DeletionHeld"
    """Hub: the deletion guard keeps nodes whose rows have vanished."""
    PUSH_CONNECTED = "PushConnected"
    """Hub: the channel of `changes: Push` is up."""
    PAUSED = "Paused"
    """Any kind: nothing is changed until a person lets it go on."""
    VALID = "Valid"
    """Form: it can be used."""
    APPLIED = "Applied"
    """Form: all of its nodes are ready."""
    PROGRESSING = "Progressing"
    """Node: resources are being written."""
    CONFLICTED = "Conflicted"
    """Node: someone else owns a field of a resource."""
    DEGRADED = "Degraded"
    """Node: something needs attention."""


class ConditionReason(StrEnum):
    """Why a condition has its status."""

    # Hub, Ready
    DATABASE_CONNECTED = "DatabaseConnected"
    """All rows were read."""
    DATABASE_CONNECTION_FAILED = "DatabaseConnectionFailed"
    """The rows could not be read completely; nothing was changed."""
    # Hub, DeletionHeld
    DELETION_GUARD_EXCEEDED = "DeletionGuardExceeded"
    """More nodes would go than the guard allows; they wait for approval."""
    WITHIN_LIMITS = "WithinLimits"
    """The guard holds nothing."""
    # Hub, PushConnected
    CHANNEL_CONNECTED = "ChannelConnected"
    """The database tells of changes as they happen."""
    CHANNEL_LOST = "ChannelLost"
    """The channel is down and being set up again; polling goes on."""
    # All kinds, Paused
    PAUSED = "Paused"
    """A person asked for it."""
    NOT_PAUSED = "NotPaused"
    """Work goes on as usual."""
    # Form, Valid
    VALIDATION_PASSED = "ValidationPassed"
    """The form can be used."""
    VALIDATION_FAILED = "ValidationFailed"
    """The form cannot be used; the message lists why."""
    # Form, Applied
    NO_NODES = "NoNodes"
    """The form has no node yet."""
    ALL_NODES_READY = "AllNodesReady"
    """Every node is ready."""
    NOT_ALL_NODES_READY = "NotAllNodesReady"
    """Some nodes are not ready."""
    # Node, Ready
    RECONCILED = "Reconciled"
    """All resources are ready."""
    RESOURCES_FAILED_AND_CONFLICTED = "ResourcesFailedAndConflicted"
    """Resources failed and resources are in conflict; a conflict counts as both."""
    RESOURCES_CONFLICTED = "ResourcesConflicted"
    """Resources are in conflict with another owner."""
    RESOURCES_FAILED = "ResourcesFailed"
    """Resources failed."""
    NOT_ALL_RESOURCES_READY = "NotAllResourcesReady"
    """Nothing failed, and not everything is ready yet."""
    # Node, Ready and Degraded: nothing could be tried
    VARIABLES_BUILD_ERROR = "VariablesBuildError"
    """The row's values in the node's annotations cannot be read."""
    DEPENDENCY_ERROR = "DependencyError"
    """Ready: ids or dependIds make no graph."""
    DEPENDENCY_CYCLE = "DependencyCycle"
    """Degraded: ids or dependIds make no graph."""
    # Node, Progressing
    RECONCILING = "Reconciling"
    """Resources are being written."""
    RECONCILE_COMPLETE = "ReconcileComplete"
    """There is nothing left to write."""
    # Node, Conflicted
    RESOURCE_CONFLICT = "ResourceConflict"
    """Another manager owns a field that a resource sets."""
    NO_CONFLICT = "NoConflict"
    """Nobody else claims our fields."""
    # Node, Degraded
    RESOURCE_FAILURES_AND_CONFLICTS = "ResourceFailuresAndConflicts"
    """Resources failed and resources are in conflict."""
    RESOURCE_FAILURES = "ResourceFailures"
    """Resources failed."""
    RESOURCE_CONFLICTS = "ResourceConflicts"
    """Resources are in conflict."""
    RESOURCES_NOT_READY = "ResourcesNotReady"
    """Resources are not ready, or not yet."""
    HEALTHY = "Healthy"
    """Nothing needs attention."""


class OrphanReason(StrEnum):
    """Why a retained object is an orphan: the value of `lynq.sh/orphaned-reason`."""

    REMOVED_FROM_TEMPLATE = "RemovedFromTemplate"
    """Its entry left the form."""
    LYNQ_NODE_DELETED = "LynqNodeDeleted"
    """Its node was deleted."""


class RejectionReason(StrEnum):
    """Why a row was set apart: the reason in `status.rejectedRows` and in the metric."""

    EMPTY_UID = "EmptyUid"
    """The uid is NULL or empty."""
    INVALID_UID = "InvalidUid"
    """The uid cannot be a label's value, or is over 63 characters."""
    INVALID_NODE_NAME = "InvalidNodeName"
    """`{uid}-{form}` is no DNS subdomain, or over 253 characters."""
    DUPLICATE_UID = "DuplicateUid"
    """Another row with other values has the same uid."""
    NODE_NAME_TAKEN = "NodeNameTaken"
    """Another pair of row and form gives the same node name."""
    VALUES_TOO_LARGE = "ValuesTooLarge"
    """The row's values are over 200 KiB."""
