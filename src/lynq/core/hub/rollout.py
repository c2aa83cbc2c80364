"""Admits a form's pending writes under maxSkew.

A node that cannot be rendered takes no slot. A row whose template fails would otherwise be the
first in every sync, and no node behind it would ever be written.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from msgspec.structs import replace

from lynq.api import LynqForm, LynqNode, Rollout
from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET
from lynq.core.hub.diff import NodeCreation, NodeWrite, Throttle
from lynq.core.hub.row_values import RenderFailure, RowRenderError
from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import Budget, facts_of

WorkloadsReady: TypeAlias = Callable[[LynqNode], bool]
"""Returns whether the workloads of a node are ready: the node's status can lag behind them."""

PendingWrites: TypeAlias = Mapping[str, Callable[[], NodeWrite]]
"""By the name of the node: renders the write. Raises RowRenderError."""


@dataclass(frozen=True, slots=True)
class AdmittedWrites:
    """The writes of a form's nodes that are sent in this sync."""

    writes: tuple[NodeWrite, ...]
    failures: Mapping[str, RenderFailure]
    """By the name of the node."""
    throttle: Throttle | None
    recheck_at: datetime | None
    """When time alone may admit a write that waits."""


def admit_writes(
    form: LynqForm,
    pending: PendingWrites,
    nodes: Iterable[LynqNode],
    *,
    workloads_ready: WorkloadsReady,
    now: datetime,
) -> AdmittedWrites:
    """Render and return the admitted writes; `nodes` are the form's existing nodes."""
    if not pending:
        return AdmittedWrites((), {}, None, None)
    facts = [facts_of(node, workloads_ready=workloads_ready(node)) for node in nodes]
    rendered = _RenderedWrites({}, {})

    def admitted(names: Collection[str]) -> Admission:
        rollout = form.spec.rollout or Rollout()
        return admit(names, facts, generation=form.metadata.generation, rollout=rollout, now=now)

    admission = admitted(pending)
    rendered.render(pending, admission.admitted)
    if rendered.failures and admission.waiting:
        # All at once instead of one more per failure: a form can fail for every row.
        rendered.render(pending, admission.waiting)
        admission = admitted(rendered.writes.keys())
    return AdmittedWrites(
        writes=tuple(
            _with_budget(rendered.writes[name], budget)
            for name, budget in admission.admitted.items()
            if name in rendered.writes
        ),
        failures=dict(sorted(rendered.failures.items())),
        throttle=_throttle(form, admission),
        recheck_at=admission.recheck_at if admission.waiting else None,
    )


@dataclass(frozen=True, slots=True)
class _RenderedWrites:
    """The rendered writes and the render failures, by the name of the node."""

    writes: dict[str, NodeWrite]
    failures: dict[str, RenderFailure]

    def render(self, pending: PendingWrites, names: Iterable[str]) -> None:
        for name in names:
            try:
                self.writes[name] = pending[name]()
            except RowRenderError as error:
                self.failures[name] = error.failure


def _with_budget(write: NodeWrite, budget: Budget) -> NodeWrite:
    """Return the write with the budget that it takes a slot of: a restart must not lose it."""
    if isinstance(write, NodeCreation):
        return dataclasses.replace(write, node=_annotated(write.node, budget))
    return dataclasses.replace(write, after=_annotated(write.after, budget))


def _annotated(node: LynqNode, budget: Budget) -> LynqNode:
    metadata = node.metadata
    annotations = metadata.annotations | {ANNOTATION_ROLLOUT_BUDGET: str(budget)}
    return replace(node, metadata=replace(metadata, annotations=annotations))


def _throttle(form: LynqForm, admission: Admission) -> Throttle | None:
    if not admission.waiting or form.spec.rollout is None:
        return None
    return Throttle(
        form.metadata.name, admission.waiting, form.spec.rollout.max_skew, admission.updating
    )
