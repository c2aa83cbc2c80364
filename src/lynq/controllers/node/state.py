"""What the process remembers of a node between two passes. Lost with it, and nothing breaks.

It serves three ends: our own writes are recognised, so that everybody else's show; what is refused,
or changed again and again by others, is written at growing intervals; and what a request has told
is not asked for twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.controllers.node.slow_render import PendingRender
from lynq.core.graph.build import collect
from lynq.core.node.objects import ObjectRef
from lynq.core.node.state import LastWrite, WriteCause, WriteRejection
from lynq.kube import Backoff

ObjectPlace = tuple[str, str, str, str]

_OVERWRITTEN: Final = Backoff(base=1.0, cap=60.0)
"""Between two writes of the same content that somebody else undoes."""
_REFUSED: Final = Backoff(base=1.0, cap=30.0)
"""Between two attempts of what the API server refuses."""
_QUIET: Final = timedelta(minutes=5)
"""After which somebody else's change is no longer part of a fight."""
_HICCUP: Final = timedelta(seconds=30)
"""How long failures that may pass are put up with."""
_STARTING: Final = timedelta(seconds=5)
"""How long an API server that has just started may not know all definitions."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """Our last write of an object, and how often in a row it had to be done again."""

    memory: LastWrite
    at: datetime
    times: int = 0
    since: datetime = _NEVER
    """When it was first refused, if it is."""


@dataclass(frozen=True, slots=True)
class LiveBody:
    """A whole object, for the fields of it that are left to others; as text it takes a tenth."""

    fingerprint: object
    text: bytes

    @classmethod
    def of(cls, fingerprint: object, obj: Mapping[str, Any]) -> "LiveBody":
        """Return what is kept of an object."""
        return cls(fingerprint, msgspec.json.encode(obj))

    @property
    def obj(self) -> dict[str, Any]:
        """The object."""
        known: dict[str, Any] = msgspec.json.decode(self.text)
        return known


@dataclass(frozen=True, slots=True)
class CachedRender:
    """An object that takes long to render: with keys that are made for it, until it is written."""

    basis: object
    making: PendingRender


@dataclass(slots=True)
class NodeState:
    """What is remembered of one node."""

    uid: str
    generation: int = 0
    """Of the node's spec at the last look."""
    written: dict[ObjectRef, AppliedObject] = field(default_factory=dict)
    bodies: dict[ObjectRef, LiveBody] = field(default_factory=dict)
    made: dict[str, CachedRender] = field(default_factory=dict)
    """By the ids of their resources."""
    unseen: dict[str, datetime] = field(default_factory=dict)
    """Since when objects could not be looked at, by the ids of their resources."""
    unserved: dict[ObjectRef, datetime] = field(default_factory=dict)
    """Since when the API server knows no such kind, by the objects that are to go."""
    asked: set[str] = field(default_factory=set)
    """The uids of objects that were asked to go."""
    absent: set[ObjectRef] = field(default_factory=set)
    """Objects of a leaving node that the API server said are not there."""
    problems: dict[ObjectRef, str] = field(default_factory=dict)
    """Why objects could not be removed."""
    told_stuck: tuple[str, ...] = ()
    """What was last told of objects that could not be removed."""
    retains: bool = False
    """Whether a leaving node was asked to leave its objects behind."""
    rounds: int = 0
    """How often a leaving node was looked at."""
    awaited: str = ""
    """The hub's write that the node is not ready with yet."""
    status_written: datetime = _NEVER
    contested: frozenset[ObjectPlace] = frozenset()
    """Objects that it wants, and that are another node's."""

    def begin(self, node: LynqNode) -> None:
        """Begin a look: what was refused under another spec is tried again at once."""
        if node.metadata.generation != self.generation:
            self.generation = node.metadata.generation
            self.unseen.clear()
            for this in self.made.keys() - {each.id for each in collect(node.spec)}:
                self.drop_made(this)
            refused = [ref for ref, known in self.written.items() if known.memory.refusal]
            for ref in refused:
                del self.written[ref]

    def bears(self, this: str, now: datetime) -> bool:
        """Return whether a resource's object could not be looked at for a short time only."""
        return now - self.unseen.setdefault(this, now) < _HICCUP

    def is_surely_unserved(self, ref: ObjectRef, now: datetime) -> bool:
        """Return whether the API server has known no such kind for some time."""
        return now - self.unserved.setdefault(ref, now) >= _STARTING

    def drop_made(self, this: str) -> None:
        """Forget an object that was made for the resource of this id, or still is."""
        if made := self.made.pop(this, None):
            made.making.cancel()

    def of(self, ref: ObjectRef) -> LastWrite | None:
        """Return our last write of an object."""
        known = self.written.get(ref)
        return known.memory if known else None

    def took(
        self, ref: ObjectRef, content: str, digest: bytes, cause: WriteCause, now: datetime
    ) -> LastWrite:
        """Remember a write that the API server took."""
        known = self.written.get(ref)
        # A forced write is our own idea. All else that repeats the last one was undone by somebody.
        times = 0 if cause is WriteCause.FORCED else _times(known, content, now)
        again = now + timedelta(seconds=_OVERWRITTEN.delay(times - 1)) if times else None
        memory = LastWrite(hash=content, digest=digest, not_before=again)
        self.written[ref] = AppliedObject(memory, now, times)
        return memory

    def refused(
        self, ref: ObjectRef, content: str, refusal: WriteRejection, now: datetime
    ) -> LastWrite:
        """Remember a write that the API server did not take."""
        known = self.written.get(ref)
        was_refused = known is not None and known.memory.refusal is not None
        again_so = known if known and was_refused and known.memory.hash == content else None
        times, since = (again_so.times + 1, again_so.since) if again_so else (0, now)
        if now - since >= _HICCUP:
            refusal = replace(refusal, is_passing=False)
        again = now + timedelta(seconds=_REFUSED.delay(times))
        memory = LastWrite(hash=content, refusal=refusal, not_before=again)
        self.written[ref] = AppliedObject(memory, now, times, since)
        return memory

    def found(self, ref: ObjectRef, content: str, digest: bytes, now: datetime) -> LastWrite:
        """Take what an earlier process wrote for our own write: changes since then show."""
        memory = LastWrite(hash=content, digest=digest)
        self.written[ref] = AppliedObject(memory, now)
        return memory

    def keep_only(self, refs: set[ObjectRef]) -> None:
        """Forget the objects that the node has nothing to do with any more."""
        for known in (self.written, self.bodies):
            for ref in known.keys() - refs:
                del known[ref]


