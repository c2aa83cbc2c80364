"""The informer: keeps a store in sync with the API server by list and watch.

One task reads one stream. It starts as a list (ADDED events, closed by a bookmark) and continues as
the watch, so no event is lost between the two. If the API server does not support streamed lists,
the list is read in pages and watched from its version. When the stream ends, the next one resumes
from the last version; when that version has expired (410), the informer lists again after a
jittered delay.

No failure ends an informer. A kind that is not served yet, a missing permission, an unavailable API
server: each is retried with back-off, and `health` reports the problem. The store keeps its last
content meanwhile.

Handlers are called synchronously and in order: they add keys to queues and must not block. A
handler is called once per change, whether the watch or the response to our own write was first.
"""

import asyncio
import time
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
    ConnectionFailed,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    ServiceUnavailable,
    TimedOut,
    TooManyRequests,
    UnexpectedResponse,
    error_location,
    error_text,
)
from lynq.kube.metrics import InformerMetrics, RuntimeMetrics
from lynq.kube.resource import Resource
from lynq.kube.store import IndexFunction, ObjectChange, ObjectVersion, Store, version_of
from lynq.kube.watch import Bookmark, EventType, WatchEvent

W = TypeVar("W", bound=HasMetadata)
T = TypeVar("T")

_UNCHANGED: Any = lambda obj: obj  # noqa: E731 - no annotation says "then T is W"

DEFAULT_BACKOFF: Final = Backoff(base=0.4, cap=30.0, jitter=1.0)

_OUTAGES: Final = (ConnectionFailed, TimedOut, ServiceUnavailable, TooManyRequests)

_STABLE_WATCH: Final = 5.0
"""Seconds after which an open watch counts as working, also before its first event."""
_LONG_WATCH: Final = 60.0
"""Seconds after which the end of a watch without any event is no failure."""

_log = structlog.get_logger(__name__)


class InformerPhase(Enum):
    """The phase of an informer."""

    LISTING = "Listing"
    WATCHING = "Watching"
    FAILING = "Failing"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True, slots=True)
class InformerHealth:
    """The phase of an informer, and its last problem.

    A problem is cleared by the next event. On a quiet resource that is a bookmark, up to a minute
    after the connection is re-established.
    """

    phase: InformerPhase
    problem: str = ""


