"""Digest of a node's spec and row, to detect edits of what the hub wrote."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from lynq.api.names import (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_HUB_ID,
    ANNOTATION_SPEC_DIGEST,
)
from lynq.api.node import LynqNode, NodeSpec

_DIGITS: Final = 16
_ROW: Final = (ANNOTATION_ACTIVATE, ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL, ANNOTATION_HUB_ID)
"""The annotations that the templates of a spec are rendered with."""


def spec_digest(spec: NodeSpec, annotations: Mapping[str, str]) -> str:
    """Return the digest of a spec and its row.

    The digest does not change when the API server stores the spec.
    """
    row = [annotations.get(key) for key in _ROW]
    text = msgspec.json.encode([_stored(spec), row], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def is_untouched(node: LynqNode) -> bool:
    """Return whether the digest of a node matches its spec and row; True without a digest."""
    digest = node.metadata.annotations.get(ANNOTATION_SPEC_DIGEST)
    try:
        return digest is None or digest == spec_digest(node.spec, node.metadata.annotations)
    except RecursionError:
        # Forms are limited in depth, so the hub did not write this spec.
        return False


def _stored(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as the API server returns it: with all defaults, and 2.0 as 2."""
    if isinstance(value, msgspec.Struct):
        return {key: _stored(item) for key, item in msgspec.structs.asdict(value).items()}
    if isinstance(value, dict):
        return {key: _stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
