"""The marks by which Lynq knows its objects, which no form and no row can set.

A form may well use other `lynq.sh/` keys, `lynq.sh/uid` for one. Those below decide what is written
and what is deleted, so they mean something only if they come from us.
"""

from collections.abc import Mapping
from typing import Any, Final

from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_NODE_NAME,
    ANNOTATION_ORPHANED_AT,
    ANNOTATION_ORPHANED_REASON,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    LABEL_ORPHANED,
    TRUE,
)

LABELS: Final = frozenset({LABEL_MANAGED, LABEL_NODE, LABEL_NODE_NAMESPACE, LABEL_ORPHANED})
ANNOTATIONS: Final = frozenset(
    {
        ANNOTATION_APPLIED_HASH,
        ANNOTATION_APPLY_START_TIME,
        ANNOTATION_CREATED_ONCE,
        ANNOTATION_DELETION_POLICY,
        ANNOTATION_NODE_NAME,
        ANNOTATION_ORPHANED_AT,
        ANNOTATION_ORPHANED_REASON,
    }
)
# Written by the API server alone; an apply that names managedFields is refused.
_SERVER_FIELDS: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


def merged_labels(own: Mapping[str, Any], rendered: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest's labels and the entry's, which win; every object is marked managed."""
    return {**_without({**own, **rendered}, LABELS), LABEL_MANAGED: TRUE}


def merged_annotations(own: Mapping[str, Any], rendered: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest's annotations and the entry's, which win."""
    return _without({**own, **rendered}, ANNOTATIONS)


def without_server_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without what only the API server may say."""
    return _without(metadata, _SERVER_FIELDS)


def _without(these: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in these.items() if key not in keys}
