"""The work queue: which key a worker takes next.

Only keys travel through it, never objects, so a hundred changes of one object are one entry. A key
is in at most one worker's hands: added again meanwhile, it comes again when that worker is done,
because the worker may have read the state from before the change.

Order of picks:

- What happened (`EVENT`) goes before what is merely due again (`PERIODIC`), but while both wait,
  every 8th pick is a periodic one: a storm of events delays the sweep and never stops it.
- Within a priority the groups take turns, and a group's keys go first in, first out. A group is a
  hub: ten thousand rows of one hub delay the single row of another by one pick, not ten thousand.

Everything happens on one event loop, between two awaits; there is no lock because there is nothing
to interleave with. Time is the loop's clock, so a test can own it. One timer is armed, for the
earliest deadline. Each operation is O(1), or O(log n) where a deadline is involved.

Keys that are due later: one deadline per key, the earliest first.

Pure: time comes in as an argument. A heap orders the deadlines; an entry whose key was moved or
discarded stays in the heap as a husk until it surfaces, because taking it out would mean a search.
Husks never outnumber the live entries by much: past that the heap is rebuilt, which keeps both
the memory bounded and every operation at O(log n) on average.
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


DEFAULT_BACKOFF: Final = Backoff(base=0.005, cap=30.0)
PERIODIC_TURN: Final = 8


class QueueClosed(Exception):  # noqa: N818 - a signal like StopAsyncIteration, not a fault
    """The queue hands out no more keys."""


class QueuePriority(IntEnum):
    """Why a key is in the queue; the lower number goes first."""

    EVENT = 0
    PERIODIC = 1


@dataclass(slots=True)
class _Ticket:
    """Where a pending key belongs, and since when it waits (or, if running, is worked on)."""

    priority: QueuePriority
    group: str
    since: float


class _PriorityLane(Generic[K]):
    """The ready keys of one priority: groups in turn, first in first out within a group."""

    def __init__(self) -> None:
        # OrderedDict, not dict: taking the first entry of a dict again and again is quadratic.
        self._groups: OrderedDict[str, OrderedDict[K, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def push(self, key: K, group: str) -> None:
        self._groups.setdefault(group, OrderedDict())[key] = None

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
    """Keys to be worked on. Create it inside the running loop whose clock it is to use.

    Invariant: `_ready`, `_again` and `_delayed` are disjoint. `_again` holds only running keys,
    `_ready` none.
    """

    def __init__(
        self, *, backoff: Backoff = DEFAULT_BACKOFF, metrics: QueueMetrics | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._backoff = backoff
        self._metrics = metrics or RuntimeMetrics.unread().queue("")
        self._metrics.observe(self.__len__, self.running_for)
        self._ready: dict[K, _Ticket] = {}
        self._running: dict[K, _Ticket] = {}
        self._again: dict[K, _Ticket] = {}
        self._delayed: dict[K, _Ticket] = {}
        self._delays: DelayedKeys[K] = DelayedKeys()
        self._timer: asyncio.Handle | None = None
        self._rings_at: float | None = None
        self._lanes: dict[QueuePriority, _PriorityLane[K]] = {
            priority: _PriorityLane() for priority in QueuePriority
        }
        self._events_in_a_row = 0
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Return how many keys are ready to be taken."""
        return len(self._ready)

    def add(
        self, key: K, *, priority: QueuePriority = QueuePriority.EVENT, group: str | None = None
    ) -> None:
        """Make `key` ready now; a delayed add of it is thereby fulfilled.

        Added with both priorities, a key has the higher. Without a `group` it stays in the one
        it is known by (while it waits or is worked on), else it is in the group "".
        """
        if self._closed:
            return
        if key in self._ready:
            self._raise_priority(key, priority)
            return
        ticket = self._ticket(key, priority, group)
        self._undelay(key)
        if key not in self._running:
            self._make_ready(key, ticket)
        elif key in self._again:
            self._again[key].priority = ticket.priority
        else:
            self._metrics.adds.inc()
            self._again[key] = ticket

    def add_after(
        self,
        key: K,
        delay: float,
        *,
        priority: QueuePriority = QueuePriority.EVENT,
        group: str | None = None,
    ) -> None:
        """Add `key` in `delay` seconds.

        Of two deadlines the earlier one holds. A key that is ready already (or will come again)
        needs no deadline: whoever works on it will decide anew when to come back.
        """
        if delay <= 0:
            self.add(key, priority=priority, group=group)
        elif not self._closed and key not in self._ready and key not in self._again:
            self._delayed[key] = self._ticket(key, priority, group)
            self._delays.put(key, self._loop.time() + delay)
            self._arm()

    def retry(self, key: K) -> None:
        """Add `key` after its back-off, at the priority it is being worked on with."""
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
        """Return how often `key` was retried since it was last forgotten."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Take the next key, waiting for one; `done` must follow. Raises QueueClosed."""
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
        """Give `key` back; if it was added meanwhile, it is ready again."""
        ticket = self._running.pop(key)
        self._metrics.work_duration.observe(self._loop.time() - ticket.since)
        again = self._again.pop(key, None)
        if again is not None:
            self._enqueue(key, again)

    def close(self, *, drain: bool = False) -> None:
        """Accept no more keys and wake every waiter; what waits is dropped.

        With `drain`, keys that are ready or to come again are still handed out before `get`
        raises. Delayed ones are dropped all the same.
        """
        self._closed = True
        if not drain:
            self._again.clear()
            self._ready.clear()
            self._lanes = {priority: _PriorityLane() for priority in QueuePriority}
        self._delayed.clear()
        self._delays.clear()
        self._arm()
        while self._waiters:
            self._wake_one()

    def running_for(self) -> list[float]:
        """Return for how many seconds each key in a worker's hands has been there."""
        now = self._loop.time()
        return [now - ticket.since for ticket in list(self._running.values())]

    def _ticket(self, key: K, priority: QueuePriority, group: str | None) -> _Ticket:
        """Return what `key` is to wait with, given what is known of it."""
        pending = self._again.get(key) or self._delayed.get(key)
        if pending:
            priority = min(priority, pending.priority)
        if group is None:
            known = pending or self._running.get(key)
            group = known.group if known else ""
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
        turn = self._events_in_a_row >= PERIODIC_TURN - 1
        if periodic and (turn or not events):
            self._events_in_a_row = 0
            return periodic
        # Counted only while a periodic key is passed over.
        self._events_in_a_row = self._events_in_a_row + 1 if periodic else 0
        return events

    def _undelay(self, key: K) -> None:
        if self._delayed.pop(key, None):
            self._delays.discard(key)

    def _arm(self) -> None:
        """Set the timer to the earliest deadline; leave it where it is when it is there."""
        due = self._delays.next_due()
        # Not asked of the timer: uvloop's does not know when it rings, if that is at once.
        if due == self._rings_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = due
        self._timer = None if due is None else self._loop.call_at(due, self._ring, due)

    def _ring(self, due: float) -> None:
        self._timer = self._rings_at = None
        # A loop may ring a touch early (its clock's resolution): what it rang for counts as due.
        for key in self._delays.pop_due(max(due, self._loop.time())):
            ticket = self._delayed.pop(key)
            self.add(key, priority=ticket.priority, group=ticket.group)
        self._arm()

    async def _wait(self) -> None:
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # Woken and cancelled in the same instant: the key must go to somebody else.
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
