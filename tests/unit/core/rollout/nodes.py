"""Builders for NodeFacts; times are seconds after noon."""

from datetime import UTC, datetime, timedelta

from lynq.core.rollout.facts import Budget, NodeFacts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CURRENT = 7
"""The current generation of the form."""


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def ready(
    name: str,
    *,
    form: int | None = CURRENT,
    written: float = -100,
    since: float = -90,
    paused: bool = False,
) -> NodeFacts:
    return NodeFacts(
        name=name,
        form_generation=form,
        written_at=at(written),
        generation=3,
        observed_generation=3,
        ready=True,
        ready_changed_at=at(since),
        workloads_ready=True,
        paused=paused,
    )


def unready(
    name: str,
    *,
    form: int | None = CURRENT,
    written: float = -100,
    since: float | None = None,
    paused: bool = False,
    budget: Budget | None = Budget.FORM,
    failed: bool = False,
    settled: float | None = None,
) -> NodeFacts:
    """Return a node that is not ready; `settled` is the write with which it was ready."""
    return NodeFacts(
        name=name,
        form_generation=form,
        written_at=at(written),
        generation=3,
        observed_generation=3,
        ready=False,
        ready_changed_at=at(written if since is None else since),
        workloads_ready=False,
        paused=paused,
        budget=budget,
        failed=failed,
        settled_write=None if settled is None else at(settled),
    )
