"""The objects that nodes own, one watch per kind, begun when somebody first needs the kind.

Every managed object carries `lynq.sh/managed`, and the API server sends us no others. Of kinds that
are ready as soon as they exist it sends metadata only, so the contents of Secrets and ConfigMaps
never come here. What is kept of an object is its marks and the verdict on its readiness.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct, field

from lynq.api import LynqNode, Metadata
from lynq.api.metadata import ObjectKey
from lynq.api.names import (
    ANNOTATION_NODE_NAME,
    LABEL_MANAGED,
    LABEL_NODE,
    LABEL_NODE_NAMESPACE,
    TRUE,
)
from lynq.api.naming import tracked_name
from lynq.api.node_metadata import is_deleting
from lynq.api.wire import Wire
from lynq.controllers.cached_client import ResourceCache
from lynq.controllers.managed_fields import digest_of_ours, updated_by_us
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.core.node.objects import LiveObject, ObjectRef
from lynq.core.readiness.rules import evaluate_readiness, reads_body
from lynq.kube import Client, Discovery, ObjectChange, PartialObject, Resource, RuntimeMetrics
from lynq.kube.errors import KubeError

BY_NODE: Final = "node"
"""Index of children: by the node that their labels name."""
BY_OWNER: Final = "owner"
"""Index of children: by the uids of their owners."""

_WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


class KindNotWatched(Exception):  # noqa: N818 - says what is the case
    """Objects of a kind cannot be seen at the moment; says why."""


class FullObject(Wire, frozen=True):
    """An object of any kind, as far as readiness looks at it."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: Any = None
    status: Any = None


class Child(Struct, frozen=True, gc=False):
    """An object in the cluster that a node has made, or wants to."""

    live: LiveObject
    generation: int
    resource_version: str
    is_updated: bool = False
    """Whether fields of it are ours by Update, and not by Apply."""


@dataclass(frozen=True, slots=True)
class ChildChange:
    """An object that came, changed or went."""

    ref: ObjectRef
    states: tuple[Child, ...]
    """What it was, and what it is."""
    by_us: bool
    """Whether the change is the answer to a write of our own: its writer knows."""
    is_up: bool = False
    """Whether it is a workload that has become ready."""


class WatchedKind:
    """The objects of one kind."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        metrics: RuntimeMetrics,
        namespaces: tuple[str, ...],
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self._timing = timing
        self.resource = resource
        has_body = reads_body(resource.api_version, resource.kind)
        self.into: type[Any] = FullObject if has_body else PartialObject
        self.absorbing = False
        """Whether a change that is being told is the answer to a write of our own."""
        self._begun = time.monotonic()
        self.cache: ResourceCache[Any, Child] = ResourceCache(
            client,
            resource,
            into=self.into,
            project=self.child_of,
            metrics=metrics,
            namespaces=namespaces,
            labels=f"{LABEL_MANAGED}={TRUE}",
            indexes={BY_NODE: _named_nodes, BY_OWNER: lambda child: child.live.owners},
        )

    @property
    def may_come_up(self) -> bool:
        """Whether its objects are not listed yet, and it is too early to give them up."""
        if self.cache.has_synced or self.cache.is_forbidden:
            return False
        timing = self._timing
        has_failed = bool(self.cache.health.problem)
        patience = timing.watch_retry_tolerance if has_failed else timing.max_list_duration
        return time.monotonic() - self._begun < patience

    def child_of(self, obj: Any) -> Child:  # noqa: ANN401 - Whole or Partial
        """Return what is kept of an object."""
        known: Metadata = obj.metadata
        deleting = is_deleting(obj)
        seen = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "generation": known.generation,
                "annotations": known.annotations,
                "deletionTimestamp": "set" if deleting else "",
            },
            "spec": getattr(obj, "spec", None),
            "status": getattr(obj, "status", None),
        }
        live = LiveObject(
            uid=known.uid,
            verdict=evaluate_readiness(seen),
            labels=known.labels,
            annotations=known.annotations,
            owners=tuple(owner.uid for owner in known.owner_references),
            deleting=deleting,
            digest=digest_of_ours(known),
            created=known.creation_timestamp,
        )
        return Child(live, known.generation, known.resource_version, updated_by_us(known))

    def ref(self, key: ObjectKey) -> ObjectRef:
        """Return the object under a key, whether it is there or not."""
        resource = self.resource
        return ObjectRef(resource.api_version, resource.kind, key.namespace, key.name)

    def child(self, key: ObjectKey) -> Child | None:
        """Return an object, if there is one."""
        return self.cache.get(key)

    def absorb(self, obj: Any) -> None:  # noqa: ANN401 - Whole or Partial
        """Take the answer to a write; whoever wrote it need not be woken by it."""
        self.absorbing = True
        try:
            self.cache.absorb(obj)
        finally:
            self.absorbing = False

    def absorb_deleted(self, key: ObjectKey, uid: str) -> None:
        """Take the API server's word that an object is gone; nobody is woken by it."""
        self.absorbing = True
        try:
            self.cache.absorb_deleted(key, uid)
        finally:
            self.absorbing = False


