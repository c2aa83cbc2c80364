"""Correlates occurrences to Events, with client-go's rules for deduplication and rate limits.

- A repeated occurrence increments the count of its Event.
- After ten different messages for one object and reason within ten minutes, further messages are
  combined in one Event with the latest message.
- An object has a burst of 25 Events and then one in five minutes; further occurrences are counted
  in their Event and not sent.

Pure: time is an argument. The state is bounded: the least recently used objects, reasons and Events
are evicted, which restarts their counts.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

COMBINED: Final = "(combined from similar events): "
_CACHE_SIZE: Final = 4096
_SIMILAR_SECONDS: Final = 600.0
_SIMILAR_MESSAGES: Final = 10
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
_NAME_LIMIT: Final = 253


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The involved object of an Event."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    # Not part of the identity of the object.
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of an event of an object."""

    object: ObjectReference
    type: str
    reason: str
    message: str


@dataclass(slots=True, eq=False)
class EventSeries:
    """All occurrences that one Event represents."""

    name: str
    object: ObjectReference
    type: str
    reason: str
    message: str
    first: datetime
    last: datetime
    count: int = 0
    stored: bool = False
    """Whether the Event was created; set by the recorder."""
    waiting_since: float | None = None
    """The time of the event loop since which an occurrence is not written; set by the recorder."""


@dataclass(slots=True)
class _Similar:
    last: float
    messages: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _TokenBucket:
    since: float
    tokens: float = _BURST

    def take(self, now: float) -> bool:
        self.tokens = min(_BURST, self.tokens + (now - self.since) / _REFILL_SECONDS)
        self.since = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class _LRUCache(Generic[K, V]):
    """A dict that evicts the least recently used entry."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get_or_create(self, key: K, create: Callable[[], V]) -> V:
        if key not in self._entries:
            self._entries[key] = create()
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
        return self._entries[key]


class Correlator:
    """Correlates occurrences to event series."""

    def __init__(self, *, cache_size: int = _CACHE_SIZE) -> None:
        self._buckets: _LRUCache[ObjectReference, _TokenBucket] = _LRUCache(cache_size)
        self._similar: _LRUCache[Hashable, _Similar] = _LRUCache(cache_size)
        self._series: _LRUCache[Hashable, EventSeries] = _LRUCache(cache_size)
        self._last_stamp = 0

    def observe(self, occurrence: Occurrence, *, now: float, at: datetime) -> EventSeries | None:
        """Return the series that this occurrence extends; None if its object is rate limited.

        `now` is monotonic time, `at` the wall time.
        """
        obj, message = occurrence.object, occurrence.message
        key: Hashable = (obj, occurrence.type, occurrence.reason, message)
        if self._has_too_many_messages(occurrence, now):
            key = (obj, occurrence.type, occurrence.reason)
            message = COMBINED + message
        series = self._series.get_or_create(
            key,
            lambda: EventSeries(
                name=self._name(obj, at),
                object=obj,
                type=occurrence.type,
                reason=occurrence.reason,
                message=message,
                first=at,
                last=at,
            ),
        )
        series.count += 1
        series.last = at
        series.message = message
        bucket = self._buckets.get_or_create(obj, lambda: _TokenBucket(now))
        return series if bucket.take(now) else None

    def _has_too_many_messages(self, occurrence: Occurrence, now: float) -> bool:
        key = (occurrence.object, occurrence.type, occurrence.reason)
        similar = self._similar.get_or_create(key, lambda: _Similar(now))
        if now - similar.last > _SIMILAR_SECONDS:
            similar.messages.clear()
        similar.last = now
        similar.messages.add(hash(occurrence.message))
        if len(similar.messages) < _SIMILAR_MESSAGES:
            return False
        # One below the limit: the set stays bounded, and the next new message is combined too.
        similar.messages.pop()
        return True

    def _name(self, obj: ObjectReference, at: datetime) -> str:
        """Return `<object>.<hex>`, unique in this process even within one nanosecond."""
        self._last_stamp = max(self._last_stamp + 1, int(at.timestamp() * 1e9))
        suffix = f".{self._last_stamp:x}"
        return obj.name[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix
