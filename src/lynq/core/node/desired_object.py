"""The desired object of a resource: ignored fields, ownership, policies and the applied-hash.

The order in `prepare` matters. Ignored fields come first, so that none of them, not even all of
`metadata`, changes the identity of the object, its ownership or its policies.

The applied-hash identifies the content of an object, so that unchanged content is not written. It
equals the Go operator's: the first 8 bytes, in hexadecimal, of SHA-256 over the output of
json.Marshal, without the annotations applied-hash and apply-start-time. Both are part of the one
write of the object, so that no reader observes one without the other. Ignored fields are no content
either: the hash of a resource with ignoreFields leaves them out, so that a change of theirs causes
no write. The tracking id and the bucket are no content: objects of an older version get them with
their next write, and are not written for them.
"""

import hashlib
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from json.encoder import JSONEncoder, encode_basestring
from typing import Any, Final

from msgspec import Struct

from lynq.api import CreationPolicy, TResource
from lynq.api.names import (
    ANNOTATION_ADOPTED,
    ANNOTATION_APPLIED_HASH,
    ANNOTATION_APPLY_START_TIME,
    ANNOTATION_CREATED_ONCE,
    ANNOTATION_DELETION_POLICY,
    ANNOTATION_TRACKING_ID,
    LABEL_BUCKET,
    TRUE,
)
from lynq.api.wire import rfc3339
from lynq.core.node.adoption_policy import adopted_value
from lynq.core.node.ignore_fields.jsonpath import Path, PathError
from lynq.core.node.ignore_fields.keep import keep_live
from lynq.core.node.ignore_fields.parse import parse_path
from lynq.core.node.ignore_fields.select import FieldsTree, selected_fields, without_fields
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

_UNHASHED: Final = frozenset(
    {ANNOTATION_APPLIED_HASH, ANNOTATION_APPLY_START_TIME, ANNOTATION_TRACKING_ID}
)
_UNHASHED_LABELS: Final = frozenset({LABEL_BUCKET})
_HASH_DIGITS: Final = 16
_ENCODER: Final = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_MAY_BE_FLOAT: Final = re.compile(r"(?:\A|[:,\[])-?(?:[0-9]+[.e]|Infinity|NaN)")
"""A number that Go formats in another way than Python; it may also be the text of a string."""
_STRING_DATA: Final = re.compile(r"^(\$?\.?)stringData\b")


class DesiredObject(Struct, frozen=True):
    """The desired object, without the annotations that its write adds."""

    ref: ObjectRef
    obj: dict[str, Any]
    hash: str
    """The value of `lynq.sh/applied-hash` once the object is written."""
    is_adopted: bool = False
    """Whether it is the desired object of an object that existed before."""
    lacks_live_values: bool = False
    """Whether the ignored fields have the values of the manifest, so that it can only be created.
    """

    def to_write(self, live: LiveObject | None, now: datetime) -> dict[str, Any]:
        """Return the object with applied-hash and apply-start-time."""
        return with_apply_metadata(self.obj, self.hash, live, now)


def prepare(
    rendered: Rendered,
    resource: TResource,
    owner: Owner,
    body: Mapping[str, Any] | None = None,
    *,
    is_adopted: bool = False,
) -> DesiredObject:
    """Return the desired object; raises RenderError if ignoreFields has an invalid path.

    `body` is the whole live object. It is needed only for a resource with ignoreFields, and is
    None while the object does not exist.
    """
    obj = content = _with_folded_string_data(rendered)
    is_ignoring = ignores_fields(resource)
    if is_ignoring:
        paths = _ignored_paths(rendered, resource)
        content = _with_identity(without_fields(obj, paths), rendered)
        if body is not None:
            obj = _with_identity(keep_live(obj, dict(body), paths), rendered)

    def owned(obj: Object) -> Object:
        policy = resource.deletion_policy
        obj = with_ownership(obj, rendered.ref, owner, policy, is_adopted=is_adopted)
        return with_policies(obj, resource, is_adopted=is_adopted)

    obj = owned(obj)
    content_hash = applied_hash(owned(content) if is_ignoring else obj)
    return DesiredObject(rendered.ref, obj, content_hash, is_adopted, is_ignoring and body is None)


def ignored_fields(rendered: Rendered, resource: TResource, body: Mapping[str, Any]) -> FieldsTree:
    """Return the ignored fields of an object, as the API server names them in managedFields."""
    paths = _ignored_paths(rendered, resource)
    kept = keep_live(_with_folded_string_data(rendered), dict(body), paths)
    return selected_fields(kept, paths)


def ignores_fields(resource: TResource) -> bool:
    """Return whether live values are kept; an object that is written once needs none."""
    return bool(resource.ignore_fields) and resource.creation_policy is not CreationPolicy.ONCE