def _times(known: AppliedObject | None, content: str, now: datetime) -> int:
    """Return how often in a row others have undone this content, this time included."""
    if known is None or known.memory.hash != content or known.memory.refusal is not None:
        return 0
    return known.times + 1 if now - known.at < _QUIET else 1


class NodeStates:
    """What is remembered of each node."""

    def __init__(self) -> None:
        self._nodes: dict[ObjectKey, NodeState] = {}
        self._contests: dict[ObjectPlace, set[ObjectKey]] = {}

    def of(self, node: LynqNode) -> NodeState:
        """Return the memory of a node; one made anew under the same name starts with none."""
        key, uid = node.metadata.key, node.metadata.uid
        known = self._nodes.get(key)
        if known is None or known.uid != uid:
            self.forget(key)
            known = self._nodes[key] = NodeState(uid)
        return known

    def forget(self, key: ObjectKey) -> None:
        """Drop what is remembered of a node that is gone."""
        if known := self._nodes.pop(key, None):
            for this in tuple(known.made):
                known.drop_made(this)
            self._contest(key, known, frozenset())

    def contest(self, node: LynqNode, refs: Iterable[ObjectRef]) -> None:
        """Remember which objects a node wants that are another node's."""
        self._contest(node.metadata.key, self.of(node), frozenset(ref.place for ref in refs))

    def contesting(self, ref: ObjectRef) -> set[ObjectKey]:
        """Return the nodes that want an object and cannot have it."""
        return set(self._contests.get(ref.place, ()))

    def _contest(self, key: ObjectKey, memory: NodeState, places: frozenset[ObjectPlace]) -> None:
        for place in memory.contested - places:
            waiting = self._contests.get(place, set())
            waiting.discard(key)
            if not waiting:
                self._contests.pop(place, None)
        for place in places:
            self._contests.setdefault(place, set()).add(key)
        memory.contested = places
