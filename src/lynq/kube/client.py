"""The verbs of the API server on typed objects.

Every verb takes `into`: the type that the answer is decoded to, a dict when not given. With
`into=Partial` the API server is asked to send metadata only. Namespace and name of an object
that is sent are read from the object. `ClientOptions.timeout` bounds one attempt; to bound a call
with its retries, use `asyncio.timeout`.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

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
from lynq.kube.session import ClientOptions
from lynq.kube.transport import Transport
from lynq.kube.watch import Bookmark, WatchEvent, watch_events

_WATCH_SECONDS = 300.0
"""How long a watch lasts at least, if all goes well."""
_WATCH_GRACE = 30.0
"""How much longer than the API server means to keep a watch its silence is borne."""


class Client:
    """A connection to one API server.

    `Client.connect` makes one; `fenced`, `unfenced` and `intercepted` return others that share
    its connections and limits, and end with it.
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
        """Return a client to be entered with `async with`."""
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
        """Close all connections, also those of the clients derived from this one."""
        await self._transport.session.close()

    def fenced(self, fence: Fence) -> "Client":
        """Return a client whose writes ask this fence before every attempt."""
        return Client(self._transport.fenced(fence))

    def unfenced(self) -> "Client":
        """Return a client for the lease itself: it asks no fence and queues behind nobody."""
        return Client(self._transport.fenced(None).with_slots_of_its_own())

    def intercepted(self, *interceptors: Interceptor) -> "Client":
        """Return a client with more interceptors, inside those of this one."""
        return Client(self._transport.intercepted(*interceptors))

    def acting_as(self, user: str) -> "Client":
        """Return a client whose requests have the rights of this user and no others.

        The API server adds the groups of a service account by itself.
        """

        async def impersonate(request: Request, send: Send) -> Response:
            headers = {**request.headers, "Impersonate-User": user}
            return await send(replace(request, headers=headers))

        return self.intercepted(impersonate)

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
        """Return all objects, read page by page, as of one moment.

        When the API server forgets that moment between two pages, all is read again at once:
        the only way to a consistent answer that cannot be overtaken a second time.
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
        """Yield all objects in pages; raises Gone when the reader takes too long over them."""
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
        """Create an object; its namespace may be given apart."""
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
        dry_run: bool = False,
        subresource: str | None = None,
        into: type[T] = DICT,
    ) -> T:
        """Create or change an object to hold these fields, owned by this manager.

        Raises Conflict naming fields and managers when others own them, unless forced.
        """
        request = Request(
            "apply",
            "PATCH",
            requests.object_path(resource, obj, subresource),
            requests.writing(manager, dry_run=dry_run, force=force),
            accept(into) | APPLY,
            requests.body(resource, obj),
            repeatable=dry_run or not pinned(obj),
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
        """Change the fields that the patch names; a JSON patch is a list of operations."""
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
        """Put this object in place of the one there is.

        With a resourceVersion in it, raises Conflict when someone was faster.
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
        """Ask for an object to go; return whether it is gone, or finalizers and pods keep it.

        With a uid, or a resource_version, raises Conflict when the object is another one by
        then, or has changed. Without a uid the request is never repeated: it could hit an
        object that took the name meanwhile.
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
        return requests.is_gone(response.body, what=f"delete {request.path}")

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
        seconds: float | None = None,
    ) -> AsyncGenerator[WatchEvent[T] | Bookmark, None]:
        """Yield what happens after the resourceVersion `since`, until the API server ends it.

        With `initial_events` the objects there are come first, as ADDED events closed by a
        Bookmark with `initial_events_end`. Wrap it in `contextlib.aclosing`, so that leaving
        the loop early gives the connection back at once.
        """
        # Spread, so that the watches of one start do not all end in one moment later.
        seconds = seconds or _WATCH_SECONDS * random.uniform(1, 2)  # noqa: S311
        request = Request(
            "watch",
            "GET",
            resource.path(namespace),
            requests.selection(labels, fields)
            | requests.watching(since, seconds=seconds, initial_events=initial_events),
            accept(into),
            timeout=seconds + _WATCH_GRACE,
            repeatable=True,
            stream=True,
        )
        return watch_events(self._transport, request, into)

    async def raw(self, path: str, *, headers: Mapping[str, str] | None = None) -> bytes:
        """Return what the API server answers to a GET of any path: discovery, /version, /readyz."""
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
            # The items of built-in kinds come without what the list already says.
            if isinstance(item, dict):
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
        return page
