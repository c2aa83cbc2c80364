"""Digest and signature of a node: they show whether its content is what the hub wrote.

The digest needs no key and detects edits. The signature is an HMAC by the installation key: a user
who may edit nodes cannot compute it.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from lynq.api.installation_key import InstallationKey, Keyless, KeyState
from lynq.api.names import (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_HUB_ID,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_SIGNATURE,
    ANNOTATION_SPEC_DIGEST,
    ANNOTATION_TEMPLATE_GENERATION,
    LABEL_HUB,
    LABEL_UID,
)
from lynq.api.node import LynqNode, NodeSpec

_DIGITS: Final = 16
_UNCHANGED: Final = frozenset({str, int, bool, type(None)})
"""The types of most values; the API server returns them as they are."""
_ROW: Final = (ANNOTATION_ACTIVATE, ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL, ANNOTATION_HUB_ID)
"""The annotations that the templates of a spec are rendered with."""


_SIGNED: Final = (
    *_ROW,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_SERVICE_ACCOUNT,
    ANNOTATION_TEMPLATE_GENERATION,
)
"""The annotations that decide how the objects of a node are rendered and written."""


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


def signed(node: LynqNode, key: KeyState) -> LynqNode:
    """Return the node with its signature; without a signature if there is no key."""
    annotations = {
        name: text
        for name, text in node.metadata.annotations.items()
        if name != ANNOTATION_SIGNATURE
    }
    if isinstance(key, InstallationKey):
        annotations[ANNOTATION_SIGNATURE] = _signature(node, key)
    metadata = msgspec.structs.replace(node.metadata, annotations=annotations)
    return msgspec.structs.replace(node, metadata=metadata)


def is_authentic(node: LynqNode, key: KeyState) -> bool:
    """Return whether a node has the content that its hub wrote, as far as the key shows.

    In an installation that never had a key the digest counts, and a signature is forged. A
    signature that cannot be checked shows nothing.
    """
    if isinstance(key, InstallationKey):
        return is_signed(node, key)
    annotations = node.metadata.annotations
    has_digest_only = (
        ANNOTATION_SPEC_DIGEST in annotations and ANNOTATION_SIGNATURE not in annotations
    )
    return isinstance(key, Keyless) and has_digest_only and is_untouched(node)


def is_signed(node: LynqNode, key: InstallationKey) -> bool:
    """Return whether the signature fits the name, labels, row and spec of the node."""
    signature = node.metadata.annotations.get(ANNOTATION_SIGNATURE, "")
    try:
        # As bytes: a signature that was edited may have other characters than ASCII.
        return hmac.compare_digest(signature.encode(), _signature(node, key).encode())
    except (RecursionError, UnicodeEncodeError):
        return False


def _signature(node: LynqNode, key: InstallationKey) -> str:
    metadata = node.metadata
    content = [
        metadata.namespace,
        metadata.name,
        [metadata.labels.get(name) for name in (LABEL_HUB, LABEL_UID)],
        [metadata.annotations.get(name) for name in _SIGNED],
        _stored(node.spec),
    ]
    return key.derive("signature of a node", msgspec.json.encode(content, order="sorted")).hex()


def _stored(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as the API server returns it: with all defaults, and 2.0 as 2."""
    # Scalars are most of all values, and are not worth a call each.
    if isinstance(value, dict):
        return {
            key: item if type(item) in _UNCHANGED else _stored(item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _UNCHANGED else _stored(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return _stored(msgspec.structs.asdict(value))
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
