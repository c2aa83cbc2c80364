"""Types and reasons of conditions, and reasons of resources, orphans and rejected rows.

Alerts, dashboards and test suites compare them: they are part of the contract, and include those of
the Go operator.
"""

from enum import StrEnum


class ConditionType(StrEnum):
    """The type of a condition of a hub, form or node."""

    READY = "Ready"
    """Hub: the last read succeeded. Node: all resources are ready."""
    DELETION_HELD = "DeletionHeld"
    """Hub: the deletion guard holds deletions of nodes."""
    PUSH_CONNECTED = "PushConnected"
    """Hub: the push channel of `changes: Push` is connected."""
    PAUSED = "Paused"
    """Any kind: reconciles are paused by the user."""
    VALID = "Valid"
    """Form: the spec is valid."""
    APPLIED = "Applied"
    """Form: all nodes are ready."""
    PROGRESSING = "Progressing"
    """Node: resources are being applied."""
    CONFLICTED = "Conflicted"
    """Node: another manager owns a field of a resource."""
    DEGRADED = "Degraded"
    """Node: resources failed, conflict, or are not ready."""


class ConditionReason(StrEnum):
    """The reason of a condition."""

    # Hub, Ready
    DATABASE_CONNECTED = "DatabaseConnected"
    """All rows were read."""
    DATABASE_CONNECTION_FAILED = "DatabaseConnectionFailed"
    """The rows could not be read completely; nothing was changed."""
    # Hub, DeletionHeld
    DELETION_GUARD_EXCEEDED = "DeletionGuardExceeded"
    """The sync would delete more nodes than the guard allows; it waits for approval."""
    UNIDENTIFIABLE_ROWS = "UnidentifiableRows"
    """Rows are missing since rows were read that identify no node, or their activate text is
    neither yes nor no; the deletion waits."""
    WITHIN_LIMITS = "WithinLimits"
    """The guard holds no deletions."""
    # Hub, PushConnected
    CHANNEL_CONNECTED = "ChannelConnected"
    """The database notifies the operator of changes."""
    CHANNEL_LOST = "ChannelLost"
    """The channel is disconnected and reconnects; polling continues."""
    # All kinds, Paused
    PAUSED = "Paused"
    """The user paused the object."""
    NOT_PAUSED = "NotPaused"
    """The object is reconciled."""
    # Form, Valid
    VALIDATION_PASSED = "ValidationPassed"
    """The form is valid."""
    VALIDATION_FAILED = "ValidationFailed"
    """The form is invalid; the message lists the problems."""
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
    """Resources failed and conflict; a conflict counts as both."""
    RESOURCES_CONFLICTED = "ResourcesConflicted"
    """Other managers own fields of resources."""
    RESOURCES_FAILED = "ResourcesFailed"
    """Resources failed."""
    NOT_ALL_RESOURCES_READY = "NotAllResourcesReady"
    """No resource failed, and not all are ready yet."""
    # Node, Ready and Degraded: no resource can be applied
    VARIABLES_BUILD_ERROR = "VariablesBuildError"
    """The row values in the node's annotations are invalid."""
    DEPENDENCY_ERROR = "DependencyError"
    """Ready: ids or dependIds are invalid."""
    DEPENDENCY_CYCLE = "DependencyCycle"
    """Degraded: ids or dependIds are invalid."""
    # Node, Progressing
    RECONCILING = "Reconciling"
    """Resources are being applied."""
    RECONCILE_COMPLETE = "ReconcileComplete"
    """All applicable resources are applied."""
    WAITING_FOR_HUB = "WaitingForHub"
    """The node is not signed by the operator: nothing is applied until its hub has restored it. Or
    no hub wrote it, and --allow-standalone-nodes is false."""
    WAITING_FOR_KEY = "WaitingForKey"
    """The installation key is missing: signatures cannot be checked, and nothing is applied. Hub,
    Ready: no node is written or deleted."""
    # Node, Conflicted
    RESOURCE_CONFLICT = "ResourceConflict"
    """Another manager owns a field that a resource sets."""
    NO_CONFLICT = "NoConflict"
    """There are no field conflicts."""
    # Node, Degraded
    RESOURCE_FAILURES_AND_CONFLICTS = "ResourceFailuresAndConflicts"
    """Resources failed and conflict."""
    RESOURCE_FAILURES = "ResourceFailures"
    """Resources failed."""
    RESOURCE_CONFLICTS = "ResourceConflicts"
    """Other managers own fields of resources."""
    RESOURCES_NOT_READY = "ResourcesNotReady"
    """Resources are not ready."""
    HEALTHY = "Healthy"
    """All resources are ready or progressing."""


