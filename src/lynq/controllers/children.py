"""Watches the objects of nodes: one watch per kind, started when the kind is first needed.

Every managed object has the label `lynq.sh/managed`, and the watches select it. A shard selects the
objects of its own buckets. Kinds that are ready as soon as they exist are watched as metadata only,
so that the contents of Secrets and ConfigMaps are never received. The caches keep the metadata that
ownership needs and the readiness, not the objects.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from lynq.api import LynqNode, Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_NODE_NAME, LABEL_NODE, LABEL_NODE_NAMESPACE
from lynq.api.naming import tracked_name
from lynq.api.node_metadata import is_deleting
from lynq.api.wire import Wire
from lynq.controllers.cached_client import ResourceCache
from lynq.controllers.options import UNSHARDED, Shard
from lynq.controllers.own_writes import DELETED, OwnWrites
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.core.node.jobs import JobEnd, is_job, job_end
from lynq.core.node.managed_fields import has_update_entry, owned_fields_digest
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.node.predicates import ObjectEffect, object_changed
from lynq.core.readiness.rules import (
    ROLLING_WORKLOADS,
    EvaluateReadiness,
    evaluate_readiness,
    reads_body,
)
from lynq.core.readiness.verdict import Readiness
from lynq.kube import Client, Discovery, ObjectChange, PartialObject, Resource, RuntimeMetrics
from lynq.kube.errors import KubeError
from lynq.kube.store import version_of

BY_NODE: Final = "node"
"""Index of children by the node in their labels."""
BY_OWNER: Final = "owner"
"""Index of children by the uids of their owners."""


class KindNotWatched(Exception):  # noqa: N818 - names the condition
    """The objects of a kind cannot be observed; the message is the reason."""

    def __init__(self, problem: str, *, namespaced: bool = True) -> None:
        super().__init__(problem)
        self.namespaced = namespaced


class FullObject(Wire, frozen=True):
    """An object of any kind, with the fields that readiness is evaluated from."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: Any = None
    status: Any = None


class Child(Struct, frozen=True, gc=False):
    """The cached state of an object that belongs to a node, or is desired by one."""

    live: LiveObject
    generation: int
    resource_version: str
    has_update_entry: bool = False
    """Whether our managedFields entry has the operation Update instead of Apply."""


class ChildChange(Struct, frozen=True):
    """An object that was created, changed or deleted."""

    ref: ObjectRef
    states: tuple[Child, ...]
    """The previous and the current state, as far as they exist."""
    is_own_write: bool
    """Whether the change is the response to our own write."""
    became_ready: bool = False
    """Whether the object is a workload that became ready."""
    is_progress: bool = False
    """Whether the object is still not ready, for another reason than before."""
    end: JobEnd | None = None
    """How the object ended, if it is a Job that was deleted; None if that was not observed."""


