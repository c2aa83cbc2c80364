"""What the API server answers with when it is not a whole object: metadata and lists."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import field

from lynq.api import Metadata
from lynq.api.wire import Wire

T = TypeVar("T")


class PartialObject(Wire, frozen=True):
    """An object without its body: what metadata-only reads and watches yield.

    The API server answers those as kind `PartialObjectMetadata`, whatever the object's own kind.
    """

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[T]):
    """A list, or one page of it, and the state of the cluster it shows."""

    items: list[T]
    resource_version: str
    continuation: str = ""
    """The token of the next page; "" on the last one."""

    def __len__(self) -> int:
        """Count the objects."""
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        """Go through the objects."""
        return iter(self.items)
