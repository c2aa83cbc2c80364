"""`Resource`: one REST resource type of the API server and the paths of its objects.

What the API server answers with when it is not a whole object: metadata and lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote

from msgspec import field

from lynq.api import Metadata
from lynq.api.names import GROUP, VERSION
from lynq.api.wire import Definition, Wire
from lynq.kube.errors import InvalidObject


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API server serves it: group, version, plural and scope."""

    group: str
    """The API group; "" is the core group."""
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """What goes into an object's `apiVersion`: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The full name as in RBAC and CRDs: "pods", "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Return the path of an object, or without a name of the collection.

        A collection without a namespace spans all namespaces. An object of a namespaced kind
        has no path without its namespace: that raises InvalidObject, because the request
        could only hit something else than was meant. So does a name that is empty, which would
        be the whole collection (and a delete of it), or that names more than one step of a path.
        """
        if name is not None and self.namespaced and not namespace:
            raise InvalidObject(f"{self.kind} {name!r} needs a namespace: its kind is namespaced")
        parts = [self._root()]
        if namespace and self.namespaced:
            parts += ["namespaces", self._step(namespace)]
        parts.append(self.plural)
        if name is not None:
            parts.append(self._step(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def _step(self, name: str) -> str:
        # Quoting is no help: the API server splits the path after it has unquoted it, and reads
        # "web/status" as the status of "web".
        if name in ("", ".", "..") or "/" in name or "%" in name:
            raise InvalidObject(f"{self.kind}: {name!r} can be no name of an object or namespace")
        return quote(name, safe=":")

    def _root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        """Name it for a message."""
        return f"{self.api_version} {self.kind}"


def resource_of(definition: Definition) -> Resource:
    """Return where objects of one of our own kinds are served."""
    return Resource(GROUP, VERSION, definition.kind, definition.plural, namespaced=True)


NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
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
