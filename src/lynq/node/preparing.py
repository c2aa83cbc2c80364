"""Make a rendered object ready to be written: ignored fields kept, tied to its node, marked.

In this order, so that no ignored field, not even all of `metadata`, can touch what the object is,
whose it is, and how it is treated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lynq.api import CreationPolicy, TResource
from lynq.node.hashing import applied_hash
from lynq.node.identity import ObjectRef, Owner
from lynq.node.ignorefields.keeping import keep_live
from lynq.node.ignorefields.parsing import parse_path
from lynq.node.ignorefields.paths import PathError
from lynq.node.live import Live
from lynq.node.refusals import RenderError
from lynq.node.rendering import Rendered
from lynq.node.reserved import merged_annotations, merged_labels, without_server_fields
from lynq.node.stamping import stamped, with_policies
from lynq.node.tracking import tracked


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object as it is to be, all but the stamps of its write."""

    ref: ObjectRef
    obj: dict[str, Any]
    hash: str
    """What `lynq.sh/applied-hash` says once it is written."""

    def to_write(self, live: Live | None, now: datetime) -> dict[str, Any]:
        """Return the object with its stamps."""
        return stamped(self.obj, self.hash, live, now)


def prepare(
    rendered: Rendered, resource: TResource, owner: Owner, body: Mapping[str, Any] | None = None
) -> Wanted:
    """Return the object that is to be written; raises RenderError for a bad path.

    `body` is the whole live object. It is needed only for a resource with ignoreFields, and is
    None while the object does not exist.
    """
    obj = rendered.obj
    if body is not None and ignores_fields(resource):
        obj = _kept(rendered, resource, body)
    obj = tracked(obj, rendered.ref, owner, resource.deletion_policy)
    obj = with_policies(obj, resource)
    return Wanted(rendered.ref, obj, applied_hash(obj))


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