def _with_folded_string_data(rendered: Rendered) -> Object:
    """Return the object; stringData of a Secret is merged into data, as the API server does.

    The API server stores no stringData, so managed fields would not show a change of the values.
    Values of other types stay, and the API server rejects them with their field path.
    """
    obj, texts = rendered.obj, rendered.obj.get("stringData")
    data = obj.get("data") or {}
    if rendered.ref[:2] != ("v1", "Secret") or not isinstance(texts, dict):
        return obj
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in texts.values()):
        return obj
    encoded = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return {**rest, "data": {**data, **encoded}}


def _ignored_paths(rendered: Rendered, resource: TResource) -> list[Path]:
    try:
        return [parse_path(_folded_path(text, rendered)) for text in resource.ignore_fields]
    except PathError as error:
        raise RenderError(resource.id, "ignoreFields", str(error)) from None


def _with_identity(obj: Object, rendered: Rendered) -> Object:
    """Return the object with the identity of the rendered one, and without our metadata."""
    metadata = obj.get("metadata")
    metadata = without_server_fields(metadata) if isinstance(metadata, dict) else {}
    metadata["labels"] = merged_labels(metadata.get("labels") or {}, {})
    metadata["annotations"] = merged_annotations(metadata.get("annotations") or {}, {})
    original = rendered.obj["metadata"]
    for key in ("name", "namespace"):
        if key in original:
            metadata[key] = original[key]
    # The live owner references include our own, which with_ownership adds.
    metadata.pop("ownerReferences", None)
    if "ownerReferences" in original:
        metadata["ownerReferences"] = original["ownerReferences"]
    identity = {key: rendered.obj[key] for key in ("apiVersion", "kind")}
    return {**obj, **identity, "metadata": metadata}


def _folded_path(path: str, rendered: Rendered) -> str:
    """Return the path of a Secret's stringData in data, where the API server stores it."""
    if rendered.ref[:2] != ("v1", "Secret"):
        return path
    return _STRING_DATA.sub(r"\1data", path)


def with_policies(obj: Object, resource: TResource, *, is_adopted: bool = False) -> Object:
    """Return the object with the policies that apply after its entry is removed from the form."""
    policies = {ANNOTATION_DELETION_POLICY: str(resource.deletion_policy)}
    if resource.creation_policy is CreationPolicy.ONCE:
        policies[ANNOTATION_CREATED_ONCE] = TRUE
    if is_adopted:
        policies[ANNOTATION_ADOPTED] = adopted_value(resource)
    return with_annotations(obj, policies)


def with_apply_metadata(
    obj: Object, content_hash: str, live: LiveObject | None, now: datetime
) -> Object:
    """Return the object with its applied-hash and apply-start-time.

    The readiness timeout restarts only with changed content. A repeated write of the same content,
    after drift or in a forced reconcile, does not extend it.
    """
    annotations = live.annotations if live is not None else {}
    start = annotations.get(ANNOTATION_APPLY_START_TIME, "")
    if not start or annotations.get(ANNOTATION_APPLIED_HASH) != content_hash:
        start = rfc3339(now)
    return with_annotations(
        obj, {ANNOTATION_APPLIED_HASH: content_hash, ANNOTATION_APPLY_START_TIME: start}
    )


def with_annotations(obj: Object, annotations: dict[str, str]) -> Object:
    """Return the object with these annotations added."""
    metadata = obj["metadata"]
    merged = {**(metadata.get("annotations") or {}), **annotations}
    return {**obj, "metadata": {**metadata, "annotations": merged}}


def applied_hash(obj: Mapping[str, Any]) -> str:
    """Return the hash of a desired object, without the annotations of the write."""
    content = go_json(_without_unhashed(obj))
    return hashlib.sha256(content.encode()).hexdigest()[:_HASH_DIGITS]


def go_json(value: object) -> str:
    """Return the value as Go's json.Marshal writes it: sorted keys, no spaces, HTML escaped."""
    text = _ENCODER.encode(value)
    return go_escaped(_with_go_numbers(value) if _MAY_BE_FLOAT.search(text) else text)


def _with_go_numbers(value: object) -> str:
    out: list[str] = []
    _write(value, out)
    return "".join(out)


def _without_unhashed(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return obj
    metadata = _without_keys(metadata, "annotations", _UNHASHED)
    return {**obj, "metadata": _without_keys(metadata, "labels", _UNHASHED_LABELS)}


def _without_keys(
    metadata: Mapping[str, Any], name: str, keys: frozenset[str]
) -> Mapping[str, Any]:
    """Return the metadata without some labels or annotations, and without an empty mapping."""
    mapping = metadata.get(name)
    if not isinstance(mapping, Mapping):
        return metadata
    kept = {key: value for key, value in mapping.items() if key not in keys}
    rest = {key: value for key, value in metadata.items() if key != name}
    return {**rest, name: kept} if kept else rest


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
