"""The whole live objects of resources with ignoreFields, and the digests without ignored fields.

A live object is read from the API server once, and again only if our managed fields changed, or if
a write needs its ignored values. A change of an ignored field alone causes no request.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lynq.api import Metadata
from lynq.controllers.children import Child
from lynq.core.node.desired_object import ignored_fields
from lynq.core.node.managed_fields import unignored_fields_digest
from lynq.core.node.objects import ObjectRef
from lynq.core.node.render import Rendered
from lynq.core.node.state import ResourceFacts


@dataclass(frozen=True, slots=True)
class _LiveBody:
    """A live object as it was last read or written; as JSON it takes a tenth of the memory."""

    fingerprint: object
    text: bytes
    inputs: object
    """Values that the digest depends on."""
    digest: bytes


@dataclass(frozen=True, slots=True)
class LiveBodies:
    """The live objects of one node's resources with ignoreFields."""

    _bodies: dict[ObjectRef, _LiveBody] = field(default_factory=dict)

    def get(self, ref: ObjectRef, child: Child) -> Mapping[str, Any] | None:
        """Return the whole object; None if it has changed since it was read."""
        kept = self._bodies.get(ref)
        if kept is None or kept.fingerprint != _fingerprint(child):
            return None
        body: dict[str, Any] = msgspec.json.decode(kept.text)
        return body

    def digest(self, facts: ResourceFacts, child: Child) -> bytes | None:
        """Return the digest of our fields without ignored ones; None if the object must be read."""
        kept = self._bodies.get(facts.ref)
        return kept.digest if kept and kept.inputs == _inputs(facts, child) else None

    def record(
        self, facts: ResourceFacts, rendered: Rendered, child: Child, body: Mapping[str, Any]
    ) -> bytes:
        """Keep an object; return the digest of our fields without ignored ones."""
        metadata = decoded(body.get("metadata", {}), Metadata)
        ignored = ignored_fields(rendered, facts.resource, body)
        digest = unignored_fields_digest(metadata, ignored)
        self._bodies[facts.ref] = _LiveBody(
            _fingerprint(child), msgspec.json.encode(body), _inputs(facts, child), digest
        )
        return digest

    def keep_only(self, refs: Collection[ObjectRef]) -> None:
        """Forget all objects but these."""
        for ref in self._bodies.keys() - set(refs):
            del self._bodies[ref]


def decoded(obj: Mapping[str, Any], into: type[Any]) -> Any:  # noqa: ANN401 - of the given type
    """Return the object as a struct; by way of JSON, because its managedFields are raw JSON."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=into)


def _fingerprint(child: Child) -> object:
    """Return a value that changes with the object, but not with its status alone."""
    live = child.live
    metadata = msgspec.json.encode((live.labels, live.annotations), order="sorted")
    return live.uid, child.generation or child.resource_version, live.digest, metadata


def _inputs(facts: ResourceFacts, child: Child) -> object:
    content_hash = facts.desired.hash if facts.desired else ""
    return child.live.uid, child.live.digest, content_hash, facts.resource.ignore_fields