class OrphanReason(StrEnum):
    """Why an object was retained: the value of `lynq.sh/orphaned-reason`."""

    REMOVED_FROM_TEMPLATE = "RemovedFromTemplate"
    """The resource was removed from the form."""
    LYNQ_NODE_DELETED = "LynqNodeDeleted"
    """The node was deleted."""


class RejectionReason(StrEnum):
    """Why a row was rejected: the reason in `status.rejectedRows` and in the metric."""

    EMPTY_UID = "EmptyUid"
    """The uid is NULL or empty."""
    INVALID_UID = "InvalidUid"
    """The uid is not a valid label value, or is longer than 63 characters."""
    INVALID_NODE_NAME = "InvalidNodeName"
    """`{uid}-{form}` is not a DNS subdomain, or is longer than 253 characters."""
    DUPLICATE_UID = "DuplicateUid"
    """Another row with different values has the same uid."""
    NODE_NAME_TAKEN = "NodeNameTaken"
    """Another pair of row and form has the same node name."""
    VALUES_TOO_LARGE = "ValuesTooLarge"
    """The row's values exceed 200 KiB."""
    INVALID_ACTIVATE = "InvalidActivate"
    """The text of the activate column is neither yes nor no."""


class StateReason(StrEnum):
    """Why a resource has its state: the reason in `status.resources` of a node.

    A failed resource has the reason of its event. A resource that is not ready has the reason of
    its readiness rule.
    """

    READY = "Ready"
    """The object is as desired, and ready."""
    APPLYING = "Applying"
    """The object is being written."""
    RENDERING = "Rendering"
    """Templates that take long are being rendered."""
    HELD_BACK = "HeldBack"
    """The write waits for a retry or for slower writes, or the deletion for the successor."""
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    """A resource in dependIds is not ready yet."""
    DUPLICATE_OBJECT = "DuplicateObject"
    """Two resources of the node render the same object."""
    JOB_END_UNKNOWN = "JobEndUnknown"
    """A Job with creationPolicy Once is gone, and its end was not observed."""
    DELETING = "Deleting"
    """The object is no longer desired, and is being deleted."""
    WAITING_FOR_DEPENDENTS = "WaitingForDependents"
    """The object is deleted after the objects that depend on it."""
    REMOVAL_FAILED = "RemovalFailed"
    """The object could not be deleted or released; it is retried."""


class ReadinessReason(StrEnum):
    """Why an object is not ready: the reason in `status.resources` of a node.

    A reason that the object's own controller reports takes precedence.
    """

    READY = "Ready"
    """The object is ready."""
    DELETING = "Deleting"
    """The object is being deleted, by the operator or by another client."""
    GENERATION_NOT_OBSERVED = "GenerationNotObserved"
    """The object's controller has not observed the latest generation."""
    # Workloads
    REPLICAS_NOT_READY = "ReplicasNotReady"
    """Fewer replicas or pods than desired are updated, ready or available."""
    REPLICA_FAILURE = "ReplicaFailure"
    """Pods of the workload cannot be created, for example because of a quota."""
    PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
    """The rollout of a Deployment exceeded progressDeadlineSeconds."""
    PAUSED = "Paused"
    """The rollout of a Deployment is paused by its spec."""
    POD_NOT_READY = "PodNotReady"
    """A Pod is not scheduled, or its containers are not ready."""
    POD_FAILED = "PodFailed"
    """A Pod has the phase Failed."""
    JOB_NOT_COMPLETE = "JobNotComplete"
    """A Job has fewer completions than desired."""
    JOB_SUSPENDED = "JobSuspended"
    """A Job is suspended by its spec."""
    JOB_FAILED = "JobFailed"
    """A Job failed."""
    # Other built-in kinds
    NO_ADDRESS = "NoAddress"
    """A Service of type LoadBalancer or an Ingress has no address."""
    CLAIM_NOT_BOUND = "ClaimNotBound"
    """A PersistentVolumeClaim is not bound."""
    NAMESPACE_NOT_ACTIVE = "NamespaceNotActive"
    """A Namespace is not active."""
    UNABLE_TO_SCALE = "UnableToScale"
    """A HorizontalPodAutoscaler cannot scale its target, or has not reported yet."""
    NOT_ESTABLISHED = "NotEstablished"
    """The API server does not serve the kind of a CustomResourceDefinition yet."""
    NAMES_NOT_ACCEPTED = "NamesNotAccepted"
    """The names of a CustomResourceDefinition are taken by another one."""
    # Custom resources
    STALLED = "Stalled"
    """The condition Stalled is True: the controller has given up."""
    RECONCILING = "Reconciling"
    """The condition Reconciling is True."""
    NOT_READY = "NotReady"
    """The condition Ready, or Available, is not True."""
    CONDITION_MISSING = "ConditionMissing"
    """The object has conditions, but neither Ready nor Available."""
