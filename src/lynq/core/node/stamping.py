"""Stamp an object with what its next reader has to know: policies, hash, start of the clock.

All stamps travel in the one write of the object, so nobody ever sees half of them.
"""

from datetime import datetime
from typing import Any

from lynq.api import CreationPolicy, TResource
from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    TRUE,
)
from lynq.api.wire import rfc3339
from lynq.core.node.live import LiveObject

Object = dict[str, Any]


def with_policies(obj: Object, resource: TResource) -> Object:
    """Return the object with the policies that must be known without its entry."""
    marks = {ANNOTATION_DELETION_POLICY: str(resource.deletion_policy)}
    if resource.creation_policy is CreationPolicy.ONCE:
        marks[ANNOTATION_CREATED_ONCE] = TRUE
    return with_annotations(obj, marks)


def with_apply_metadata(obj: Object, digest: str, live: LiveObject | None, now: datetime) -> Object:
    """Return the object as it is written; `digest` is its applied-hash.

    The clock of the readiness timeout starts anew only with another content: writing the same
    again, after a drift or every ten minutes, gives nobody more time.
    """
    known = live.annotations if live is not None else {}
    start = known.get(ANNOTATION_APPLY_START_TIME, "")
    if not start or known.get(ANNOTATION_APPLIED_HASH) != digest:
        start = rfc3339(now)
    return with_annotations(
        obj, {ANNOTATION_APPLIED_HASH: digest, ANNOTATION_APPLY_START_TIME: start}
    )


def with_annotations(obj: Object, marks: dict[str, str]) -> Object:
    """Return the object with these annotations added."""
    metadata = obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **marks}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
