"""Requests and responses of the API server: paths, queries, headers and bodies. Pure."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from lynq.api.wire import Wire
from lynq.kube.codec import Object, decode, encode, key_of
from lynq.kube.errors import InvalidObject
from lynq.kube.resource import NAMESPACES, PartialObject, Resource

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
"""The deletion propagation policy."""
FINALIZER_ORPHAN: Final = "orphan"
"""The finalizer with which the garbage collector orphans dependents of a deleted object."""

JsonPatch: TypeAlias = list[dict[str, Any]]
"""The operations of a JSON patch (RFC 6902)."""

JSON: Final = {"Content-Type": "application/json"}
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}


class Patch(Enum):
    """The type of a patch, by its media type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class _Preconditions(Wire, frozen=True):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteOptions(Wire, frozen=True):
    dry_run: list[str] | None = None
    propagation_policy: Propagation | None = None
    preconditions: _Preconditions | None = None


class _DeleteResponse(Wire, frozen=True):
    """The response to a delete: a Status, or the object."""

    class Meta(Wire, frozen=True):
        finalizers: list[str] | None = None
        deletion_grace_period_seconds: int | None = None

    kind: str = ""
    metadata: Meta = Meta()
    spec: Any = None

    @property
    def is_pending(self) -> bool:
        """Whether finalizers or a grace period delay the removal."""
        if self.metadata.finalizers or self.metadata.deletion_grace_period_seconds:
            return True
        # A namespace has its finalizers in the spec.
        return self.kind == NAMESPACES.kind and bool((self.spec or {}).get("finalizers"))


def accept(into: Any, *, listed: bool = False) -> dict[str, str]:  # noqa: ANN401
    """Return the Accept header: metadata only for a PartialObject.

    Plain JSON is the fallback for extension servers that do not support it.
    """
    if not (isinstance(into, type) and issubclass(into, PartialObject)):
        return {"Accept": "application/json"}
    kind = "PartialObjectMetadataList" if listed else "PartialObjectMetadata"
    return {"Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"}


def object_path(resource: Resource, obj: Object, subresource: str | None = None) -> str:
    """Return the path of an object in a request body."""
    key = key_of(obj)
    if not key.name:
        raise InvalidObject(f"the {resource.kind} has no metadata.name")
    return resource.path(key.namespace, key.name, subresource)


def collection_path(resource: Resource, obj: Object, namespace: str | None) -> str:
    """Return the path of the collection in which an object is created."""
    namespace = namespace or key_of(obj).namespace
    if resource.namespaced and not namespace:
        raise InvalidObject(f"a {resource.kind} cannot be created without a namespace")
    return resource.path(namespace)


def with_unused_version(obj: Object) -> Object:
    """Return an object that an apply creates, and does not change if it exists.

    The resourceVersion is a precondition of the existing object only. No object has version 1: it
    is that of the empty etcd.
    """
    if not isinstance(obj, dict):
        raise InvalidObject("only a manifest can be applied with must_create")
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}}


def with_uid(patch: dict[str, Any], uid: str) -> dict[str, Any]:
    """Return the merge patch with the uid as precondition.

    An object that was re-created meanwhile is another one: the API server rejects the patch as
    invalid, because the uid is immutable, or with a conflict if it has an old resourceVersion, too.
    """
    return {**patch, "metadata": {"uid": uid, **patch.get("metadata", {})}}


def body(resource: Resource, obj: Object) -> bytes:
    """Return the request body of an object; apiVersion and kind of a dict are optional."""
    if isinstance(obj, dict):
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    return encode(obj)


def selection(labels: str | None, fields: str | None) -> dict[str, str]:
    """Return the query of label and field selectors."""
    query = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in query.items() if value}


def writing(manager: str | None, *, dry_run: bool, force: bool = False) -> dict[str, str]:
    """Return the query of a write.

    By default the API server decodes each body a second time to warn about unknown fields, and no
    caller reads the warnings. A plan is strict instead: it reports unknown fields.
    """
    query = {
        "fieldManager": manager,
        "dryRun": "All" if dry_run else None,
        "fieldValidation": "Ignore",
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

    It contains the dry run too: the API server ignores the query of a delete with a body.
    """
    preconditions = _Preconditions(uid=uid, resource_version=resource_version)
    options = _DeleteOptions(
        dry_run=["All"] if dry_run else None,
        propagation_policy=propagation,
        preconditions=preconditions if uid or resource_version else None,
    )
    return encode(options)


def is_removed(response: bytes, *, what: str) -> bool:
    """Return from the response to a delete whether the object is removed, or still being deleted.

    Some kinds return a Status, others the object, even if it is removed: only a finalizer or a
    grace period shows that it is not.
    """
    return not decode(response, _DeleteResponse, what=what).is_pending


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the API server, before credentials are added."""

    verb: str
    """The verb of the client, "get", "apply", "watch" …, for messages and interceptors."""
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout: float | None = None
    """Seconds for the whole response, or of silence in a stream; None: the client's default."""
    repeatable: bool = False
    """Whether a second attempt has the same effect and response as the first."""
    stream: bool = False
    """Whether the response is streamed; a stream does not count as a request in flight."""

    @property
    def writes(self) -> bool:
        """Whether this is a write, which the fence can block."""
        return self.method != "GET"


def _no_op() -> None: ...


@dataclass(frozen=True, slots=True)
class Response:
    """A response: complete in `body`, or in `chunks` for a successful stream."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """By name in lower case."""
    body: bytes = field(default=b"", repr=False)
    chunks: AsyncIterator[bytes] | None = None
    close: Callable[[], None] = _no_op
    """Releases the connection of a stream; called by its reader."""


Send: TypeAlias = Callable[[Request], Awaitable[Response]]

Interceptor: TypeAlias = Callable[[Request, Send], Awaitable[Response]]
"""Middleware of every attempt, including retries and watches."""

Fence: TypeAlias = Callable[[], None]
"""Raises `errors.Fenced` if writes must not be sent."""
