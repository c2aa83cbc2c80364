"""Make a rendered object ready to be written: ignored fields kept, tied to its node, marked.

In this order, so that no ignored field, not even all of `metadata`, can touch what the object is,
whose it is, and how it is treated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lynq.api import CreationPolicy, TResource
from lynq.core.node.hashing import applied_hash
from lynq.core.node.ignore_fields.jsonpath import PathError
from lynq.core.node.ignore_fields.keep import keep_live
from lynq.core.node.ignore_fields.parse import parse_path
from lynq.core.node.live import LiveObject
from lynq.core.node.object_ref import ObjectRef, Owner
from lynq.core.node.ownership import with_ownership
from lynq.core.node.refusals import RenderError
from lynq.core.node.render import Rendered
from lynq.core.node.reserved import merged_annotations, merged_labels, without_server_fields
from lynq.core.node.stamping import with_apply_metadata, with_policies


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """An object as it is to be, all but the stamps of its write."""

    ref: ObjectRef
    obj: dict[str, Any]
    hash: str
    """What `lynq.sh/applied-hash` says once it is written."""

    def to_write(self, live: LiveObject | None, now: datetime) -> dict[str, Any]:
        """Return the object with its stamps."""
        return with_apply_metadata(self.obj, self.hash, live, now)


def prepare(
    rendered: Rendered, resource: TResource, owner: Owner, body: Mapping[str, Any] | None = None
) -> DesiredObject:
    """Return the object that is to be written; raises RenderError for a bad path.

    `body` is the whole live object. It is needed only for a resource with ignoreFields, and is
    None while the object does not exist.
    """
    obj = rendered.obj
    if body is not None and ignores_fields(resource):
        obj = _kept(rendered, resource, body)
    obj = with_ownership(obj, rendered.ref, owner, resource.deletion_policy)
    obj = with_policies(obj, resource)
    return DesiredObject(rendered.ref, obj, applied_hash(obj))


def ignores_fields(resource: TResource) -> bool:
    """Return whether live values are kept; what is written once needs none."""
    return bool(resource.ignore_fields) and resource.creation_policy is not CreationPolicy.ONCE


def _kept(rendered: Rendered, resource: TResource, body: Mapping[str, Any]) -> dict[str, Any]:
    try:
        paths = [parse_path(text) for text in resource.ignore_fields]
    except PathError as error:
        raise RenderError(resource.id, "ignoreFields", str(error)) from None
    obj = keep_live(rendered.obj, dict(body), paths)
    metadata = obj.get("metadata")
    metadata = without_server_fields(metadata) if isinstance(metadata, dict) else {}
    metadata["labels"] = merged_labels(metadata.get("labels") or {}, {})
    metadata["annotations"] = merged_annotations(metadata.get("annotations") or {}, {})
    original = rendered.obj["metadata"]
    for key in ("name", "namespace"):
        if key in original:
            metadata[key] = original[key]
    # Owner references of the live object include our own, which tracking adds.
    metadata.pop("ownerReferences", None)
    if "ownerReferences" in original:
        metadata["ownerReferences"] = original["ownerReferences"]
    identity = {key: rendered.obj[key] for key in ("apiVersion", "kind")}
    return {**obj, **identity, "metadata": metadata}
