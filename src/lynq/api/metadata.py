"""The part of `metadata` that Lynq reads and writes, and the key of an object."""

from typing import NamedTuple, Protocol

from msgspec import Raw, field

from lynq.api.wire import Time, Wire


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace of a cluster-scoped object is ""."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Return `namespace/name`, as kubectl prints it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Wire, frozen=True, kw_only=True):
    """An owner of the object. An object without remaining owners is garbage-collected."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ManagedFields(Wire, frozen=True, kw_only=True):
    """The fields that one manager owns.

    `fields_v1` is not decoded: it is a view into the response buffer. Copy or hash it before
    storing it, or the whole response stays in memory.
    """

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    time: Time | None = None
    fields_v1: Raw = Raw(b"{}")


class Metadata(Wire, frozen=True, kw_only=True):
    """The metadata of an object."""

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
        """Namespace and name of the object."""
        return ObjectKey(self.namespace, self.name)


class HasMetadata(Protocol):
    """Any object of the API server."""

    @property
    def metadata(self) -> Metadata:
        """The object's `metadata`."""
