"""Turns writes into dry runs, and answers later requests as if they had been carried out.

`DryRun` is an interceptor of the client. A write is sent as a dry run with strict field validation,
so the API server defaults, validates and authorizes it. Its result is kept: a later read of the
object gets it. Two kinds of writes cannot be sent, because the API server does not have the object
that they build on; they are merged here:

- patches of an object that an earlier dry run has changed, and of any status;
- an object in a namespace that an earlier dry run has created, or instead of one that it deleted.

A resourceVersion of a result is larger than any of the API server, so that caches accept it. It is
translated back before a request is sent.
"""

import uuid
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.json import encode

from lynq.api.names import FINALIZER_NODE
from lynq.kube import Client, Patch, Request, Response, Send
from lynq.kube.codec import DICT, decode
from lynq.kube.errors import NotFound

Body = dict[str, Any]

_FIRST_VERSION: Final = 1 << 62
_OK, _NOT_FOUND, _CONFLICT = 200, 404, 409
_BAD_REQUEST: Final = 400
_JSON: Final = {"Accept": "application/json"}
_REVIEWS: Final = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")
"""Requests that are sent by POST and store nothing."""


@dataclass(slots=True)
class Recorded:
    """An object that was written: as it is, and as it would be."""

    before: Body | None
    after: Body | None
    is_changed: bool = False
    """Whether more than the status was written."""
    is_held: bool = False
    """Whether the write is shown, and not carried out until the deletion guard lets go."""


class DryRun:
    """Sends writes as dry runs; records the objects that they change."""

    def __init__(self, reader: Client) -> None:
        """Read objects with `reader`: what a plan shows is what its viewer may read."""
        # Its own slots: a write waits for the read while it holds a slot.
        self._reader = reader.unfenced()
        self._objects: dict[str, Recorded] = {}
        self._version = _FIRST_VERSION
        self.is_held = False
        """Whether the writes from now on are held by the deletion guard."""

    def recorded(self) -> Iterator[Recorded]:
        """Yield the objects that were changed, in the order of their first write."""
        return (each for each in self._objects.values() if each.is_changed)

    async def __call__(self, request: Request, send: Send) -> Response:
        """Answer one request."""
        if request.stream or request.path.startswith(_REVIEWS):
            return await send(request)
        if request.writes:
            return await self._write(request, send)
        path, subresource = _split(request.path)
        recorded = self._objects.get(path)
        if recorded is None or subresource:
            return await send(request)
        return _response(recorded.after) if recorded.after is not None else _not_found(path)

    async def _write(self, request: Request, send: Send) -> Response:
        what = f"{request.verb} {request.path}"
        body: Body = decode(request.body or b"{}", DICT, what=what)
        path, subresource = _split(request.path)
        if request.method == "POST":
            path = f"{path}/{body['metadata']['name']}"
        recorded = self._objects.get(path)
        if recorded is None:
            before = await self._live(path)
            recorded = Recorded(before, before)
        is_status = subresource == "status"
        after: Body | None
        if problem := _outdated(recorded, body, request):
            return problem
        if is_status or (_is_merge(request) and recorded is self._objects.get(path)):
            if recorded.after is None:
                return _not_found(path)
            after = _merged(recorded.after, body, is_status=is_status)
        else:
            response = await self._send(request, body, recorded, send)
            if response.status >= _BAD_REQUEST:
                return response
            deletes = request.method == "DELETE"
            after = None if deletes else decode(response.body, DICT, what=what)
        self._objects[path] = recorded
        if not is_status:
            recorded.is_changed = True
            recorded.is_held = self.is_held
        result = self._result(recorded.after, after)
        recorded.after = None if result is None or _is_removed(result) else result
        return _SUCCESS if result is None else _response(result)

    async def _live(self, path: str) -> Body | None:
        """Return the object that the API server has."""
        try:
            response = await self._reader.raw(path, headers=_JSON)
        except NotFound:
            return None
        body: Body = decode(response, DICT, what=f"get {path}")
        return body

    async def _send(self, request: Request, body: Body, recorded: Recorded, send: Send) -> Response:
        """Send a write as a dry run, or answer it here if the API server cannot."""
        is_new = recorded.after is None
        if is_new and recorded.before is not None and request.method in {"POST", "PATCH"}:
            return _response(_created(body))
        response = await send(_dry(request, _with_version(body, _version(recorded.before))))
        if response.status == _NOT_FOUND and is_new and self._has_new_namespace(body):
            return _response(_created(body))
        return response

    def _has_new_namespace(self, body: Body) -> bool:
        """Return whether a dry run has created the namespace of an object."""
        namespace = self._objects.get(f"/api/v1/namespaces/{body['metadata'].get('namespace')}")
        return namespace is not None and namespace.before is None and namespace.after is not None

    def _result(self, before: Body | None, after: Body | None) -> Body | None:
        """Return the object after a write, with a version that caches accept; None if deleted."""
        if after is None and before is not None and _is_finalized(before):
            # A node is deleted when its finalizer is removed.
            after = _with_metadata(before, deletionTimestamp=_now())
        if after is None:
            return None
        self._version += 1
        return _with_metadata(after, resourceVersion=str(self._version))


