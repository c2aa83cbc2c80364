"""Which object: the part of `metadata` that Lynq reads and writes."""

from msgspec import field

from lynq.api.wire import Time, Wire


class OwnerReference(Wire, frozen=True, kw_only=True):
    """An object that this one belongs to; it goes when all its owners are gone."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Wire, frozen=True, kw_only=True):
    """An object's name, place, version and marks."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
