"""Make a rendered object ready to be written: ignored fields kept, tied to its node, marked.

In this order, so that no ignored field, not even all of `metadata`, can touch what the object is,
whose it is, and how it is treated.

Stamp an object with what its next reader has to know: policies, hash, start of the clock.

All stamps travel in the one write of the object, so nobody ever sees half of them.

The hash of a wanted object, by which an unchanged one is known without a write.

It is the Go operator's, digit for digit: SHA-256 over what its json.Marshal writes, the two stamps
left out, the first 8 bytes in hexadecimal.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any, Final

from lynq.api import CreationPolicy, TResource
from lynq.api.names import (
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    TRUE,
)
from lynq.api.wire import rfc3339
from lynq.core.node.ignore_fields.jsonpath import PathError
from lynq.core.node.ignore_fields.keep import keep_live
from lynq.core.node.ignore_fields.parse import parse_path
from lynq.core.node.objects import LiveObject, ObjectRef, Owner
from lynq.core.node.ownership import (
    merged_annotations,
    merged_labels,
    with_ownership,
    without_server_fields,
)
from lynq.core.node.render import Rendered, RenderError
from lynq.template.gofmt.floats import go_escaped, go_number

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


_STAMPS: Final = frozenset({ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME})
_DIGITS: Final = 16


def applied_hash(obj: Mapping[str, Any]) -> str:
    """Return the hash of an object as it is wanted; the stamps do not count."""
    return hashlib.sha256(go_json(_unstamped(obj)).encode()).hexdigest()[:_DIGITS]


def go_json(value: object) -> str:
    """Return the value as Go's json.Marshal writes it: sorted keys, no spaces, HTML escaped."""
    out: list[str] = []
    _write(value, out)
    return go_escaped("".join(out))


def _unstamped(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping) or "annotations" not in metadata:
        return obj
    annotations = metadata["annotations"]
    if not isinstance(annotations, Mapping):
        return obj
    kept = {key: value for key, value in annotations.items() if key not in _STAMPS}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**obj, "metadata": {**rest, "annotations": kept} if kept else rest}


def _write(value: object, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif isinstance(value, dict):
        _write_object(value, out)
    elif isinstance(value, list | tuple):
        _write_list(value, out)
    else:
        out.append(_scalar(value))


def _write_object(value: dict[str, Any], out: list[str]) -> None:
    separator = "{"
    for key in sorted(value):
        out += (separator, encode_basestring(key), ":")
        _write(value[key], out)
        separator = ","
    out.append("}" if value else "{}")


def _write_list(value: Sequence[object], out: list[str]) -> None:
    separator = "["
    for item in value:
        out.append(separator)
        _write(item, out)
        separator = ","
    out.append("]" if value else "[]")


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError("JSON has no infinity and no NaN")
    return go_number(number)


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
