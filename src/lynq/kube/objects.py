"""The slim structs that every module shares: metadata, keys, lists.

Wire structs drop the fields they don't name, leave empty ones out when encoded, and are frozen:
they sit in caches that many readers share. `gc=False` is sound because JSON has no cycles, and
keeps 50,000 cached objects out of the garbage collector's rounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from msgspec import Raw, Struct, field

T = TypeVar("T")


class ObjectKey(NamedTuple):
    """Which object of a kind; the namespace of a cluster-scoped object is ""."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Write it as kubectl does."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Wire(Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True):
    """The base of what is read from and written to the API server."""


class OwnerReference(Wire, frozen=True, gc=False):
    """Who owns an object; it goes when all its owners are gone."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ManagedFields(Wire, frozen=True, gc=False):
    """Which fields one manager owns.

    `fields_v1` stays undecoded, a view into the answer it came in: take a digest of it or copy
    it before you keep it, or it keeps the whole answer alive.
    """

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    time: datetime | None = None
    fields_v1: Raw = Raw(b"{}")


class Metadata(Wire, frozen=True, gc=False):
    """An object's `metadata`."""

    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    managed_fields: list[ManagedFields] = field(default_factory=list)

    @property
    def key(self) -> ObjectKey:
        """Where the object is."""
        return ObjectKey(self.namespace, self.name)


class Partial(Wire, frozen=True, gc=False):
    """An object without its body: what metadata-only reads and watches yield.

    The API server answers those as kind `PartialObjectMetadata`, whatever the object's own kind.
    """

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list, or one page of it, and the state of the cluster it shows."""

    items: list[T]
    resource_version: str
    continuation: str = ""
    """The token of the next page; "" on the last one."""
    remaining: int | None = None
    """How many objects follow on later pages, where the API server knows."""

    def __len__(self) -> int:
        """Count the objects."""
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        """Go through the objects."""
        return iter(self.items)
