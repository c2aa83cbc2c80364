"""The choices that a form makes for each of its resources."""

from enum import StrEnum


class CreationPolicy(StrEnum):
    """How often a resource is written."""

    ONCE = "Once"
    """Created if it is not there, never written again: for set-up Jobs and generated passwords."""
    WHEN_NEEDED = "WhenNeeded"
    """Written whenever the row, the form or the live object changes."""


class DeletionPolicy(StrEnum):
    """What becomes of a resource that is no longer wanted."""

    DELETE = "Delete"
    """Deleted when the row goes, or when the resource is taken out of the form."""
    RETAIN = "Retain"
    """Left in the cluster with the label lynq.sh/orphaned: "true"; adopted again if it comes
    back."""


class ConflictPolicy(StrEnum):
    """What happens when someone else owns a field that Lynq wants to set."""

    FORCE = "Force"
    """Lynq takes the field over. Only with patchStrategy apply."""
    STUCK = "Stuck"
    """The resource is left alone, the conflict is reported, and the node is Degraded."""


class PatchStrategy(StrEnum):
    """How a resource is written."""

    APPLY = "apply"
    """Server-side apply: Lynq owns only the fields it names; other controllers keep theirs."""
    MERGE = "merge"
    """JSON merge patch (RFC 7386) over the live object: lists are replaced as a whole."""
    REPLACE = "replace"
    """The live object is replaced: whatever the manifest does not name is gone."""
