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
from lynq.api.names import ANNOTATION_ROLLOUT_BUDGET, ANNOTATION_ROW_CHANGED_AT
from lynq.api.node_metadata import stamp
from lynq.core.hub.diff import NodeCreation, NodeWrite, Throttle, UpdateCause
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
    row_changes: Mapping[str, datetime],
    nodes: Iterable[LynqNode],
    *,
    workloads_ready: WorkloadsReady,
    now: datetime,
) -> AdmittedWrites:
    """Render and return the admitted writes; `nodes` are the form's existing nodes.

    `row_changes` has the time of the change for every write that reflects a new or changed row.
    """
    if not pending:
        return AdmittedWrites((), {}, None, None)
    facts = [facts_of(node, workloads_ready=workloads_ready(node)) for node in nodes]
    rendered = _RenderedWrites({}, {})
    rollout = form.spec.rollout or Rollout()

    def admitted(names: Collection[str]) -> Admission:
        return admit(names, facts, generation=form.metadata.generation, rollout=rollout, now=now)

    admission = admitted(pending)
    rendered.render(pending, admission.admitted)
    if rendered.failures:
        # All at once instead of one more per failure: a form can fail for every row.
        rendered.render(pending, admission.waiting)
        admission = admitted(rendered.writes.keys())
    return AdmittedWrites(
        writes=tuple(
            _annotated(rendered.writes[name], budget, row_changes.get(name))
            for name, budget in admission.admitted.items()
        ),
        failures=dict(sorted(rendered.failures.items())),
        throttle=_throttle(form.metadata.name, rollout, admission),
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


def _annotated(write: NodeWrite, budget: Budget, changed_at: datetime | None) -> NodeWrite:
    """Return the write with its budget, which a restart must not lose, and its row's change."""
    node = write.node if isinstance(write, NodeCreation) else write.after
    annotations = {**node.metadata.annotations, ANNOTATION_ROLLOUT_BUDGET: str(budget)}
    if changed_at is not None:
        annotations[ANNOTATION_ROW_CHANGED_AT] = stamp(changed_at)
    elif not isinstance(write, NodeCreation) and write.cause is UpdateCause.FORM:
        annotations.pop(ANNOTATION_ROW_CHANGED_AT, None)
    node = replace(node, metadata=replace(node.metadata, annotations=annotations))
    if isinstance(write, NodeCreation):
        return dataclasses.replace(write, node=node)
    return dataclasses.replace(write, after=node)


def _throttle(form: str, rollout: Rollout, admission: Admission) -> Throttle | None:
    if not admission.waiting:
        return None
    return Throttle(form, tuple(admission.waiting), rollout.max_skew, admission.updating)