class Children:
    """All kinds that are watched; `wake` is told what becomes of children."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        metrics: RuntimeMetrics,
        *,
        wake: Callable[["ChildChange"], None],
        namespaces: tuple[str, ...] = (),
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self._timing = timing
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._wake = wake
        self._namespaces = namespaces
        self._kinds: dict[tuple[str, str], WatchedKind] = {}
        self._sought: set[tuple[str, str]] = set()
        self._group = asyncio.TaskGroup()
        self._running = False
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        """Watch the kinds that are asked for, until cancelled."""
        async with self._group:
            self._running = True
            try:
                for kind in self._kinds.values():
                    self._begin(kind)
                await self._stopped.wait()
            finally:
                # Nodes still change while the watches end, and nobody may begin another.
                self._running = False

    async def watched(self, resource: Resource) -> WatchedKind:
        """Return a kind whose objects have been listed; raises Unwatched.

        The first to ask begins the watch. One that does not come up soon is tried for ever; until
        it does, this raises.
        """
        kind = self._kind(resource)
        while kind.may_come_up:
            await asyncio.sleep(self._timing.watch_poll_interval)
        if not kind.cache.has_synced:
            problem = kind.cache.health.problem or "the API server has not answered yet"
            raise KindNotWatched(f"{resource.kind} objects cannot be watched: {problem}")
        return kind

    def kinds(self) -> list[WatchedKind]:
        """Return the kinds that have been listed."""
        return [kind for kind in self._kinds.values() if kind.cache.has_synced]

    def seek(self, node: LynqNode) -> None:
        """Begin the watches of all kinds that a node has objects of, or is about to."""
        for each in node.status.resources:
            self._seek(each.api_version, each.kind)

    def are_workloads_ready(self, node: LynqNode) -> bool:
        """Return whether a node's workloads are ready themselves: its status can be behind.

        The node may be another shard's, and its kinds watched by nobody here. Their watches are
        begun, and until they are up the answer is no: `wake` is told of what they show.
        """
        workloads = [each for each in node.status.resources if each.kind in _WORKLOADS]
        for each in workloads:
            self._seek(each.api_version, each.kind)
        return all(
            self._is_ready(each.api_version, each.kind, ObjectKey(each.namespace, each.name))
            for each in workloads
        )

    def _seek(self, api_version: str, kind: str) -> None:
        """Begin the watch of a kind, if there is none and nobody is about to."""
        name = (api_version, kind)
        # The Go operator's entries do not say the version, until the node's next pass.
        if not api_version or name in self._kinds or name in self._sought:
            return
        if self._running:
            self._sought.add(name)
            self._group.create_task(self._find(api_version, kind), name=f"search for {kind}")

    async def _find(self, api_version: str, kind: str) -> None:
        try:
            self._kind(await self._discovery.resource(api_version, kind))
        except KubeError:
            # Whoever asked looks again in a moment.
            return
        finally:
            self._sought.discard((api_version, kind))

    def _is_ready(self, api_version: str, kind: str, key: ObjectKey) -> bool:
        known = self._kinds.get((api_version, kind))
        return _is_up(known.child(key) if known else None)

    def _kind(self, resource: Resource) -> WatchedKind:
        name = (resource.api_version, resource.kind)
        if name not in self._kinds:
            kind = WatchedKind(
                self._client, resource, self._metrics, self._namespaces, self._timing
            )
            kind.cache.on_change(lambda change: self._told(kind, change))
            self._kinds[name] = kind
            if self._running:
                self._begin(kind)
        return self._kinds[name]

    def _begin(self, kind: WatchedKind) -> None:
        self._group.create_task(kind.cache.run(), name=f"watch of {kind.resource}")

    def _told(self, kind: WatchedKind, change: ObjectChange[Child]) -> None:
        old, new = change.old, change.new
        if old and new and old.live == new.live:
            return
        states = tuple(child for child in (old, new) if child)
        is_up = kind.resource.kind in _WORKLOADS and _is_up(new) and not _is_up(old)
        self._wake(ChildChange(kind.ref(change.key), states, by_us=kind.absorbing, is_up=is_up))


def _is_up(child: Child | None) -> bool:
    return child is not None and child.live.verdict.is_ready


def node_named_by(live: LiveObject) -> ObjectKey | None:
    """Return the node that an object's labels name."""
    label, namespace = live.labels.get(LABEL_NODE), live.labels.get(LABEL_NODE_NAMESPACE)
    if not label or not namespace:
        return None
    return ObjectKey(namespace, tracked_name(label, live.annotations.get(ANNOTATION_NODE_NAME)))


def _named_nodes(child: Child) -> Iterator[ObjectKey]:
    if node := node_named_by(child.live):
        yield node
