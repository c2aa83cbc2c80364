"""Events of the core before they are recorded, and their reasons.

Alerts, dashboards and test suites compare the reasons: they are part of the contract, and include
those of the Go operator.
"""

from dataclasses import dataclass
from enum import StrEnum


class EventReason(StrEnum):
    """The reason of an event."""

    # On hubs
    DATABASE_QUERY_FAILED = "DatabaseQueryFailed"
    """The rows could not be read."""
    TEMPLATE_RENDER_FAILED = "TemplateRenderFailed"
    """A name, label or annotation template failed, so that a node was not written."""
    ROLLOUT_THROTTLED = "RolloutThrottled"
    """Nodes wait because of maxSkew."""
    ROW_REJECTED = "RowRejected"
    """A row was rejected."""
    DELETION_HELD = "DeletionHeld"
    """The deletion guard holds deletions until they are approved."""
    DELETION_BLOCKED = "DeletionBlocked"
    """The annotation lynq.sh/protect blocks the deletion of a hub, form or node."""
    LYNQ_NODE_DELETING = "LynqNodeDeleting"
    """A node is about to be deleted, because its row or form does not exist."""
    LYNQ_NODE_DELETED = "LynqNodeDeleted"
    """A node was deleted; on the node itself: its finalizer is done."""
    LYNQ_NODE_DELETION_FAILED = "LynqNodeDeletionFailed"
    """A node could not be deleted."""
    LYNQ_NODE_WRITE_FAILED = "LynqNodeWriteFailed"
    """The API server rejected the write of a node."""
    WAITING_FOR_KEY = "WaitingForKey"
    """The installation key is missing, so that no node is written or deleted."""
    CLEANUP_FAILED = "CleanupFailed"
    """The finalizer of a hub failed and is retried."""
    RETAIN_RESOURCE_PROCESS_FAILED = "RetainResourceProcessFailed"
    """An object could not be retained while its hub was being deleted."""
    # On nodes, from the hub
    TEMPLATE_APPLIED = "TemplateApplied"
    """The node was written for a new generation of its form."""
    DATA_UPDATED = "DataUpdated"
    """The node was written for new values of its row."""
    DRIFT_CORRECTED = "DriftCorrected"
    """A manual edit of the node was reverted."""
    RETAIN_RESOURCE_PRESERVED = "RetainResourcePreserved"
    """An object was retained while the hub was being deleted."""
    # On forms
    HUB_NOT_FOUND = "HubNotFound"
    """The form's hub does not exist."""
    DUPLICATE_RESOURCE_IDS = "DuplicateResourceIDs"
    """Two resources of the form have the same id."""
    DEPENDENCY_VALIDATION_FAILED = "DependencyValidationFailed"
    """Ids or dependIds are invalid."""
    VALIDATION_FAILED = "ValidationFailed"
    """The form became invalid."""
    VALIDATION_PASSED = "ValidationPassed"
    """The form became valid."""
    # On nodes
    TEMPLATE_RESOURCES_APPLYING = "TemplateResourcesApplying"
    """Resources were applied, and others wait for them."""
    TEMPLATE_APPLIED_SUCCESS = "TemplateAppliedSuccess"
    """All resources are applied; the message counts those that are ready."""
    TEMPLATE_APPLIED_PARTIAL = "TemplateAppliedPartial"
    """Some writes of a reconcile failed."""
    TEMPLATE_RENDER_ERROR = "TemplateRenderError"
    """A resource's manifest could not be rendered."""
    APPLY_FAILED = "ApplyFailed"
    """A resource could not be applied."""
    FORCE_APPLY = "ForceApply"
    """A field was taken over from another manager."""
    RESOURCE_CONFLICT = "ResourceConflict"
    """Another manager owns a field that a resource sets."""
    DEPENDENCY_ERROR = "DependencyError"
    """The dependencies of the node's resources are invalid; the message names a cycle."""
    DEPENDENCY_SKIPPED = "DependencySkipped"
    """A resource was skipped because a dependency failed."""
    DEPENDENCY_FAILED_BUT_PROCEEDING = "DependencyFailedButProceeding"
    """A resource was applied although a dependency failed."""
    READINESS_TIMEOUT = "ReadinessTimeout"
    """A resource was not ready within timeoutSeconds."""
    RESOURCE_FAILED = "ResourceFailed"
    """A resource reports a failure: a failed Job, a rollout past its deadline."""
    LYNQ_NODE_READY = "LynqNodeReady"
    """The node became ready, and no object had to be changed for it."""
    RESOURCE_ADOPTED = "ResourceAdopted"
    """An object that existed before is applied."""
    ADOPTED_RESOURCE_RELEASED = "AdoptedResourceReleased"
    """An object that existed before stays without the fields and marks of the operator."""
    ORPHANED_RESOURCE_DELETED = "OrphanedResourceDeleted"
    """An object that was removed from the form was deleted."""
    ORPHANED_RESOURCE_RETAINED = "OrphanedResourceRetained"
    """An object that was removed from the form was retained."""
    RESOURCE_RETAINED = "ResourceRetained"
    """An object was retained when its node was deleted."""
    CLEANUP_PARTIAL_FAILURE = "CleanupPartialFailure"
    """Some objects of a deleted node still exist."""
    # On managed objects
    ORPHAN_MARKERS_ADDED = "OrphanMarkersAdded"
    """The object was retained and marked as an orphan."""
    ORPHAN_MARKERS_REMOVED = "OrphanMarkersRemoved"
    """The object was adopted again."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    reason: EventReason
    message: str
    warns: bool = False
    """Whether the event type is Warning instead of Normal."""