class WatchedKind:
    """The watched objects of one kind."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        metrics: RuntimeMetrics,
        namespaces: tuple[str, ...],
        timing: Timing = DEFAULT_TIMING,
        *,
        readiness: EvaluateReadiness = evaluate_readiness,
        shard: Shard = UNSHARDED,
        on_change: Callable[[ChildChange], None] = lambda _: None,
    ) -> None:
        self._timing = timing
        self._readiness = readiness
        self._shard = shard
        self._is_workload = resource.kind in ROLLING_WORKLOADS
        self._is_job = is_job(resource.group, resource.kind)
        self._on_change = on_change
        self._own_writes: OwnWrites[ChildChange] = OwnWrites(self._deliver)
        self.resource = resource
        has_body = reads_body(resource.api_version, resource.kind)
        self.into: type[Any] = FullObject if has_body else PartialObject
        self._is_own_write = False
        """Whether the change that handlers are called with is the response to our own write."""
        self.was_unwatched = False
        """Whether the kind was not watched at the last check."""
        self._started = time.monotonic()
        self.cache: ResourceCache[Any, Child] = ResourceCache(
            client,
            resource,
            into=self.into,
            project=self.child_of,
            metrics=metrics,
            namespaces=namespaces,
            labels=shard.selector(is_workload=self._is_workload),
            indexes={BY_NODE: _nodes_by_label, BY_OWNER: lambda child: child.live.owner_uids},
        )
        self.cache.on_change(self._changed)

    @property
    def is_starting(self) -> bool:
        """Whether the cache is not synced yet, but may still sync in time."""
        if self.cache.has_synced or self.cache.is_forbidden:
            return False
        timing = self._timing
        has_failed = bool(self.cache.health.problem)
        tolerance = timing.watch_retry_tolerance if has_failed else timing.max_list_duration
        return time.monotonic() - self._started < tolerance

    @property
    def is_unwatched(self) -> bool:
        """Whether the watch of the synced cache was lost: its content may be outdated."""
        return self.cache.has_synced and self.cache.unwatched_for > self._timing.unwatched_after

    def child_of(self, obj: Any) -> Child:  # noqa: ANN401 - FullObject or PartialObject
        """Return the cached state of an object."""
        metadata: Metadata = obj.metadata
        observed = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "generation": metadata.generation,
                "annotations": metadata.annotations,
                "deletionTimestamp": "set" if is_deleting(obj) else "",
            },
            "spec": getattr(obj, "spec", None),
            "status": getattr(obj, "status", None),
        }
        live = live_object(obj, self._readiness(observed))
        return Child(
            live, metadata.generation, metadata.resource_version, has_update_entry(metadata)
        )

    def ref(self, key: ObjectKey) -> ObjectRef:
        """Return the reference of the object under a key, existing or not."""
        resource = self.resource
        return ObjectRef(resource.api_version, resource.kind, key.namespace, key.name)

    def child(self, key: ObjectKey) -> Child | None:
        """Return the object under a key, if it exists."""
        return self.cache.get(key)

    def writing(self, key: ObjectKey) -> AbstractContextManager[None]:
        """Return the context of our own write of an object, whose watch event wakes no node."""
        return self._own_writes.in_flight(key)

    def store_response(self, obj: Any) -> None:  # noqa: ANN401 - FullObject or PartialObject
        """Cache the response to our own write without waking the node."""
        with self._own_write(obj.metadata.key, version_of(obj.metadata.resource_version)):
            self.cache.store_response(obj)

    def store_if_selected(self, obj: Any) -> None:  # noqa: ANN401 - FullObject or PartialObject
        """Cache the response to our own patch; drop an object that the watch does not select."""
        if self._shard.selects(obj.metadata.labels, is_workload=self._is_workload):
            self.store_response(obj)
            return
        with self._own_write(obj.metadata.key, version_of(obj.metadata.resource_version)):
            self.cache.store_unselected(obj)

    def store_deletion(self, key: ObjectKey, uid: str) -> None:
        """Drop an object that our own request deleted, without waking the node."""
        with self._own_write(key, DELETED):
            self.cache.store_deletion(key, uid)

    @contextmanager
    def _own_write(self, key: ObjectKey, version: float) -> Iterator[None]:
        """Mark the changes of the block as our own write, which created this version."""
        self._own_writes.accepted(key, version)
        self._is_own_write = True
        try:
            yield
        finally:
            self._is_own_write = False

    def _changed(self, change: ObjectChange[Child]) -> None:
        old, new = change.old, change.new
        effect = object_changed(old.live if old else None, new.live if new else None)
        if effect is ObjectEffect.NONE:
            return
        child_change = ChildChange(
            self.ref(change.key),
            tuple(child for child in (old, new) if child),
            is_own_write=self._is_own_write,
            became_ready=self._is_workload and _is_ready(new) and not _is_ready(old),
            is_progress=effect is ObjectEffect.PROGRESS,
            end=self._end(change),
        )
        version = version_of(new.resource_version) if new else DELETED
        may_be_own = not child_change.is_own_write and not child_change.became_ready
        if may_be_own and self._own_writes.hold_back(change.key, child_change, version):
            # Nodes that wait for the object are woken by any write.
            child_change = replace(child_change, is_own_write=True)
        self._on_change(child_change)

    def _end(self, change: ObjectChange[Child]) -> JobEnd | None:
        """Return how a Job ended that was deleted."""
        if not self._is_job or change.new is not None:
            return None
        return job_end(
            last=change.old.live if change.old else None,
            final=change.final.live if change.final else None,
        )

    def _deliver(self, held_back: ChildChange) -> None:
        """Deliver a change that was held back; it may have replaced one that is no progress."""
        self._on_change(replace(held_back, is_progress=False))


class Children:
    """The watches of all kinds that nodes have objects of.

    `on_change` is called with every change of an object.
    """

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        metrics: RuntimeMetrics,
        *,
        on_change: Callable[[ChildChange], None],
        namespaces: tuple[str, ...] = (),
        timing: Timing = DEFAULT_TIMING,
        readiness: EvaluateReadiness = evaluate_readiness,
        shard: Shard = UNSHARDED,
    ) -> None:
        self._shard = shard
        self._timing = timing
        self._readiness = readiness
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._on_change = on_change
        self._namespaces = namespaces
        self._kinds: dict[tuple[str, str], WatchedKind] = {}
        self._discovering: set[tuple[str, str]] = set()
        self._group = asyncio.TaskGroup()
        self._running = False

    async def run(self) -> None:
        """Watch the requested kinds until canceled."""
        async with self._group:
            self._running = True
            try:
                for kind in self._kinds.values():
                    self._start(kind)
                await self._check_watches()
            finally:
                # Nodes still change while the watches end; no change may start another watch.
                self._running = False

    async def _check_watches(self) -> None:
        """Report all objects of a kind whose watch was lost or is open again."""
        while True:
            await asyncio.sleep(self._timing.unwatched_check_interval)
            for kind in list(self._kinds.values()):
                if kind.is_unwatched is not kind.was_unwatched:
                    kind.was_unwatched = kind.is_unwatched
                    for key, child in kind.cache.items():
                        change = ChildChange(kind.ref(key), (child,), is_own_write=False)
                        self._on_change(change)

    async def watched(self, resource: Resource, *, allow_outdated: bool = False) -> WatchedKind:
        """Return a kind whose cache is synced; raises KindNotWatched.

        The first call starts the watch. A watch that does not sync in time is retried forever;
        until it syncs, this method raises. It raises, too, if the watch was lost later, unless
        `allow_outdated` is set: then the caller must read objects from the API server.
        """
        kind = self._kind(resource)
        while kind.is_starting:
            await asyncio.sleep(self._timing.watch_poll_interval)
        is_lost = kind.is_unwatched and not allow_outdated
        if is_lost or not kind.cache.has_synced:
            problem = kind.cache.health.problem or "the API server has not responded yet"
            raise KindNotWatched(
                f"cannot watch {resource.kind} objects: {problem}", namespaced=resource.namespaced
            )
        return kind

    def kinds(self) -> list[WatchedKind]:
        """Return the kinds whose caches are synced."""
        return [kind for kind in self._kinds.values() if kind.cache.has_synced]

    def start_watches(self, node: LynqNode) -> None:
        """Start the watches of the kinds in a node's status."""
        for resource in node.status.resources:
            self._start_watch(resource.api_version, resource.kind)

    def are_workloads_ready(self, node: LynqNode) -> bool:
        """Return whether the workloads of a node are ready; its status can be behind.

        The node may belong to another shard, so that its kinds are not watched yet. Then their
        watches are started, and the result is False until they are synced: `on_change` is called
        for every object that they list.
        """
        workloads = [entry for entry in node.status.resources if entry.kind in ROLLING_WORKLOADS]
        for workload in workloads:
            self._start_watch(workload.api_version, workload.kind)
        return all(
            self._is_ready(
                workload.api_version, workload.kind, ObjectKey(workload.namespace, workload.name)
            )
            for workload in workloads
        )

    def _start_watch(self, api_version: str, kind: str) -> None:
        name = (api_version, kind)
        # Status entries of the Go operator have no version until the node's next reconcile.
        if not api_version or name in self._kinds or name in self._discovering:
            return
        if self._running:
            self._discovering.add(name)
            self._group.create_task(self._discover(api_version, kind), name=f"discovery of {kind}")

    async def _discover(self, api_version: str, kind: str) -> None:
        try:
            self._kind(await self._discovery.resource(api_version, kind))
        except KubeError:
            # The next reconcile requests the kind again.
            return
        finally:
            self._discovering.discard((api_version, kind))

    def _is_ready(self, api_version: str, kind: str, key: ObjectKey) -> bool:
        watched = self._kinds.get((api_version, kind))
        return _is_ready(watched.child(key) if watched else None)

    def _kind(self, resource: Resource) -> WatchedKind:
        name = (resource.api_version, resource.kind)
        if name not in self._kinds:
            kind = WatchedKind(
                self._client,
                resource,
                self._metrics,
                self._namespaces,
                self._timing,
                readiness=self._readiness,
                shard=self._shard,
                on_change=self._on_change,
            )
            self._kinds[name] = kind
            if self._running:
                self._start(kind)
        return self._kinds[name]

    def _start(self, kind: WatchedKind) -> None:
        self._group.create_task(kind.cache.run(), name=f"watch of {kind.resource}")


