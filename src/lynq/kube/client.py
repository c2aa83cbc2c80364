"""The Kubernetes client: the verbs of the API server on typed objects.

Every verb takes `into`, the type that the response is decoded to; the default is a dict. With
`into=PartialObject` the API server sends metadata only. Namespace and name of an object in a
request body are read from the object. `ClientOptions.timeout` bounds one attempt; `asyncio.timeout`
bounds a call with its retries.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from multidict import CIMultiDict

from lynq.kube import requests
from lynq.kube.codec import DICT, Object, T, decode, decode_list, encode, pinned
from lynq.kube.config import ClusterConfig
from lynq.kube.errors import Gone
from lynq.kube.requests import (
    APPLY,
    JSON,
    Fence,
    Interceptor,
    JsonPatch,
    Patch,
    Propagation,
    Request,
    Response,
    Send,
    accept,
)
from lynq.kube.resource import ObjectList, Resource
from lynq.kube.session import ClientOptions, header_value
from lynq.kube.transport import Transport
from lynq.kube.watch import Bookmark, WatchEvent, watch_events

_WATCH_SECONDS = 300.0
"""The shortest timeout that a watch requests."""
_WATCH_GRACE = 30.0
"""Seconds of silence that are tolerated after the requested timeout of a watch."""


class Client:
    """A connection to one API server.

    `Client.connect` creates one. `fenced`, `unfenced`, `intercepted` and `with_low_priority` return
    derived clients that share its connections and limits, and are closed with it.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def connect(
        cls,
        config: ClusterConfig,
        *,
        options: ClientOptions | None = None,
        interceptors: tuple[Interceptor, ...] = (),
        fence: Fence | None = None,
    ) -> "Client":
        """Return a client; enter it with `async with`."""
        return cls(Transport.to(config, options or ClientOptions(), interceptors, fence))

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        self._transport.session.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections, also for derived clients."""
        await self._transport.session.close()

    @property
    def max_in_flight(self) -> int:
        """The number of concurrent requests, without watches."""
        return self._transport.options.max_in_flight

    @property
    def is_busy(self) -> bool:
        """Whether the API server took long to respond a moment ago."""
        return self._transport.slots.is_busy

    def fenced(self, fence: Fence) -> "Client":
        """Return a client that checks this fence before every attempt of a write."""
        return Client(self._transport.fenced(fence))

    def unfenced(self) -> "Client":
        """Return a client for the lease itself: without a fence, and with its own request slots."""
        return Client(self._transport.fenced(None).with_own_slots())

    async def wait_until_quiet(self, limit: float) -> bool:
        """Wait until requests are few and quick, for `limit` seconds; return whether they are."""
        return await self._transport.slots.wait_until_quiet(limit)

    def with_low_priority(self) -> "Client":
        """Return a client whose requests are not counted by `wait_until_quiet`."""
        return Client(self._transport.with_low_priority())

    def intercepted(self, *interceptors: Interceptor) -> "Client":
        """Return a client with additional interceptors, inside of the existing ones."""
        return Client(self._transport.intercepted(*interceptors))

    def acting_as(self, user: str, groups: Collection[str] = ()) -> "Client":
        """Return a client that impersonates a user.

        The API server adds the groups of a service account, and system:authenticated.
        """

        async def impersonate(request: Request, send: Send) -> Response:
            headers = CIMultiDict(request.headers)
            headers["Impersonate-User"] = user
            for group in groups:
                headers.add("Impersonate-Group", group)
            return await send(replace(request, headers=headers))

        return self.intercepted(impersonate)

    def authenticated_by(self, token: str) -> "Client":
        """Return a client that sends a token; this client must have no credentials of its own."""

        async def authenticate(request: Request, send: Send) -> Response:
            headers = {**request.headers, "Authorization": f"Bearer {header_value(token)}"}
            return await send(replace(request, headers=headers))

        return self.intercepted(authenticate)

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        into: type[T] = DICT,
    ) -> T:
        """Return one object."""
        request = Request(
            "get",
            "GET",
            resource.path(namespace, name),
            headers=accept(into),
            repeatable=True,
        )
        return await self._object(request, into)

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        into: type[T] = DICT,
        labels: str | None = None,
        fields: str | None = None,
        page_size: int = 500,
    ) -> ObjectList[T]:
        """Return all objects at one resourceVersion, read in pages.

        If that version expires between two pages, the list is repeated without pages, which cannot
        expire again.
        """
        items: list[T] = []
        version = ""
        pages = self.pages(
            resource, namespace, into=into, labels=labels, fields=fields, page_size=page_size
        )
        try:
            async for page in pages:
                items += page.items
                version = page.resource_version
        except Gone:
            query = requests.selection(labels, fields)
            return await self._page(resource, namespace, query, into)
        return ObjectList(items, version)

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        into: type[T] = DICT,
        labels: str | None = None,
        fields: str | None = None,
        page_size: int = 500,
    ) -> AsyncIterator[ObjectList[T]]:
        """Yield all objects in pages; raises Gone if the version expires before the last page."""
        query = {**requests.selection(labels, fields), "limit": str(page_size)}
        while True:
            page = await self._page(resource, namespace, query, into)
            yield page
            if not page.continuation:
                return
            query["continue"] = page.continuation

    async def create(
        self,
        resource: Resource,
        obj: Object,
        namespace: str | None = None,
        *,
        manager: str | None = None,
        dry_run: bool = False,
        into: type[T] = DICT,
    ) -> T:
        """Create an object; `namespace` is needed only if the object has none."""
        request = Request(
            "create",
            "POST",
            requests.collection_path(resource, obj, namespace),
            requests.writing(manager, dry_run=dry_run),
            accept(into) | JSON,
            requests.body(resource, obj),
            repeatable=dry_run,
        )
        return await self._object(request, into)

    async def apply(
        self,
        resource: Resource,
        obj: Object,
        *,
        manager: str,
        force: bool = False,
        must_create: bool = False,
        dry_run: bool = False,
        subresource: str | None = None,
        into: type[T] = DICT,
    ) -> T:
        """Apply an object with server-side apply, as this field manager.

        Raises Conflict with fields and managers if others own fields of it, unless forced. With
        `must_create`, raises Conflict if the object exists; the request is safe to repeat, because
        a second attempt changes nothing.
        """
        is_repeatable = dry_run or not pinned(obj)
        if must_create:
            obj = requests.with_unused_version(obj)
        request = Request(
            "apply",
            "PATCH",
            requests.object_path(resource, obj, subresource),
            requests.writing(manager, dry_run=dry_run, force=force),
            accept(into) | APPLY,
            requests.body(resource, obj),
            repeatable=is_repeatable,
        )
        return await self._object(request, into)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: dict[str, Any] | JsonPatch,
        namespace: str | None = None,
        *,
        kind: Patch = Patch.MERGE,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        into: type[T] = DICT,
    ) -> T:
        """Patch an object; a JSON patch is a list of operations."""
        request = Request(
            "patch",
            "PATCH",
            resource.path(namespace, name, subresource),
            requests.writing(manager, dry_run=dry_run),
            accept(into) | {"Content-Type": kind.value},
            encode(patch),
            repeatable=dry_run,
        )
        return await self._object(request, into)

    async def replace(
        self,
        resource: Resource,
        obj: Object,
        *,
        subresource: str | None = None,
        manager: str | None = None,
        dry_run: bool = False,
        into: type[T] = DICT,
    ) -> T:
        """Replace an object.

        Raises Conflict if the object has a resourceVersion that is not the current one.
        """
        request = Request(
            "replace",
            "PUT",
            requests.object_path(resource, obj, subresource),
            requests.writing(manager, dry_run=dry_run),
            accept(into) | JSON,
            requests.body(resource, obj),
            repeatable=dry_run,
        )
        return await self._object(request, into)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> bool:
        """Delete an object; return False if finalizers or a grace period delay its removal.

        With a uid or a resource_version as precondition, raises Conflict if it does not hold.
        Without a uid the request is not repeated after an error: it could delete a re-created
        object. Nor is it with a resource_version, which the first attempt may have changed.
        """
        request = Request(
            "delete",
            "DELETE",
            resource.path(namespace, name),
            headers=JSON,
            body=requests.delete_options(uid, resource_version, propagation, dry_run=dry_run),
            repeatable=dry_run or (uid is not None and resource_version is None),
        )
        response = await self._transport.send(request)
        return requests.is_removed(response.body, what=f"delete {request.path}")

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        since: str | None = None,
        initial_events: bool = False,
        labels: str | None = None,
        fields: str | None = None,
        into: type[T] = DICT,
        timeout_seconds: float | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent[T] | Bookmark, None]:
        """Yield the events after the resourceVersion `since`, until the API server ends the watch.

        A watch that is silent for `ClientOptions.watch_silence` ends, too: behind a load balancer
        its peer may be dead. `on_open` is called when the API server has accepted the watch.

        With `initial_events` the existing objects come first, as ADDED events followed by a
        Bookmark with `initial_events_end`. Use it in `contextlib.aclosing`, so that an early exit
        from the loop releases the connection at once.
        """
        # Jittered, so that watches that start together do not end together.
        seconds = timeout_seconds or _WATCH_SECONDS * random.uniform(1, 2)  # noqa: S311
        request = Request(
            "watch",
            "GET",
            resource.path(namespace),
            requests.selection(labels, fields)
            | requests.watching(since, seconds=seconds, initial_events=initial_events),
            accept(into),
            timeout=min(seconds + _WATCH_GRACE, self._transport.options.watch_silence),
            repeatable=True,
            stream=True,
        )
        return watch_events(self._transport, request, into, on_open)

    async def raw(self, path: str, *, headers: Mapping[str, str] | None = None) -> bytes:
        """Return the response body of a GET of any path: discovery, /version, /readyz."""
        request = Request("get", "GET", path, headers=headers or {}, repeatable=True)
        return (await self._transport.send(request)).body

    async def _object(self, request: Request, into: type[T]) -> T:
        response = await self._transport.send(request)
        return decode(response.body, into, what=f"{request.verb} {request.path}")

    async def _page(
        self, resource: Resource, namespace: str | None, query: Mapping[str, str], into: type[T]
    ) -> ObjectList[T]:
        path = resource.path(namespace)
        request = Request(
            "list", "GET", path, dict(query), accept(into, listed=True), repeatable=True
        )
        response = await self._transport.send(request)
        page = decode_list(response.body, into, what=f"list {path}")
        for item in page.items:
            # The items of built-in kinds have neither apiVersion nor kind.
            if isinstance(item, dict):
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
        return page
