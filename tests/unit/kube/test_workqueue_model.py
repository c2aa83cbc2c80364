"""The work queue compared with a simple model of plain sets."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lynq.kube import Backoff, QueuePriority, WorkQueue
from lynq.kube.workqueue import PERIODIC_SHARE
from virtual_time import VirtualTimeLoop

KEYS = st.sampled_from("abcdef")
GROUPS = st.sampled_from(["red", "green", "blue"])
PRIORITIES = st.sampled_from(QueuePriority)
DELAYS = st.integers(1, 20)
BACKOFF = Backoff(base=1, cap=8)


@dataclass
class Model:
    """The expected state; deadlines are (time, priority)."""

    ready: dict[str, QueuePriority] = field(default_factory=dict)
    running: dict[str, QueuePriority] = field(default_factory=dict)
    again: dict[str, QueuePriority] = field(default_factory=dict)
    delayed: dict[str, tuple[float, QueuePriority]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    now: float = 1000.0

    def add(self, key: str, priority: QueuePriority) -> None:
        if key in self.delayed:
            priority = min(priority, self.delayed.pop(key)[1])
        place = self.again if key in self.running else self.ready
        place[key] = min(priority, place.get(key, priority))

    def add_after(self, key: str, delay: float, priority: QueuePriority) -> None:
        if key not in self.ready and key not in self.again:
            due = self.now + delay
            earlier, higher = self.delayed.get(key, (due, priority))
            self.delayed[key] = (min(due, earlier), min(priority, higher))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for key, (due, priority) in list(self.delayed.items()):
            if due <= self.now:
                self.add(key, priority)


class QueueMachine(RuleBasedStateMachine):
    """Applies random operations to both."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.model = Model()
        self.queue = self.runner.run(self._make())
        self.passed_over = 0

    async def _make(self) -> WorkQueue[str]:
        return WorkQueue(backoff=BACKOFF)

    def teardown(self) -> None:
        self.queue.close()
        self.runner.close()

    @rule(key=KEYS, priority=PRIORITIES, group=GROUPS)
    def add(self, key: str, priority: QueuePriority, group: str) -> None:
        self.queue.add(key, priority=priority, group=group)
        self.model.add(key, priority)

    @rule(key=KEYS, delay=DELAYS, priority=PRIORITIES, group=GROUPS)
    def add_after(self, key: str, delay: int, priority: QueuePriority, group: str) -> None:
        self.queue.add_after(key, delay, priority=priority, group=group)
        self.model.add_after(key, delay, priority)

    @precondition(lambda self: self.model.running)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.running)))
        self.queue.retry(key)
        failures = self.model.failures.get(key, 0)
        self.model.failures[key] = failures + 1
        self.model.add_after(key, min(2**failures, 8), self.model.running[key])

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    @precondition(lambda self: self.model.ready)
    @rule()
    def get(self) -> None:
        waiting = set(self.model.ready.values())
        key = self.runner.run(self.queue.get())
        priority = self.model.ready.pop(key)
        self.model.running[key] = priority
        self._check_turn(priority, waiting)

    def _check_turn(self, priority: QueuePriority, waiting: set[QueuePriority]) -> None:
        if len(waiting) == 1:
            assert {priority} == waiting
            self.passed_over = 0
        elif priority is QueuePriority.PERIODIC:
            assert self.passed_over == PERIODIC_SHARE - 1
            self.passed_over = 0
        else:
            self.passed_over += 1
            assert self.passed_over < PERIODIC_SHARE

    @precondition(lambda self: self.model.running)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.running)))
        self.queue.done(key)
        del self.model.running[key]
        if key in self.model.again:
            self.model.ready[key] = self.model.again.pop(key)

    @rule(seconds=DELAYS)
    def pause(self, seconds: int) -> None:
        self.runner.run(asyncio.sleep(seconds))
        self.model.advance(seconds)

    @invariant()
    def same_keys_are_ready(self) -> None:
        assert {key: ticket.priority for key, ticket in self.queue._ready.items()} == (
            self.model.ready
        )
        assert len(self.queue) == len(self.model.ready)
        assert set(self.queue._delayed) == set(self.model.delayed)


QueueMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50)
TestQueueMachine = QueueMachine.TestCase
