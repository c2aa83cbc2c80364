"""Sends the writes of nodes, and defers those of a kind that is slow.

`core.node.write_limits` decides. A deferred write ends the reconcile of its node without a wait;
the node is requeued when a write of the group has finished. A write that takes long, or is expected
to, holds no worker: the reconcile goes on while another worker takes its place. Neither can the
writes of one group hold all requests that may be in flight.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import hub_by_label
from lynq.controllers.timing import Timing
from lynq.core.node.objects import ObjectRef
from lynq.core.node.write_limits import WriteGroup, WriteLimits

T = TypeVar("T")


class WriteGate:
    """The writes of all nodes."""

    def __init__(
        self,
        requeue: Callable[[ObjectKey], None],
        *,
        slow_limit: int,
        group_limit: int,
        timing: Timing,
    ) -> None:
        """`slow_limit` bounds the writes of a slow kind, `group_limit` those of any group."""
        self._requeue = requeue
        # A group with fewer slots than the limit of slow kinds would never reach that limit.
        self._limits = WriteLimits(min(slow_limit, group_limit), timing.slow_kind)
        self._group_limit = group_limit
        self._timing = timing
        self._slots: WeakValueDictionary[WriteGroup, _Slots] = WeakValueDictionary()
        self._queued: dict[ObjectKey, list[WriteGroup]] = {}
        """The groups in which writes of a node wait for a slot."""
        self._waiting: dict[WriteGroup, OrderedDict[ObjectKey, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._slow_write_handlers: list[Callable[[ObjectKey], None]] = []

    def on_slow_write(self, handler: Callable[[ObjectKey], None]) -> None:
        """Call `handler` with each node whose reconcile waits for a slow write."""
        self._slow_write_handlers.append(handler)

    async def send(
        self, node: LynqNode, ref: ObjectRef, write: Callable[[], Awaitable[T]]
    ) -> T | None:
        """Send a write of an object and return its result; None if the write is deferred."""
        group, key = _group(node, ref), node.metadata.key
        if self._defer(group, key):
            return None
        # Held until the end: it exists as long as a write of the group does.
        slots = self._slots.setdefault(group, _Slots(self._group_limit))
        slot = slots.take()
        try:
            with self._report_if_slow(group, key):
                is_taken = slot.done() or await self._wait(slot, group, key)
                return await self._record(group, write) if is_taken else None
        finally:
            slots.free(slot)

    def is_queued(self, key: ObjectKey) -> bool:
        """Return whether a write of the node waits for a slot in a group that is not slow."""
        groups = self._queued.get(key, ())
        return any(not self._limits.is_slow(group, _now()) for group in groups)

    def record_status_write(self, seconds: float) -> None:
        """Record how long the status write of a node took; other writes are compared with it."""
        self._limits.record_status_write(seconds, _now())

    def defer_any(self, node: LynqNode, refs: Iterable[ObjectRef]) -> bool:
        """Return whether a write of one of the objects is deferred; then the node is requeued."""
        groups = {_group(node, ref) for ref in refs}
        return any(self._defer(group, node.metadata.key) for group in groups)

    def close(self) -> None:
        """Requeue no more nodes."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    async def _wait(self, slot: asyncio.Future[None], group: WriteGroup, key: ObjectKey) -> bool:
        """Wait for a slot; return False if earlier writes are slow, and the write is deferred."""
        queued = self._queued.setdefault(key, [])
        queued.append(group)
        try:
            while not slot.done():
                await asyncio.wait((slot,), timeout=self._timing.deferred_write_check)
                if self._defer(group, key):
                    return False
        finally:
            queued.remove(group)
            if not queued:
                del self._queued[key]
        return True

    def _defer(self, group: WriteGroup, key: ObjectKey) -> bool:
        if self._limits.admits(group, _now()):
            # The node may still wait in the group, for the write of another object.
            return False
        self._waiting.setdefault(group, OrderedDict())[key] = None
        self._requeue_in(self._timing.deferred_write_check)
        return True

    @contextmanager
    def _report_if_slow(self, group: WriteGroup, key: ObjectKey) -> Iterator[None]:
        if self._limits.is_slow(group, _now()):
            self._report_slow(key)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._timing.slow_write, self._report_slow, key)
        try:
            yield
        finally:
            timer.cancel()

    def _report_slow(self, key: ObjectKey) -> None:
        for handler in self._slow_write_handlers:
            handler(key)

    async def _record(self, group: WriteGroup, write: Callable[[], Awaitable[T]]) -> T:
        number = self._limits.start(group, _now())
        is_answered = True
        try:
            return await write()
        except asyncio.CancelledError:
            is_answered = False
            raise
        finally:
            self._limits.finish(group, number, _now() if is_answered else None)
            if self._waiting:
                self._requeue_in(self._timing.deferred_write_delay)

    def _requeue_in(self, delay: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer, self._timer_due = loop.call_at(due, self._requeue_waiting), due

    def _requeue_waiting(self) -> None:
        self._timer = None
        counts = {group: len(nodes) for group, nodes in self._waiting.items()}
        for group, number in self._limits.choose(counts, _now()).items():
            nodes = self._waiting[group]
            for _ in range(number):
                key, _ = nodes.popitem(last=False)
                self._requeue(key)
            if not nodes:
                del self._waiting[group]
        if self._waiting:
            # A node that was requeued may need its turn no more.
            self._requeue_in(self._timing.deferred_write_check)


class _Slots:
    """Bounds the writes of one group in flight. Further writes take a slot in their order."""

    def __init__(self, number: int) -> None:
        self._unused = number
        self._queue: deque[asyncio.Future[None]] = deque()

    def take(self) -> asyncio.Future[None]:
        """Return a slot, which is done once it may be used."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._unused:
            self._unused -= 1
            slot.set_result(None)
        else:
            self._queue.append(slot)
        return slot

    def free(self, slot: asyncio.Future[None]) -> None:
        """Give a slot to the next write, or leave the queue."""
        if not slot.done():
            self._queue.remove(slot)
        elif self._queue:
            self._queue.popleft().set_result(None)
        else:
            self._unused += 1


def _group(node: LynqNode, ref: ObjectRef) -> WriteGroup:
    return WriteGroup(f"{ref.kind}.{ref.group}", str(hub_by_label(node) or ""))


def _now() -> float:
    return asyncio.get_running_loop().time()
