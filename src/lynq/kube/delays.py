"""Keys that are due later: one deadline per key, the earliest first.

Pure: time comes in as an argument. A heap orders the deadlines; an entry whose key was moved or
discarded stays in the heap as a husk until it surfaces, because taking it out would mean a search.
Husks never outnumber the live entries by much: past that the heap is rebuilt, which keeps both
the memory bounded and every operation at O(log n) on average.
"""

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_HUSKS_TOLERATED = 64


class DelayedKeys(Generic[K]):
    """A set of keys, each with the moment it is due."""

    def __init__(self) -> None:
        self._live: dict[K, tuple[float, int, K]] = {}
        self._heap: list[tuple[float, int, K]] = []
        # Breaks ties in the order of arrival, and keeps the heap from comparing keys.
        self._serial = 0

    def __len__(self) -> int:
        """Return how many keys wait for their moment."""
        return len(self._live)

    def put(self, key: K, due: float) -> None:
        """Let `key` be due at `due`, unless it is due earlier already."""
        known = self._live.get(key)
        if known and known[0] <= due:
            return
        self._serial += 1
        entry = self._live[key] = (due, self._serial, key)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._live) + _HUSKS_TOLERATED:
            self._rebuild()

    def discard(self, key: K) -> None:
        """Forget `key` if it waits here."""
        self._live.pop(key, None)

    def clear(self) -> None:
        """Forget every key."""
        self._live.clear()
        self._heap.clear()

    def next_due(self) -> float | None:
        """Return the earliest deadline, or None when no key waits."""
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Iterator[K]:
        """Take out the keys that are due at `now`, earliest first."""
        while (due := self.next_due()) is not None and due <= now:
            key = heapq.heappop(self._heap)[2]
            del self._live[key]
            yield key

    def _is_live(self, entry: tuple[float, int, K]) -> bool:
        return self._live.get(entry[2]) is entry

    def _rebuild(self) -> None:
        self._heap = list(self._live.values())
        heapq.heapify(self._heap)
