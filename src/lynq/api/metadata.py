"""Which object, in which version, of whom: the part of `metadata` that Lynq reads and writes."""

from typing import NamedTuple

from msgspec import Raw, field

from lynq.api.wire import Time, Wire


class ObjectKey(NamedTuple):
    """Which object of a kind; the namespace of a cluster-scoped object is ""."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Write it as kubectl does."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Wire, frozen=True, kw_only=True):
    """An object that this one belongs to; it goes when all its owners are gone."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ManagedFields(Wire, frozen=True, kw_only=True):
    """Which fields one manager owns.

    `fields_v1` stays undecoded, a view into the answer it came in: take a digest of it or copy
    it before you keep it, or it keeps the whole answer alive.
    """

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    time: Time | None = None
    fields_v1: Raw = Raw(b"{}")


class Metadata(Wire, frozen=True, kw_only=True):
    """An object's name, place, version and marks."""

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
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    managed_fields: list[ManagedFields] = field(default_factory=list)

    @property
    def key(self) -> ObjectKey:
        """Where the object is."""
        return ObjectKey(self.namespace, self.name)
