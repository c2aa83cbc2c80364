"""Simulation of a form, its rows and its nodes; the operator reconciles at every step.

Simulated nodes have the true time at which a change is done. The operator sees only NodeFacts, and
keeps no state between reconciles but the status that it wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from lynq.api import Rollout, RolloutPhase, RolloutStatus
from lynq.core.rollout.budget import admit
from lynq.core.rollout.facts import Budget, NodeFacts
from lynq.core.rollout.progress import assess
from unit.core.rollout.nodes import at

DEADLINE = 60


@dataclass
class Node:
    """A node with the delays of its controller and its workloads."""

    row: int
    form: int
    written: int
    observes_at: int
    """When its controller has observed the write."""
    settles_at: int | None
    """When the workloads are ready after the write; None if never."""
    budget: Budget
    is_repair: bool = False
    """Whether the node was broken when it was written."""
    generation: int = 1
    observed_generation: int = 0
    settled_write: int = -1
    acknowledged_write: int = -1
    is_ready: bool = False
    changed: int | None = None

    def advance(self, now: int) -> None:
        if now < self.observes_at:
            return
        self.observed_generation, self.acknowledged_write = self.generation, self.written
        is_ready = self.is_done(now)
        if is_ready != self.is_ready or self.changed is None:
            self.is_ready, self.changed = is_ready, now
        if is_ready:
            self.settled_write = self.written

    def is_done(self, now: int) -> bool:
        return self.settles_at is not None and now >= max(self.settles_at, self.observes_at)

    def facts(self, name: str, now: int, *, acknowledges: bool) -> NodeFacts:
        return NodeFacts(
            name=name,
            form_generation=self.form,
            written_at=at(self.written),
            generation=self.generation,
            observed_generation=self.observed_generation,
            ready=self.is_ready,
            ready_changed_at=None if self.changed is None else at(self.changed),
            # Pods of the old revision look ready until the controller has observed the write.
            workloads_ready=self.is_done(now) or now < self.observes_at,
            observed_write=at(self.acknowledged_write) if acknowledges else None,
            settled_write=at(self.settled_write) if acknowledges else None,
            budget=self.budget,
            failed=self.settles_at is None and now >= self.observes_at,
        )


@dataclass
class Cluster:
    """Rows, form and nodes with a simulated clock."""

    max_skew: int
    acknowledges: bool
    """Whether the status of a node acknowledges writes."""
    delays: Callable[[], tuple[int, int]]
    """Draw the delays until a node observes a write, and until it settles after that."""
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

    def rolling_out(self) -> int:
        """Return the number of nodes that a form change has written and that are not done."""
        return sum(
            node.budget is Budget.FORM and not node.is_done(self.now)
            for node in self.nodes.values()
        )

    def changing_rows(self) -> int:
        """Return the number of nodes in progress for their row, other than broken ones."""
        return sum(
            node.budget is Budget.ROW
            and not node.is_done(self.now)
            and not node.is_repair
            and (node.settles_at is not None or self.now < node.observes_at)
            for node in self.nodes.values()
        )

    def pending(self) -> list[str]:
        return [
            name
            for name, row in self.rows.items()
            if name not in self.nodes
            or (self.nodes[name].row, self.nodes[name].form) != (row, self.generation)
        ]

    def operate(self) -> None:
        """Reconcile hub and form once."""
        rollout = Rollout(max_skew=self.max_skew, progress_deadline_seconds=DEADLINE)
        admission = admit(
            self.pending(),
            self.facts(),
            generation=self.generation,
            rollout=rollout,
            now=at(self.now),
        )
        for name, budget in admission.admitted.items():
            self._write(name, budget)
        self.status = assess(
            self.facts(),
            self.status,
            generation=self.generation,
            rollout=rollout,
            now=at(self.now),
        ).status
        assert self.status is not None
        self.phases.append(self.status.phase)

    def pass_time(self, seconds: int = 1) -> None:
        self.now += seconds
        for node in self.nodes.values():
            node.advance(self.now)

    def _write(self, name: str, budget: Budget) -> None:
        answer, work = self.delays()
        bad = self.form_is_bad or name in self.bad_rows
        settles_at = None if bad else self.now + answer + work
        observes_at = self.now + answer
        written = Node(self.rows[name], self.generation, self.now, observes_at, settles_at, budget)
        if before := self.nodes.get(name):
            written.is_repair = not before.is_done(self.now)
            written.settled_write = before.settled_write
            # New values of the row change only annotations, so the generation stays.
            written.generation = before.generation + (before.form != self.generation)
            written.observed_generation, written.acknowledged_write = (
                before.observed_generation,
                before.acknowledged_write,
            )
            written.is_ready, written.changed = before.is_ready, before.changed
        self.nodes[name] = written
        written.advance(self.now)
