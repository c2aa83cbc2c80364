"""Whether a node's spec is still the one that its hub wrote."""

import hashlib
from typing import Any, Final

import msgspec

from lynq.api.names import ANNOTATION_SPEC_DIGEST
from lynq.api.node import LynqNode, NodeSpec

_DIGITS: Final = 16


def spec_digest(spec: NodeSpec) -> str:
    """Return the digest of a spec, the same for what it is once the API server has stored it."""
    text = msgspec.json.encode(_stored(spec), order="sorted")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def is_untouched(node: LynqNode) -> bool:
    """Return whether a node's spec is what its hub wrote, as far as the node says what that was."""
    written = node.metadata.annotations.get(ANNOTATION_SPEC_DIGEST)
    try:
        return written is None or written == spec_digest(node.spec)
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
