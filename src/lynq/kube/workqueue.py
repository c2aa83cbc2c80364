"""The work queue: deduplicated keys with priorities, fairness between groups, and delays.

The queue contains keys, never objects, so a hundred changes of one object are one entry. A key is
processed by at most one worker. A key that is added while it is processed is queued again when the
worker is done, because the worker may have read the state before the change.

Order:

- Keys of events (`EVENT`) precede keys of periodic resyncs (`PERIODIC`). While both wait, every 8th
  key is a periodic one: a storm of events delays resyncs and does not stop them.
- Within a priority the groups alternate, and the keys of a group are first in, first out. A group
  is a hub: ten thousand rows of one hub delay the single row of another by one key.

All methods run on one event loop and do not await between reads and writes of their state, so there
is no lock. Time is the clock of the loop, which tests can control. One timer is set, for the
earliest deadline. Each operation is O(1), or O(log n) with a deadline.
"""

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, TypeVar

from lynq.kube.backoff import Backoff
from lynq.kube.metrics import QueueMetrics, RuntimeMetrics

K = TypeVar("K", bound=Hashable)

_MAX_STALE_ENTRIES = 64


class DelayedKeys(Generic[K]):
    """A set of keys, each with a deadline. Pure: time is an argument.

    A heap orders the deadlines. The entry of a key that was moved or discarded stays in the heap
    until it is at the top, because its removal would be a search. The heap is rebuilt when stale
    entries outnumber the live ones, which bounds the memory and keeps operations at O(log n) on
    average.
    """

    def __init__(self) -> None:
        self._live: dict[K, tuple[float, int, K]] = {}
        self._heap: list[tuple[float, int, K]] = []
        # Orders equal deadlines by arrival, so that the heap does not compare keys.
        self._serial = 0

    def __len__(self) -> int:
        """Return the number of delayed keys."""
        return len(self._live)

    def put(self, key: K, due: float) -> None:
        """Add `key` with a deadline, unless it has an earlier one."""
        current = self._live.get(key)
        if current and current[0] <= due:
            return
        self._serial += 1
        entry = self._live[key] = (due, self._serial, key)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._live) + _MAX_STALE_ENTRIES:
            self._rebuild()

    def discard(self, key: K) -> None:
        """Remove `key`, if present."""
        self._live.pop(key, None)

    def clear(self) -> None:
        """Remove all keys."""
        self._live.clear()
        self._heap.clear()

    def next_due(self) -> float | None:
        """Return the earliest deadline, or None if there is no key."""
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Iterator[K]:
        """Remove and yield the keys that are due at `now`, earliest first."""
        while (due := self.next_due()) is not None and due <= now:
            key = heapq.heappop(self._heap)[2]
            del self._live[key]
            yield key

    def _is_live(self, entry: tuple[float, int, K]) -> bool:
        return self._live.get(entry[2]) is entry

    def _rebuild(self) -> None:
        self._heap = list(self._live.values())
        heapq.heapify(self._heap)


DEFAULT_BACKOFF: Final = Backoff(base=0.005, cap=30.0)
PERIODIC_SHARE: Final = 8
"""Every how many keys a waiting periodic key precedes the events."""


class QueueClosed(Exception):  # noqa: N818 - a signal like StopAsyncIteration, not an error
    """The queue returns no more keys."""


class QueuePriority(IntEnum):
    """The priority of a key; the lower number is first."""

    EVENT = 0
    PERIODIC = 1


@dataclass(slots=True)
class _Ticket:
    """Priority and group of a key, and since when it waits or is processed."""

    priority: QueuePriority
    group: str
    since: float


