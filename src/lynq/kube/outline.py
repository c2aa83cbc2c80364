"""The outline of an object: what the operator asks of things it only has to find and compare.

A cache of 50,000 children is mostly metadata, and most metadata is `managedFields` and strings that
repeat. An outline keeps a digest in place of the first and one copy of each of the second: 1.3 KB
in place of 3.8 for an object with our labels, annotations and owner.

The digest is over the entry of one manager, as its apply left it: when it differs from the one in
the answer to our own last apply, somebody took a field from us.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b

from msgspec import Struct

from lynq.kube.objects import ManagedFields, Metadata
from lynq.kube.store import HasMetadata

_DIGEST_BYTES = 8
_STRINGS_SHARED = 4096


class Outline(Struct, frozen=True, gc=False):
    """An object without its body and without who manages what."""

    uid: str
    resource_version: str
    generation: int
    labels: dict[str, str]
    annotations: dict[str, str]
    owners: tuple[str, ...]
    """The uids of the owner references."""
    finalizers: tuple[str, ...]
    deleting: bool
    digest: bytes
    """Of the manager's Apply entry in `managedFields`; empty when it has none."""


def outline_for(manager: str) -> Callable[[HasMetadata], Outline]:
    """Return the projection that keeps a digest of this manager's entry."""
    pool = _Pool(_STRINGS_SHARED)

    def outline(obj: HasMetadata) -> Outline:
        metadata = obj.metadata
        return Outline(
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            generation=metadata.generation,
            labels={pool.one(key): pool.one(value) for key, value in metadata.labels.items()},
            annotations=metadata.annotations,
            owners=tuple(owner.uid for owner in metadata.owner_references),
            finalizers=tuple(pool.one(name) for name in metadata.finalizers),
            deleting=metadata.deletion_timestamp is not None,
            digest=digest_of(metadata, manager),
        )

    return outline


def digest_of(metadata: Metadata, manager: str) -> bytes:
    """Return the digest of the fields that `manager` owns by server-side apply."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    entries = list(_applied(metadata.managed_fields, manager))
    for entry in entries:
        digest.update(entry.api_version.encode())
        digest.update(bytes(entry.fields_v1))
    return digest.digest() if entries else b""


def _applied(entries: Iterable[ManagedFields], manager: str) -> Iterable[ManagedFields]:
    return (
        entry
        for entry in entries
        if entry.manager == manager and entry.operation == "Apply" and not entry.subresource
    )


class _Pool:
    """One copy of each string that repeats.

    Not `sys.intern`: some Pythons never let go of what is interned, and label values come from
    rows. The first strings to come are the ones that repeat; when the pool is full, so be it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._strings: dict[str, str] = {}

    def one(self, text: str) -> str:
        if len(self._strings) < self._limit:
            return self._strings.setdefault(text, text)
        return self._strings.get(text, text)
