"""Paths, queries, headers and bodies of the verbs: pure, so that a test can read them.

What travels through the transport, and the shape of the hooks that see it pass.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from lynq.api.wire import Wire
from lynq.kube.codec import Object, decode, encode, key_of
from lynq.kube.errors import InvalidObject
from lynq.kube.resource import NAMESPACES, PartialObject, Resource

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
"""What becomes of the dependents of a deleted object."""
FINALIZER_ORPHAN: Final = "orphan"
"""On a deleted object: the garbage collector is still to free its dependents."""

JsonPatch: TypeAlias = list[dict[str, Any]]
"""The operations of a JSON patch (RFC 6902)."""

JSON: Final = {"Content-Type": "application/json"}
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}


class Patch(Enum):
    """A sort of patch, by its media type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class _Preconditions(Wire, frozen=True):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteOptions(Wire, frozen=True):
    dry_run: list[str] | None = None
    propagation_policy: Propagation | None = None
    preconditions: _Preconditions | None = None


class _Remains(Wire, frozen=True):
    """What a delete is answered with: a Status, or the object as it is now."""

    class Meta(Wire, frozen=True):
        finalizers: list[str] | None = None
        deletion_grace_period_seconds: int | None = None

    kind: str = ""
    metadata: Meta = Meta()
    spec: Any = None

    @property
    def is_kept(self) -> bool:
        """Whether something has to be waited for; what keeps a namespace is in its spec."""
        if self.metadata.finalizers or self.metadata.deletion_grace_period_seconds:
            return True
        return self.kind == NAMESPACES.kind and bool((self.spec or {}).get("finalizers"))


def accept(into: Any, *, listed: bool = False) -> dict[str, str]:  # noqa: ANN401
    """Return the Accept header: metadata only is asked for when only that is read.

    Plain JSON comes second, for aggregated API servers that cannot strip; Partial drops the rest.
    """
    if not (isinstance(into, type) and issubclass(into, PartialObject)):
        return {"Accept": "application/json"}
    kind = "PartialObjectMetadataList" if listed else "PartialObjectMetadata"
    return {"Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"}


def object_path(resource: Resource, obj: Object, subresource: str | None = None) -> str:
    """Return where an object that is to be sent belongs."""
    key = key_of(obj)
    if not key.name:
        raise InvalidObject(f"the {resource.kind} has no metadata.name")
    return resource.path(key.namespace, key.name, subresource)


def collection_path(resource: Resource, obj: Object, namespace: str | None) -> str:
    """Return where an object that is to be created belongs."""
    namespace = namespace or key_of(obj).namespace
    if resource.namespaced and not namespace:
        raise InvalidObject(f"creating a {resource.kind} needs a namespace: its kind is namespaced")
    return resource.path(namespace)


def body(resource: Resource, obj: Object) -> bytes:
    """Return an object as it is sent; a dict need not repeat what the resource says."""
    if isinstance(obj, dict):
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    return encode(obj)


def selection(labels: str | None, fields: str | None) -> dict[str, str]:
    """Return the query for some objects out of all."""
    query = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in query.items() if value}


def writing(manager: str | None, *, dry_run: bool, force: bool = False) -> dict[str, str]:
    """Return the query of a write."""
    query = {
        "fieldManager": manager,
        "dryRun": "All" if dry_run else None,
        "force": "true" if force else None,
    }
    return {key: value for key, value in query.items() if value}


def watching(since: str | None, *, seconds: float, initial_events: bool) -> dict[str, str]:
    """Return the query of a watch."""
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(round(seconds)),
    }
    if since:
        query["resourceVersion"] = since
    if initial_events:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    return query


def delete_options(
    uid: str | None,
    resource_version: str | None,
    propagation: Propagation | None,
    *,
    dry_run: bool = False,
) -> bytes:
    """Return the body of a delete.

    All options are in it, the dry run too: next to a body, the API server reads no query.
    """
    given = _Preconditions(uid=uid, resource_version=resource_version)
    options = _DeleteOptions(
        dry_run=["All"] if dry_run else None,
        propagation_policy=propagation,
        preconditions=given if uid or resource_version else None,
    )
    return encode(options)


def is_gone(answer: bytes, *, what: str) -> bool:
    """Tell from the answer to a delete whether the object is gone, or only asked to go.

    Some kinds are answered with a Status, others with the object even when it is gone: what is
    still to be waited for, a finalizer or a grace period, is what decides.
    """
    return not decode(answer, _Remains, what=what).is_kept


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the API server, before credentials are added."""

    verb: str
    """What the caller wants: "get", "apply", "watch" …, for messages and interceptors."""
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout: float | None = None
    """Seconds for the whole answer, or of silence in a stream; None: the client's default."""
    repeatable: bool = False
    """Sending it twice leaves the cluster, and the answer, as sending it once would."""
    stream: bool = False
    """The answer is read as it comes, and takes no place among the requests in flight."""

    @property
    def writes(self) -> bool:
        """Whether the fence has a say."""
        return self.method != "GET"


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: whole in `body`, or for a stream that succeeded as it comes in `chunks`."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    chunks: AsyncIterator[bytes] | None = None
    close: Callable[[], None] = _nothing
    """Gives the connection of a stream back; whoever reads the stream calls it."""


Send: TypeAlias = Callable[[Request], Awaitable[Response]]

Interceptor: TypeAlias = Callable[[Request, Send], Awaitable[Response]]
"""A middleware around every attempt, retries and watches too: may delay, alter, fail or count."""

Fence: TypeAlias = Callable[[], None]
"""Raises `errors.Fenced` when writes must not be sent any more."""