def _is_ready(child: Child | None) -> bool:
    return child is not None and child.live.readiness.is_ready


def live_object(obj: Any, readiness: Readiness) -> LiveObject:  # noqa: ANN401 - as `child_of`
    """Return the observed state of an object."""
    metadata: Metadata = obj.metadata
    return LiveObject(
        uid=metadata.uid,
        readiness=readiness,
        labels=_shared_labels(tuple(metadata.labels.items())),
        annotations=metadata.annotations,
        owner_uids=tuple(owner.uid for owner in metadata.owner_references),
        is_deleting=is_deleting(obj),
        digest=owned_fields_digest(metadata),
        created_at=metadata.creation_timestamp,
    )


def node_by_label(live: LiveObject) -> ObjectKey | None:
    """Return the node in the labels of an object."""
    label, namespace = live.labels.get(LABEL_NODE), live.labels.get(LABEL_NODE_NAMESPACE)
    if not label or not namespace:
        return None
    return ObjectKey(namespace, tracked_name(label, live.annotations.get(ANNOTATION_NODE_NAME)))


def _nodes_by_label(child: Child) -> Iterator[ObjectKey]:
    if node := node_by_label(child.live):
        yield node


@lru_cache(maxsize=1024)
def _shared_labels(labels: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Return labels as a dict: most objects have only ours, which differ by bucket."""
    return dict(labels)