class _PriorityLane(Generic[K]):
    """The ready keys of one priority: groups alternate, first in first out within a group."""

    def __init__(self) -> None:
        # OrderedDict, not dict: repeated removal of the first entry of a dict is quadratic.
        self._groups: OrderedDict[str, OrderedDict[K, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def push(self, key: K, group: str) -> None:
        self._groups.setdefault(group, OrderedDict())[key] = None

    def count(self, group: str) -> int:
        return len(self._groups.get(group, ()))

    def remove(self, key: K, group: str) -> None:
        keys = self._groups[group]
        del keys[key]
        if not keys:
            del self._groups[group]

    def pop(self) -> K:
        group, keys = self._groups.popitem(last=False)
        key, _ = keys.popitem(last=False)
        if keys:
            self._groups[group] = keys
        return key


class WorkQueue(Generic[K]):
    """Keys to process. Create it inside of the running loop, whose clock it uses.

    Invariant: `_ready`, `_dirty` and `_delayed` are disjoint. `_dirty` holds only running keys,
    `_ready` none.
    """

    def __init__(
        self, *, backoff: Backoff = DEFAULT_BACKOFF, metrics: QueueMetrics | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._backoff = backoff
        self._metrics = metrics or RuntimeMetrics.unexposed().queue("")
        self._metrics.observe(self.__len__, self.running_seconds)
        self._ready: dict[K, _Ticket] = {}
        self._running: dict[K, _Ticket] = {}
        self._dirty: dict[K, _Ticket] = {}
        self._delayed: dict[K, _Ticket] = {}
        self._delays: DelayedKeys[K] = DelayedKeys()
        self._timer: asyncio.Handle | None = None
        self._timer_due: float | None = None
        self._lanes: dict[QueuePriority, _PriorityLane[K]] = {
            priority: _PriorityLane() for priority in QueuePriority
        }
        self._events_in_a_row = 0
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Return the number of ready keys."""
        return len(self._ready)

    def waiting_events(self, group: str) -> int:
        """Return the number of ready keys of a group, without periodic ones."""
        return self._lanes[QueuePriority.EVENT].count(group)

    def add(
        self, key: K, *, priority: QueuePriority = QueuePriority.EVENT, group: str | None = None
    ) -> None:
        """Make `key` ready now; this replaces a delayed add.

        A key that is added with both priorities has the higher one. Without a `group`, a key that
        waits or is processed keeps its group; another key has the group "".
        """
        if self._closed:
            return
        if key in self._ready:
            self._raise_priority(key, priority)
            return
        ticket = self._ticket(key, priority, group)
        self._cancel_delay(key)
        if key not in self._running:
            self._make_ready(key, ticket)
        elif key in self._dirty:
            self._dirty[key].priority = ticket.priority
        else:
            self._metrics.adds.inc()
            self._dirty[key] = ticket

    def add_after(
        self,
        key: K,
        delay: float,
        *,
        priority: QueuePriority = QueuePriority.EVENT,
        group: str | None = None,
    ) -> None:
        """Add `key` in `delay` seconds.

        Of two deadlines the earlier one wins. A key that is ready, or will be after its current
        processing, needs no deadline: its next reconcile sets a new one.
        """
        if delay <= 0:
            self.add(key, priority=priority, group=group)
        elif not self._closed and key not in self._ready and key not in self._dirty:
            self._delayed[key] = self._ticket(key, priority, group)
            self._delays.put(key, self._loop.time() + delay)
            self._set_timer()

    def retry(self, key: K) -> None:
        """Add `key` after its back-off, with the priority of its current processing."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._metrics.retries.inc()
        running = self._running.get(key)
        priority = running.priority if running else QueuePriority.EVENT
        self.add_after(key, self._backoff.delay(failures), priority=priority)

    def forget(self, key: K) -> None:
        """Reset the back-off of `key`."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the number of retries of `key` since the last `forget`."""
        return self._failures.get(key, 0)

    def drop(self) -> K | None:
        """Remove and return the oldest ready key of the lowest priority; None if none is ready."""
        for priority in reversed(QueuePriority):
            if lane := self._lanes[priority]:
                key = lane.pop()
                del self._ready[key]
                return key
        return None

    async def get(self) -> K:
        """Wait for the next key and return it; `done` must follow. Raises QueueClosed."""
        while not self._ready:
            if self._closed:
                raise QueueClosed
            await self._wait()
        key = self._next_lane().pop()
        ticket = self._ready.pop(key)
        now = self._loop.time()
        self._metrics.queue_duration.observe(now - ticket.since)
        ticket.since = now
        self._running[key] = ticket
        return key

    def done(self, key: K) -> None:
        """End the processing of `key`; if it was added meanwhile, it is ready again."""
        ticket = self._running.pop(key)
        self._metrics.work_duration.observe(self._loop.time() - ticket.since)
        pending = self._dirty.pop(key, None)
        if pending is not None:
            self._enqueue(key, pending)

    def close(self, *, drain: bool = False) -> None:
        """Accept no more keys, drop waiting ones, and wake all waiters.

        With `drain`, `get` still returns the keys that are ready or added during their processing.
        Delayed keys are dropped in any case.
        """
        self._closed = True
        if not drain:
            self._dirty.clear()
            self._ready.clear()
            self._lanes = {priority: _PriorityLane() for priority in QueuePriority}
        self._delayed.clear()
        self._delays.clear()
        self._set_timer()
        while self._waiters:
            self._wake_one()

    def running_seconds(self) -> list[float]:
        """Return the seconds since which each key in process is processed."""
        now = self._loop.time()
        return [now - ticket.since for ticket in list(self._running.values())]

    def _ticket(self, key: K, priority: QueuePriority, group: str | None) -> _Ticket:
        """Return the ticket of `key`, based on its existing one."""
        pending = self._dirty.get(key) or self._delayed.get(key)
        if pending:
            priority = min(priority, pending.priority)
        if group is None:
            existing = pending or self._running.get(key)
            group = existing.group if existing else ""
        return _Ticket(priority, group, self._loop.time())

    def _make_ready(self, key: K, ticket: _Ticket) -> None:
        self._metrics.adds.inc()
        self._enqueue(key, ticket)

    def _enqueue(self, key: K, ticket: _Ticket) -> None:
        self._ready[key] = ticket
        self._lanes[ticket.priority].push(key, ticket.group)
        self._wake_one()

    def _raise_priority(self, key: K, priority: QueuePriority) -> None:
        ticket = self._ready[key]
        if priority < ticket.priority:
            self._lanes[ticket.priority].remove(key, ticket.group)
            ticket.priority = priority
            self._lanes[priority].push(key, ticket.group)

    def _next_lane(self) -> _PriorityLane[K]:
        events, periodic = self._lanes[QueuePriority.EVENT], self._lanes[QueuePriority.PERIODIC]
        periodic_due = self._events_in_a_row >= PERIODIC_SHARE - 1
        if periodic and (periodic_due or not events):
            self._events_in_a_row = 0
            return periodic
        # Counted only while a periodic key waits.
        self._events_in_a_row = self._events_in_a_row + 1 if periodic else 0
        return events

    def _cancel_delay(self, key: K) -> None:
        if self._delayed.pop(key, None):
            self._delays.discard(key)

    def _set_timer(self) -> None:
        """Set the timer to the earliest deadline, if it changed."""
        due = self._delays.next_due()
        # Recorded here: an immediate timer of uvloop has no `when`.
        if due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer, due)

    def _on_timer(self, due: float) -> None:
        self._timer = self._timer_due = None
        # The timer can fire early by the resolution of the clock: its deadline counts as due.
        for key in self._delays.pop_due(max(due, self._loop.time())):
            ticket = self._delayed.pop(key)
            self.add(key, priority=ticket.priority, group=ticket.group)
        self._set_timer()

    async def _wait(self) -> None:
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # Woken and cancelled at the same time: another waiter must take the key.
            if waiter.done() and not waiter.cancelled() and self._ready:
                self._wake_one()
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
