"""A form, its rows and its nodes in simulated time; the operator is asked again at every step.

Nodes know when they are truly done with a change. The operator does not: it sees only facts, and
keeps nothing between two passes but the status that it wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.core.rollout.budget import admit
from lynq.core.rollout.facts import NodeFacts
from lynq.core.rollout.progress import assess
from unit.core.rollout.nodes import at

DEADLINE = 60


@dataclass
class Node:
    """A node, and what its controller and its workloads are up to."""

    row: int
    form: int
    written: int
    answers: int
    """When its controller has seen the write."""
    settles: int | None
    """When the workloads are ready after it; None is never."""
    generation: int = 1
    observed: int = 0
    acknowledged: int = -1
    is_ready: bool = False
    changed: int | None = None

    def live(self, now: int) -> None:
        if now < self.answers:
            return
        self.observed, self.acknowledged = self.generation, self.written
        is_ready = self.is_done(now)
        if is_ready != self.is_ready or self.changed is None:
            self.is_ready, self.changed = is_ready, now

    def is_done(self, now: int) -> bool:
        return self.settles is not None and now >= max(self.settles, self.answers)

    def facts(self, name: str, now: int, *, acknowledges: bool) -> NodeFacts:
        return NodeFacts(
            name=name,
            form_generation=self.form,
            written_at=at(self.written),
            generation=self.generation,
            observed_generation=self.observed,
            ready=self.is_ready,
            ready_changed_at=None if self.changed is None else at(self.changed),
            # Of old pods that a controller has not touched yet, nobody can see that they must go.
            workloads_ready=self.is_done(now) or now < self.answers,
            observed_write=at(self.acknowledged) if acknowledges else None,
        )


@dataclass
class Cluster:
    """All there is."""

    max_skew: int
    acknowledges: bool
    """Whether a node's status says which write it speaks about."""
    delays: Callable[[], tuple[int, int]]
    """How long a node takes to see a write, and to settle then."""
    now: int = 0
    generation: int = 1
    form_is_bad: bool = False
    began: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    bad_rows: set[str] = field(default_factory=set)
    nodes: dict[str, Node] = field(default_factory=dict)
    status: RolloutStatus | None = None
    phases: list[RolloutPhase | None] = field(default_factory=list)

    def change_form(self, *, bad: bool) -> None:
        self.generation += 1
        self.form_is_bad = bad
        self.began = self.now

    def change_row(self, name: str, *, bad: bool) -> None:
        self.rows[name] = self.rows.get(name, 0) + 1
        (self.bad_rows.add if bad else self.bad_rows.discard)(name)

    def remove_row(self, name: str) -> None:
        self.rows.pop(name, None)
        self.nodes.pop(name, None)

    def facts(self) -> list[NodeFacts]:
        return [
            node.facts(name, self.now, acknowledges=self.acknowledges)
            for name, node in self.nodes.items()
        ]

    def changing(self) -> int:
        return sum(not node.is_done(self.now) for node in self.nodes.values())

    def pending(self) -> list[str]:
        return [
            name
            for name, row in self.rows.items()
            if name not in self.nodes
            or (self.nodes[name].row, self.nodes[name].form) != (row, self.generation)
        ]

    def operate(self) -> None:
        """One pass of hub and form controller."""
        admission = admit(
            self.pending(),
            self.facts(),
            generation=self.generation,
            max_skew=self.max_skew,
            now=at(self.now),
        )
        for name in admission.go:
            self._write(name)
        self.status = assess(
            self.facts(),
            self.status,
            generation=self.generation,
            rollout=Rollout(max_skew=self.max_skew, progress_deadline_seconds=DEADLINE),
            now=at(self.now),
        ).status
        assert self.status is not None
        self.phases.append(self.status.phase)

    def pass_time(self, seconds: int = 1) -> None:
        self.now += seconds
        for node in self.nodes.values():
            node.live(self.now)

    def _write(self, name: str) -> None:
        answer, work = self.delays()
        bad = self.form_is_bad or name in self.bad_rows
        settles = None if bad else self.now + answer + work
        written = Node(self.rows[name], self.generation, self.now, self.now + answer, settles)
        if before := self.nodes.get(name):
            # New values of the row alone are in annotations, which no generation counts.
            written.generation = before.generation + (before.form != self.generation)
            written.observed, written.acknowledged = before.observed, before.acknowledged
            written.is_ready, written.changed = before.is_ready, before.changed
        self.nodes[name] = written
        written.live(self.now)
