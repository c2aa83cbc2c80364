"""Events of the core before they are recorded, and their reasons.

Alerts, dashboards and test suites compare the reasons: they are part of the contract, and include
those of the Go operator.
"""

from dataclasses import dataclass
from enum import StrEnum


class EventReason(StrEnum):
    """What an event tells of."""

    # On hubs
    DATABASE_QUERY_FAILED = "DatabaseQueryFailed"
    """The rows could not be read."""
    TEMPLATE_RENDER_FAILED = "TemplateRenderFailed"
    """A name, label or annotation template failed, so a node was not written."""
    ROLLOUT_THROTTLED = "RolloutThrottled"
    """Nodes wait for a free place under maxSkew."""
    ROW_REJECTED = "RowRejected"
    """A row could not be used."""
    DELETION_HELD = "DeletionHeld"
    """The deletion guard holds removals until they are approved."""
    LYNQ_NODE_DELETING = "LynqNodeDeleting"
    """A node is about to be deleted, because its row or form is gone."""
    LYNQ_NODE_DELETED = "LynqNodeDeleted"
    """A node was deleted; on the node itself: its clean-up is done."""
    LYNQ_NODE_DELETION_FAILED = "LynqNodeDeletionFailed"
    """A node could not be deleted."""
    LYNQ_NODE_WRITE_FAILED = "LynqNodeWriteFailed"
    """The API server refuses a node as its row and form want it."""
    CLEANUP_FAILED = "CleanupFailed"
    """The clean-up of a deleted hub failed and will be tried again."""
    RETAIN_RESOURCE_PROCESS_FAILED = "RetainResourceProcessFailed"
    """An object could not be retained while its hub was being deleted."""
    # On nodes, from the hub
    TEMPLATE_APPLIED = "TemplateApplied"
    """The node was written for a new generation of its form."""
    DATA_UPDATED = "DataUpdated"
    """The node was written for new values of its row."""
    DRIFT_CORRECTED = "DriftCorrected"
    """The node was edited by hand, and written as it should be."""
    RETAIN_RESOURCE_PRESERVED = "RetainResourcePreserved"
    """An object was retained while the hub was being deleted."""
    # On forms
    HUB_NOT_FOUND = "HubNotFound"
    """The form's hub does not exist."""
    DUPLICATE_RESOURCE_IDS = "DuplicateResourceIDs"
    """Two resources of the form have one id."""
    DEPENDENCY_VALIDATION_FAILED = "DependencyValidationFailed"
    """Ids or dependIds make no graph."""
    VALIDATION_FAILED = "ValidationFailed"
    """A form that was valid no longer is."""
    VALIDATION_PASSED = "ValidationPassed"
    """A form has become valid."""
    # On nodes
    TEMPLATE_RESOURCES_APPLYING = "TemplateResourcesApplying"
    """The first write of a pass."""
    TEMPLATE_APPLIED_SUCCESS = "TemplateAppliedSuccess"
    """All writes of a pass succeeded."""
    TEMPLATE_APPLIED_PARTIAL = "TemplateAppliedPartial"
    """Some writes of a pass failed."""
    TEMPLATE_RENDER_ERROR = "TemplateRenderError"
    """A resource's manifest could not be rendered."""
    APPLY_FAILED = "ApplyFailed"
    """A resource could not be written."""
    FORCE_APPLY = "ForceApply"
    """A field was taken over from another manager."""
    RESOURCE_CONFLICT = "ResourceConflict"
    """Another manager owns a field that a resource sets."""
    DEPENDENCY_ERROR = "DependencyError"
    """The node's resources make no graph; a circle is named."""
    DEPENDENCY_SKIPPED = "DependencySkipped"
    """A resource was skipped, because something it depends on has failed."""
    DEPENDENCY_FAILED_BUT_PROCEEDING = "DependencyFailedButProceeding"
    """A resource was written although something it depends on has failed."""
    READINESS_TIMEOUT = "ReadinessTimeout"
    """A resource was not ready within timeoutSeconds."""
    RESOURCE_FAILED = "ResourceFailed"
    """A resource itself says that it has failed: a Job, a rollout past its deadline."""
    LYNQ_NODE_READY = "LynqNodeReady"
    """The node has become ready."""
    ORPHANED_RESOURCE_DELETED = "OrphanedResourceDeleted"
    """An object that left the form was deleted."""
    ORPHANED_RESOURCE_RETAINED = "OrphanedResourceRetained"
    """An object that left the form was retained."""
    RESOURCE_RETAINED = "ResourceRetained"
    """An object was retained when its node was deleted."""
    CLEANUP_PARTIAL_FAILURE = "CleanupPartialFailure"
    """Some objects of a deleted node are still there."""
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
