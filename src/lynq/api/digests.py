"""Whether a node still is what its hub wrote: its spec, and the row in its annotations."""

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
"""What the templates of a spec are rendered with, and so what its objects are called, too."""


def spec_digest(spec: NodeSpec, annotations: Mapping[str, str]) -> str:
    """Return the digest of a spec and the row that it is rendered with.

    It is the same for what the spec is once the API server has stored it.
    """
    row = [annotations.get(key) for key in _ROW]
    text = msgspec.json.encode([_stored(spec), row], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def is_untouched(node: LynqNode) -> bool:
    """Return whether a node is what its hub wrote, as far as the node says what that was."""
    written = node.metadata.annotations.get(ANNOTATION_SPEC_DIGEST)
    try:
        return written is None or written == spec_digest(node.spec, node.metadata.annotations)
    except RecursionError:
        # No hub writes what is nested that deep: no form may be.
        return False


def _stored(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as the API server gives it back: with all defaults, and 2.0 as 2."""
    if isinstance(value, msgspec.Struct):
        return {key: _stored(each) for key, each in msgspec.structs.asdict(value).items()}
    if isinstance(value, dict):
        return {key: _stored(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
