"""Resource types of the API server with their paths, and the objects that every type has."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import quote

from msgspec import field

from lynq.api import Metadata
from lynq.api.names import GROUP, VERSION
from lynq.api.wire import Definition, Wire
from lynq.kube.errors import InvalidObject

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
"""A name that is the same when it is quoted."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource type: group, version, kind, plural and scope."""

    group: str
    """The API group; "" is the core group."""
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name with the group, as in the names of CRDs: "pods", "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Return the path of an object or, without a name, of the collection.

        A collection without a namespace spans all namespaces. Raises InvalidObject for a namespaced
        object without a namespace, for an empty name (which would be the collection), and for a
        name with more than one path segment.
        """
        if name is not None and self.namespaced and not namespace:
            raise InvalidObject(f"{self.kind} {name!r} requires a namespace")
        parts = [self._root()]
        if namespace and self.namespaced:
            parts += ["namespaces", self._segment(namespace)]
        parts.append(self.plural)
        if name is not None:
            parts.append(self._segment(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def _segment(self, name: str) -> str:
        # Quoting does not help: the API server splits the path after unquoting, and would read
        # "web/status" as the status of "web".
        if name in ("", ".", "..") or "/" in name or "%" in name:
            raise InvalidObject(
                f"{self.kind}: {name!r} is not a valid name of an object or namespace"
            )
        # Nearly all names are plain, and quoting is the slowest part of a path.
        return name if _PLAIN_NAME.fullmatch(name) else quote(name, safe=":")

    def _root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        """Return apiVersion and kind, for messages."""
        return f"{self.api_version} {self.kind}"


def resource_of(definition: Definition) -> Resource:
    """Return the resource of one of Lynq's kinds."""
    return Resource(GROUP, VERSION, definition.kind, definition.plural, namespaced=True)


NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
EVENTS = Resource("", "v1", "Event", "events", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


T = TypeVar("T")


class PartialObject(Wire, frozen=True):
    """The metadata of an object, from metadata-only reads and watches.

    Its kind is then `PartialObjectMetadata`, not the kind of the object.
    """

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[T]):
    """A list, or one page of it, at a resourceVersion."""

    items: list[T]
    resource_version: str
    continuation: str = ""
    """The token of the next page; "" on the last one."""

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the objects."""
        return iter(self.items)
