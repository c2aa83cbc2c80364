"""Records what happens to LynqNodes and their objects, beside the operator and its proxy."""

import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from background_tasks import run_in_background
from built_in_resources import DEPLOYMENTS, SERVICES
from faults.tenants import watched_namespaces
from lynq.kube import EventType, Resource, WatchEvent
from lynq.kube.errors import KubeError
from lynq.kube.resource import CONFIG_MAPS, SECRETS
from operated.environment import NODES, Environment, Object
from waiting import eventually

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""

CHILDREN = {resource.kind: resource for resource in (CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS)}
PROTECT = "lynq.sh/protect"
PAUSED = "lynq.sh/paused"


@dataclass(slots=True)
class Period:
    """A time in which something holds; open while `until` is infinite."""

    since: float
    until: float = math.inf

    def covers(self, at: float, margin: float = 0.0) -> bool:
        """Return whether it holds at a time, and has held for the margin."""
        return self.since + margin <= at < self.until


@dataclass(frozen=True, slots=True)
class Deletion:
    """The first sign that an object is deleted: its deletionTimestamp, or its absence."""

    at: float
    key: Key
    uid: str
    before: Object
    """The last state before the deletion."""

    def has_mark(self, name: str) -> bool:
        """Return whether the object had a label or annotation of this name."""
        metadata = self.before["metadata"]
        return any(name in metadata.get(field, {}) for field in ("labels", "annotations"))


@dataclass(slots=True)
class Recorder:
    """The history of all children in both namespaces and of the LynqNodes."""

    objects: dict[Key, Object] = field(default_factory=dict)
    """What exists now."""
    deletions: list[Deletion] = field(default_factory=list)
    annotated: dict[tuple[str, str], list[Period]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By name of a node and annotation: when it was protected or paused."""
    rewritten: list[str] = field(default_factory=list)
    """The changes of data that nothing allows."""
    _lines: dict[Key, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    _deleting: set[str] = field(default_factory=set)
    _watching: int = 0

    async def watch(self, env: Environment, resource: Resource, namespace: str) -> None:
        """Record the changes of the objects of one kind until cancelled."""
        since: str | None = None
        while True:
            stream = env.client.watch(
                resource, namespace, since=since, initial_events=since is None
            )
            try:
                async with aclosing(stream) as events:
                    async for event in events:
                        if isinstance(event, WatchEvent):
                            since = event.object["metadata"]["resourceVersion"]
                            self._observe(resource.kind, event.type, event.object)
                        else:
                            self._watching += event.initial_events_end
                            since = event.resource_version
            except KubeError:
                # The API server ends a watch now and then; the next one resumes.
                continue

    def is_watching(self, kinds: int) -> bool:
        return self._watching >= kinds

    @property
    def keys(self) -> list[Key]:
        """All objects that have ever existed."""
        return [*self._lines]

    def timeline(self, key: Key) -> Iterator[tuple[float, str]]:
        """Yield what happened to the objects of a name."""
        yield from self._lines[key]

    def _observe(self, kind: str, event_type: EventType, obj: Object) -> None:
        now, metadata = time.monotonic(), obj["metadata"]
        key: Key = kind, metadata["namespace"], metadata["name"]
        before = self.objects.get(key, obj)
        self._lines[key].append((now, f"{event_type.value} {_summary(obj)}"))
        is_deleted = event_type is EventType.DELETED
        if (is_deleted or "deletionTimestamp" in metadata) and metadata[
            "uid"
        ] not in self._deleting:
            self._deleting.add(metadata["uid"])
            self.deletions.append(Deletion(now, key, metadata["uid"], before))
        if kind == NODES.kind:
            for name in (PROTECT, PAUSED):
                present = not is_deleted and name in metadata.get("annotations", {})
                self._observe_annotation(metadata["name"], name, now, present=present)
        elif metadata["uid"] == before["metadata"]["uid"]:
            self._compare_data(key, before, obj)
        if is_deleted:
            self.objects.pop(key, None)
        else:
            self.objects[key] = obj

    def _observe_annotation(self, node: str, name: str, now: float, *, present: bool) -> None:
        periods = self.annotated[node, name]
        was_present = bool(periods) and periods[-1].until == math.inf
        if present and not was_present:
            periods.append(Period(now))
        elif was_present and not present:
            periods[-1].until = now

    def _compare_data(self, key: Key, before: Object, obj: Object) -> None:
        """Note data that must never change: of a Once object, and of others' objects."""
        old, new = before.get("data", {}), obj.get("data", {})
        if "keep" in old and new.get("keep") != old["keep"]:
            self.rewritten.append(f"{key}: the field of another manager was removed")
        if "once" in old and old != new:
            self.rewritten.append(f"{key}: a Once object was written again")


def _summary(obj: Object) -> str:
    """Return the parts of an object that tell what happened to it."""
    metadata = obj["metadata"]
    owners = [owner["uid"][:8] for owner in metadata.get("ownerReferences", ())]
    marks = sorted(
        f"{name.removeprefix('lynq.sh/')}={value}"
        for field in ("labels", "annotations")
        for name, value in metadata.get(field, {}).items()
        if name.removeprefix("lynq.sh/")
        in ("managed", "node", "orphaned", "adopted", "protect", "paused", "deletion-policy")
    )
    conditions = obj.get("status", {}).get("conditions", [])
    ready = [f"{item['status']}/{item['reason']}" for item in conditions if item["type"] == "Ready"]
    deleting = " deleting" if "deletionTimestamp" in metadata else ""
    parts = {"owners": owners, "marks": marks, "data": obj.get("data"), "ready": ready}
    text = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    return f"{metadata['uid'][:8]}{deleting} {text}"


@asynccontextmanager
async def recording(env: Environment) -> AsyncIterator[Recorder]:
    """Record the objects of an environment while the block runs."""
    recorder = Recorder()
    own, other = watched_namespaces(env)
    watched = [(NODES, own)]
    watched += [(resource, place) for resource in CHILDREN.values() for place in (own, other)]
    async with run_in_background(
        *(recorder.watch(env, resource, place) for resource, place in watched)
    ):
        await eventually(lambda: recorder.is_watching(len(watched)))
        yield recorder
