"""Which Event an occurrence belongs to: repeats, near-repeats and floods, as client-go sorts them.

- The same thing said again about the same object is one Event whose count grows.
- Ten different messages for one reason about one object within ten minutes are too many to read:
  from then on they share one Event, which shows the latest.
- An object may speak 25 times at once and then once in five minutes; what is beyond is counted in
  its Event and not sent.

Pure: time comes in as an argument. What is remembered is bounded: the objects, reasons and events
that were not heard of for longest are forgotten first, which costs a count that starts over.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

COMBINED: Final = "(combined from similar events): "
_REMEMBERED: Final = 4096
_SIMILAR_SECONDS: Final = 600.0
_SIMILAR_MESSAGES: Final = 10
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
_NAME_LIMIT: Final = 253


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    # Where the object stood says when, not which: it does not tell two objects apart.
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened to an object once."""

    about: ObjectReference
    type: str
    reason: str
    message: str


@dataclass(slots=True, eq=False)
class EventSeries:
    """All occurrences that one Event object stands for."""

    name: str
    about: ObjectReference
    type: str
    reason: str
    message: str
    first: datetime
    last: datetime
    count: int = 0
    stored: bool = False
    """Whether the API server has the Event; noted by who writes it."""


@dataclass(slots=True)
class _Similar:
    last: float
    messages: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Allowance:
    since: float
    tokens: float = _BURST

    def spend(self, now: float) -> bool:
        self.tokens = min(_BURST, self.tokens + (now - self.since) / _REFILL_SECONDS)
        self.since = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class _Recent(Generic[K, V]):
    """A dict that forgets what was not asked for in the longest time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def recall(self, key: K, make: Callable[[], V]) -> V:
        if key not in self._entries:
            self._entries[key] = make()
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
        return self._entries[key]


class Correlator:
    """Sorts occurrences into series."""

    def __init__(self, *, remembered: int = _REMEMBERED) -> None:
        self._allowances: _Recent[ObjectReference, _Allowance] = _Recent(remembered)
        self._similar: _Recent[Hashable, _Similar] = _Recent(remembered)
        self._series: _Recent[Hashable, EventSeries] = _Recent(remembered)
        self._last_stamp = 0

    def observe(self, occurrence: Occurrence, *, now: float, at: datetime) -> EventSeries | None:
        """Return the series that has grown by this, or None when its object is too loud.

        `now` is a steady clock's time, `at` the calendar's.
        """
        about, message = occurrence.about, occurrence.message
        key: Hashable = (about, occurrence.type, occurrence.reason, message)
        if self._too_varied(occurrence, now):
            key = (about, occurrence.type, occurrence.reason)
            message = COMBINED + message
        series = self._series.recall(
            key,
            lambda: EventSeries(
                name=self._name(about, at),
                about=about,
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
        allowance = self._allowances.recall(about, lambda: _Allowance(now))
        return series if allowance.spend(now) else None

    def _too_varied(self, occurrence: Occurrence, now: float) -> bool:
        key = (occurrence.about, occurrence.type, occurrence.reason)
        similar = self._similar.recall(key, lambda: _Similar(now))
        if now - similar.last > _SIMILAR_SECONDS:
            similar.messages.clear()
        similar.last = now
        similar.messages.add(hash(occurrence.message))
        if len(similar.messages) < _SIMILAR_MESSAGES:
            return False
        # Stays at the brink, so that the set is bounded and the next new message is combined too.
        similar.messages.pop()
        return True

    def _name(self, about: ObjectReference, at: datetime) -> str:
        """Return `<object>.<hex>`, unique in this process even within one nanosecond."""
        self._last_stamp = max(self._last_stamp + 1, int(at.timestamp() * 1e9))
        suffix = f".{self._last_stamp:x}"
        return about.name[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix
