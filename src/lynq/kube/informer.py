"""Keeps a store in step with the API server: list, watch, resume, list again.

One task reads one stream. It begins as a list (objects as ADDED events, closed by a bookmark) and
goes on as the watch, so nothing can fall between the two. API servers that refuse streamed lists
are read page by page, once, and watched from there. When the stream ends, the next one resumes
from the last version seen; when the server has forgotten that version (410), the list starts over
after a moment that differs from informer to informer.

No failure ends an informer. A kind that is not served yet, a right that is missing, an API server
that is down: each is retried with growing pauses for as long as the informer runs, and until then
`health` says what is wrong. The store keeps what it had; readers decide whether that will do.

Handlers are called on the spot, in order, between two events: they put keys into queues and must
not block. They see a change once, whether the watch or the answer to our own write told it first.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import structlog

from lynq.api.metadata import HasMetadata, ObjectKey
from lynq.kube.backoff import Backoff
from lynq.kube.client import Client
from lynq.kube.errors import (
    BadRequest,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    UnexpectedResponse,
    error_location,
    error_text,
)
from lynq.kube.metrics import InformerMetrics, RuntimeMetrics
from lynq.kube.resource import Resource
from lynq.kube.store import IndexFunction, ObjectChange, Sighting, Store, version_of
from lynq.kube.watch import Bookmark, EventType, WatchEvent

W = TypeVar("W", bound=HasMetadata)
T = TypeVar("T")

_UNCHANGED: Any = lambda obj: obj  # noqa: E731 - no annotation says "then T is W"

DEFAULT_BACKOFF: Final = Backoff(base=0.4, cap=30.0, jitter=1.0)

_log = structlog.get_logger(__name__)


class InformerPhase(Enum):
    """What an informer is busy with."""

    LISTING = "Listing"
    WATCHING = "Watching"
    FAILING = "Failing"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True, slots=True)
class InformerHealth:
    """How an informer is, and what keeps it from being well.

    A problem stays until the API server has sent something again. On a quiet resource that is
    its next bookmark, up to a minute after the connection is back.
    """

    phase: InformerPhase
    problem: str = ""


class Informer(Generic[W, T]):
    """A cache of one resource type, as wire structs `W` or as what `project` makes of them.

    Without a projection the store keeps what the API server sent. `into=Partial` asks it for
    metadata only.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        into: type[W],
        project: Callable[[W], T] = _UNCHANGED,
        namespace: str | None = None,
        labels: str | None = None,
        indexes: Mapping[str, IndexFunction[T]] = MappingProxyType({}),
        backoff: Backoff = DEFAULT_BACKOFF,
        metrics: InformerMetrics | None = None,
    ) -> None:
        self.resource = resource
        self.store: Store[T] = Store(indexes)
        self.health = InformerHealth(InformerPhase.LISTING)
        self._client = client
        self._into = into
        self._project = project
        self._namespace = namespace
        self._labels = labels
        self._backoff = backoff
        self._metrics = metrics or RuntimeMetrics.unread().informer(resource.name)
        self._metrics.observe(self.store.__len__)
        self._handlers: list[Callable[[ObjectChange[T]], None]] = []
        self._synced = asyncio.Event()
        # Where the next watch resumes; None: list first.
        self._position: str | None = None
        # The keys that the list under way has shown.
        self._listed: set[ObjectKey] = set()
        self._streams = True
        self._failures = 0

    async def synced(self) -> None:
        """Wait until the first complete list is in the store."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        """Whether a complete list has ever been in the store."""
        return self._synced.is_set()

    def on_change(self, handler: Callable[[ObjectChange[T]], None]) -> None:
        """Call `handler` with every change; it is told at once of what is already here."""
        self._handlers.append(handler)
        for key, value in self.store.items():
            self._call(handler, ObjectChange(key, None, value))

    def absorb(self, obj: W) -> None:
        """Take the API server's answer to a write, so that we read what we wrote.

        The object must be one that this informer watches (namespace and labels): the store
        takes the caller's word for it.
        """
        self._tell(self.store.absorb(Sighting.of(obj.metadata), partial(self._project, obj)))

    def absorb_deleted(self, key: ObjectKey, uid: str) -> None:
        """Take the API server's word that the object with this uid is gone.

        That is: not found, or deleted with no finalizer left. An accepted delete alone is not.
        """
        self._tell(self.store.absorb_deleted(key, uid))

    async def run(self) -> None:
        """Keep the store in step until cancelled."""
        while True:
            try:
                progress = await self._follow()
            except Gone:
                self._forgotten()
            except (BadRequest, Invalid) as error:
                self._refused(error)
            except KubeError as error:
                self._failed(error)
            except Exception as error:  # noqa: BLE001 - a bug in a projection or an index
                self._stumbled(error)
            else:
                # The server ends every watch after some minutes. One that brought us no further
                # may have been cut at once: without a pause, the next one too, and the next.
                self._failures = 0 if progress else self._failures + 1
            if self._failures:
                await asyncio.sleep(self._backoff.delay(self._failures - 1))

    async def _follow(self) -> bool:
        """Read one stream to its end; return whether it brought us further."""
        if self._position is None:
            self._listed.clear()
            if not self._streams:
                await self._list_pages()
        told = False
        stream = self._client.watch(
            self.resource,
            self._namespace,
            since=self._position,
            initial_events=self._position is None,
            labels=self._labels,
            into=self._into,
        )
        async with aclosing(stream):
            async for event in stream:
                self._take(event)
                told = True
        return told and self._position is not None

    async def _list_pages(self) -> None:
        pages = self._client.pages(
            self.resource, self._namespace, labels=self._labels, into=self._into
        )
        version = ""
        async for page in pages:
            version = page.resource_version
            for obj in page.items:
                self._show(obj)
        self._settle(version, mode="paged")

    def _take(self, event: WatchEvent[W] | Bookmark) -> None:
        match event:
            case Bookmark(version, initial_events_end=True):
                self._settle(version, mode="streamed")
            case Bookmark(version):
                self._advance(version)
            case WatchEvent(EventType.DELETED, obj):
                seen = Sighting.of(obj.metadata)
                self._listed.discard(seen.key)
                self._tell(self.store.remove(seen))
                self._advance(obj.metadata.resource_version)
            case WatchEvent(_, obj):
                self._show(obj)
                self._advance(obj.metadata.resource_version)

    def _show(self, obj: W) -> None:
        seen = Sighting.of(obj.metadata)
        if self._position is None:
            self._listed.add(seen.key)
        self._tell(self.store.merge(seen, partial(self._project, obj)))

    def _advance(self, version: str) -> None:
        # The objects of a list come in the order of their names: until it is complete, their
        # versions say nothing about how far we are.
        if self._position is not None:
            self._position = version
            self.store.advance(version_of(version))
            self._recovered()

    def _settle(self, version: str, *, mode: str) -> None:
        if version_of(version) < self.store.told:
            # Only a cluster restored from a backup does that. Nothing we hold is newer than what
            # it says now, so the next list replaces all.
            self.store.distrust()
            raise UnexpectedResponse(f"{self.resource}: the resourceVersion went backwards")
        for change in self.store.settle(self._listed, version_of(version)):
            self._tell(change)
        self._listed.clear()
        self._position = version
        self._metrics.lists[mode].inc()
        self._metrics.synced.set(1)
        self._synced.set()
        if mode == "streamed":
            self._recovered()

    def _forgotten(self) -> None:
        self._position = None
        self._failures += 1
        self.health = InformerHealth(InformerPhase.LISTING)
        _log.info("listing again: the API server has forgotten our version", kind=self._kind)

    def _refused(self, error: KubeError) -> None:
        if self._position is None and self._streams:
            self._streams = False
            _log.info("streamed list refused, reading pages", kind=self._kind)
        else:
            self._failed(error)

    def _failed(self, error: KubeError) -> None:
        self._failures += 1
        self._metrics.failures.inc()
        phase = InformerPhase.FORBIDDEN if isinstance(error, Forbidden) else InformerPhase.FAILING
        health = InformerHealth(phase, str(error))
        if health != self.health:
            _log.warning("informer failing, retrying", kind=self._kind, error=health.problem)
        self.health = health

    def _stumbled(self, error: Exception) -> None:
        # Not its words, which can hold a value of the object: health is shown in many places.
        self._failed(UnexpectedResponse(f"{self.resource}: {type(error).__name__} while reading"))
        _log.error("informer stumbled", kind=self._kind, traceback=error_location(error))

    def _recovered(self) -> None:
        self._failures = 0
        if self.health.problem:
            _log.info("informer recovered", kind=self._kind)
        if self.health.phase is not InformerPhase.WATCHING:
            self.health = InformerHealth(InformerPhase.WATCHING)

    @property
    def _kind(self) -> str:
        return str(self.resource)

    def _tell(self, change: ObjectChange[T] | None) -> None:
        if change is not None:
            for handler in self._handlers:
                self._call(handler, change)

    def _call(self, handler: Callable[[ObjectChange[T]], None], change: ObjectChange[T]) -> None:
        try:
            handler(change)
        except Exception as error:  # noqa: BLE001 - one bad handler must not stop the others
            self._metrics.handler_errors.inc()
            _log.error(
                "change handler failed",
                kind=self._kind,
                key=str(change.key),
                error=error_text(error),
                traceback=error_location(error),
            )