def _split(path: str) -> tuple[str, str]:
    """Return the path of the object or collection, and the subresource."""
    parts = path.split("/")
    start = 3 if parts[1] == "api" else 4
    if len(parts) > start + 2 and parts[start] == "namespaces":
        start += 2
    end = start + 2
    return "/".join(parts[:end]), "/".join(parts[end:])


def _is_merge(request: Request) -> bool:
    return request.headers.get("Content-Type") == Patch.MERGE.value


def _is_finalized(obj: Body) -> bool:
    return FINALIZER_NODE in (obj["metadata"].get("finalizers") or ())


def _is_removed(obj: Body) -> bool:
    metadata = obj["metadata"]
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")


def _version(obj: Body | None) -> str:
    return str((obj or {}).get("metadata", {}).get("resourceVersion", ""))


def _outdated(recorded: Recorded, body: Body, request: Request) -> Response | None:
    """Return the conflict of a write that is based on another version than the last one."""
    preconditions = body.get("preconditions") or body.get("metadata") or {}
    if isinstance(preconditions, Mapping):
        expected = str(preconditions.get("resourceVersion") or "")
        if expected.isdecimal() and int(expected) > 1 and expected != _version(recorded.after):
            return _status(_CONFLICT, "Conflict", request.path)
    return None


def _with_version(body: Body, version: str) -> Body:
    """Return a body in which a version of a dry run is that of the API server."""
    for key in ("metadata", "preconditions"):
        part = body.get(key)
        if isinstance(part, dict) and int(part.get("resourceVersion") or 0) >= _FIRST_VERSION:
            return {**body, key: {**part, "resourceVersion": version}}
    return body


def _dry(request: Request, body: Body) -> Request:
    if request.method == "DELETE":
        body = {**body, "dryRun": ["All"]}
        return replace(request, body=encode(body), repeatable=True)
    query = {**request.query, "dryRun": "All", "fieldValidation": "Strict"}
    headers = {**request.headers, **_JSON}
    return replace(request, query=query, headers=headers, body=encode(body), repeatable=True)


def _created(body: Body) -> Body:
    """Return an object as it would be created, without the API server's defaults."""
    created = deepcopy(body)
    metadata = created["metadata"]
    metadata.pop("resourceVersion", None)
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": _now(), "generation": 1}
    return created


def _merged(obj: Body, patch: Body, *, is_status: bool) -> Body:
    """Return an object with a merge patch; only the spec counts as a generation."""
    content = {key: value for key, value in patch.items() if key != "metadata" or not is_status}
    merged: Body = _merge(obj, content)
    if merged.get("spec") == obj.get("spec"):
        return merged
    return _with_metadata(merged, generation=int(merged["metadata"].get("generation", 0)) + 1)


def _with_metadata(obj: Body, **fields: Any) -> Body:  # noqa: ANN401 - any JSON value
    """Return a copy: what was recorded before stays as it is."""
    return {**obj, "metadata": {**obj["metadata"], **fields}}


def _merge(target: Any, patch: Any) -> Any:  # noqa: ANN401 - RFC 7386
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _response(obj: Body | None) -> Response:
    return Response(_OK, body=encode(obj))


def _status(code: int, reason: str, path: str) -> Response:
    name = path.rpartition("/")[2]
    status = {
        "kind": "Status",
        "code": code,
        "reason": reason,
        "message": f"{name}: {reason}",
        "details": {"name": name},
    }
    return Response(code, body=encode(status))


def _not_found(path: str) -> Response:
    return _status(_NOT_FOUND, "NotFound", path)


_SUCCESS: Final = Response(_OK, body=b'{"kind":"Status","status":"Success"}')