class Informer(Generic[W, T]):
    """A cache of one resource type, of wire structs `W` or their projections `T`.

    With `into=PartialObject` the API server sends metadata only.
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
        fields: str | None = None,
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
        self._fields = fields
        self._backoff = backoff
        self._metrics = metrics or RuntimeMetrics.unexposed().informer(resource.name)
        self._metrics.observe(self.store.__len__)
        self._handlers: list[Callable[[ObjectChange[T]], None]] = []
        self._synced = asyncio.Event()
        # The version from which the next watch resumes; None: list first.
        self._resume_version: str | None = None
        # The keys of the list that is being read.
        self._listed: set[ObjectKey] = set()
        self._streamed_lists = True
        self._failures = 0
        self._failing_since: float | None = None
        self._open_since: float | None = None

    async def synced(self) -> None:
        """Wait until the first complete list is in the store."""
        await self._synced.wait()

    @property
    def has_synced(self) -> bool:
        """Whether the first complete list is in the store."""
        return self._synced.is_set()

    @property
    def is_current(self) -> bool:
        """Whether the store follows the API server: the list is complete, and the watch works."""
        return self.has_synced and self.health.phase is InformerPhase.WATCHING

    @property
    def unwatched_for(self) -> float:
        """Seconds for which the API server has rejected list or watch; 0 while a watch is open.

        The store has its last content, and nothing tells whether it is still true. An API server
        that cannot be reached rejects nothing: it comes back for all kinds.
        """
        now = time.monotonic()
        if self._failing_since is None or self._is_open(now):
            return 0.0
        return now - self._failing_since

    def _is_open(self, now: float) -> bool:
        return self._open_since is not None and now - self._open_since > _STABLE_WATCH

    def on_change(self, handler: Callable[[ObjectChange[T]], None]) -> None:
        """Call `handler` with every change, and at once with the existing objects."""
        self._handlers.append(handler)
        for key, value in self.store.items():
            self._call(handler, ObjectChange(key, None, value))

    def absorb(self, obj: W) -> None:
        """Store the response to our own write, so that reads see it at once.

        The object must match the namespace and selectors of this informer; this is not checked.
        """
        self._notify(self.store.absorb(ObjectVersion.of(obj.metadata), partial(self._project, obj)))

    def absorb_unselected(self, obj: W) -> None:
        """Remove an object whose labels no longer match the selector after our own write."""
        self._notify(self.store.absorb_unselected(ObjectVersion.of(obj.metadata)))

    def absorb_deleted(self, key: ObjectKey, uid: str) -> None:
        """Remove the object with this uid after our own delete.

        Only after the API server has removed it (not found, or no finalizer left): an accepted
        delete is not sufficient.
        """
        self._notify(self.store.absorb_deleted(key, uid))

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                progress = await self._list_and_watch()
            except Gone:
                self._version_expired()
            except (BadRequest, Invalid) as error:
                self._list_rejected(error)
            except KubeError as error:
                self._failed(error)
            except Exception as error:  # noqa: BLE001 - a bug in a projection or an index
                self._crashed(error)
            else:
                self._failing_since = None
                # The API server ends every watch after some minutes. A watch without any event may
                # have been closed at once: without back-off this would become a busy loop.
                self._failures = 0 if progress else self._failures + 1
            if self._failures:
                await asyncio.sleep(self._backoff.delay(self._failures - 1))

    async def _list_and_watch(self) -> bool:
        """Read one stream to its end; return whether it made progress."""
        if self._resume_version is None:
            self._listed.clear()
            self.store.begin_list()
            if not self._streamed_lists:
                await self._list_pages()
        received = False
        opened_at = time.monotonic()
        stream = self._client.watch(
            self.resource,
            self._namespace,
            since=self._resume_version,
            initial_events=self._resume_version is None,
            labels=self._labels,
            fields=self._fields,
            into=self._into,
            on_open=self._opened,
        )
        async with aclosing(stream):
            async for event in stream:
                self._handle(event)
                received = True
        lasted = time.monotonic() - opened_at > _LONG_WATCH
        return (received or lasted) and self._resume_version is not None

    def _opened(self) -> None:
        self._open_since = time.monotonic()

    async def _list_pages(self) -> None:
        pages = self._client.pages(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            into=self._into,
        )
        version = ""
        async for page in pages:
            version = page.resource_version
            for obj in page.items:
                self._merge(obj)
        self._complete_list(version, mode="paged")

    def _handle(self, event: WatchEvent[W] | Bookmark) -> None:
        match event:
            case Bookmark(version, initial_events_end=True):
                self._complete_list(version, mode="streamed")
            case Bookmark(version):
                self._advance(version)
            case WatchEvent(EventType.DELETED, obj):
                deleted = ObjectVersion.of(obj.metadata)
                self._listed.discard(deleted.key)
                self._notify(self.store.remove(deleted, partial(self._project, obj)))
                self._advance(obj.metadata.resource_version)
            case WatchEvent(_, obj):
                self._merge(obj)
                self._advance(obj.metadata.resource_version)

    def _merge(self, obj: W) -> None:
        version = ObjectVersion.of(obj.metadata)
        if self._resume_version is None:
            self._listed.add(version.key)
        self._notify(self.store.merge(version, partial(self._project, obj)))

    def _advance(self, version: str) -> None:
        # The objects of a list are ordered by name: until it is complete, their versions are not a
        # position to resume from.
        if self._resume_version is not None:
            self._resume_version = version
            self.store.advance(version_of(version))
            self._recovered()

    def _complete_list(self, version: str, *, mode: str) -> None:
        if version_of(version) < self.store.synced_version:
            # The cluster was restored from a backup: the next list replaces all objects.
            self.store.reset_versions()
            raise UnexpectedResponse(f"{self.resource}: the resourceVersion went backwards")
        for change in self.store.complete_list(self._listed, version_of(version)):
            self._notify(change)
        self._listed.clear()
        self._resume_version = version
        self._metrics.lists[mode].inc()
        self._metrics.synced.set(1)
        self._synced.set()
        if mode == "streamed":
            self._recovered()

    def _version_expired(self) -> None:
        self._resume_version = None
        self._failures += 1
        self.health = InformerHealth(InformerPhase.LISTING)
        _log.info("resourceVersion expired, listing again", kind=self._kind)

    def _list_rejected(self, error: KubeError) -> None:
        if self._resume_version is None and self._streamed_lists:
            self._streamed_lists = False
            _log.info("streamed list not supported, listing in pages", kind=self._kind)
        else:
            self._failed(error)

    def _failed(self, error: KubeError) -> None:
        now = time.monotonic()
        if isinstance(error, _OUTAGES):
            self._failing_since = None
        elif self._failing_since is None or self._is_open(now):
            self._failing_since = now
        self._open_since = None
        self._failures += 1
        self._metrics.failures.inc()
        phase = InformerPhase.FORBIDDEN if isinstance(error, Forbidden) else InformerPhase.FAILING
        health = InformerHealth(phase, str(error))
        if health != self.health:
            _log.warning("informer failing, retrying", kind=self._kind, error=health.problem)
        self.health = health

    def _crashed(self, error: Exception) -> None:
        # Without its message, which can contain a value of the object.
        self._failed(
            UnexpectedResponse(f"{self.resource}: {type(error).__name__} while processing an event")
        )
        _log.error("informer failed unexpectedly", kind=self._kind, traceback=error_location(error))

    def _recovered(self) -> None:
        self._failures = 0
        self._failing_since = None
        if self.health.problem:
            _log.info("informer recovered", kind=self._kind)
        if self.health.phase is not InformerPhase.WATCHING:
            self.health = InformerHealth(InformerPhase.WATCHING)

    @property
    def _kind(self) -> str:
        return str(self.resource)

    def _notify(self, change: ObjectChange[T] | None) -> None:
        if change is not None:
            for handler in self._handlers:
                self._call(handler, change)

    def _call(self, handler: Callable[[ObjectChange[T]], None], change: ObjectChange[T]) -> None:
        try:
            handler(change)
        except Exception as error:  # noqa: BLE001 - a failing handler must not stop the others
            self._metrics.handler_errors.inc()
            _log.error(
                "change handler failed",
                kind=self._kind,
                key=str(change.key),
                error=error_text(error),
                traceback=error_location(error),
            )
