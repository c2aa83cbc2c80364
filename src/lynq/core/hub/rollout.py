"""Which of a form's nodes are written now: the rollout's budget, asked with the nodes' facts.

A node that cannot be rendered takes no place: if it did, a row whose name template fails would
be the first in the queue in every sync, and nobody behind it would ever have a turn.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lynq.api import LynqForm, LynqNode
from lynq.core.hub.diff import NodeWrite, Throttle
from lynq.core.hub.row_values import RenderFailure, RowRenderError
from lynq.core.rollout.budget import Admission, admit
from lynq.core.rollout.facts import facts_of

WorkloadsReady: TypeAlias = Callable[[LynqNode], bool]
"""Tells whether the workloads of a node are ready themselves: its status can be behind them."""


@dataclass(frozen=True, slots=True)
class AdmittedWrites:
    """What becomes of a form's pending writes in this sync."""

    writes: tuple[NodeWrite, ...]
    failures: Mapping[str, RenderFailure]
    """By the node's name."""
    throttle: Throttle | None
    look_again: datetime | None


def admit_writes(
    form: LynqForm,
    pending: Mapping[str, Callable[[], NodeWrite]],
    nodes: Iterable[LynqNode],
    *,
    workloads_ready: WorkloadsReady,
    now: datetime,
) -> AdmittedWrites:
    """Render and return the writes that may go now; `pending` makes each, by the node's name."""
    if not pending:
        return AdmittedWrites((), {}, None, None)
    facts = [facts_of(node, workloads_ready=workloads_ready(node)) for node in nodes]
    made = _Rendered({}, {})

    def admitted(names: Collection[str]) -> Admission:
        limit = form.spec.rollout.max_skew if form.spec.rollout else 0
        return admit(names, facts, generation=form.metadata.generation, max_skew=limit, now=now)

    admission = admitted(pending)
    made.render(pending, admission.admitted)
    if made.failures and admission.waiting:
        # All at once, not one more for each that fails: a form can fail for every row.
        made.render(pending, admission.waiting)
        admission = admitted(made.writes.keys())
    return AdmittedWrites(
        writes=tuple(made.writes[name] for name in admission.admitted if name in made.writes),
        failures=dict(sorted(made.failures.items())),
        throttle=_throttle(form, admission),
        look_again=admission.recheck_at if admission.waiting else None,
    )


@dataclass(frozen=True, slots=True)
class _Rendered:
    """What has been rendered so far, by the node's name."""

    writes: dict[str, NodeWrite]
    failures: dict[str, RenderFailure]

    def render(self, pending: Mapping[str, Callable[[], NodeWrite]], names: Iterable[str]) -> None:
        for name in names:
            try:
                self.writes[name] = pending[name]()
            except RowRenderError as error:
                self.failures[name] = error.failure


def _throttle(form: LynqForm, admission: Admission) -> Throttle | None:
    if not admission.waiting or form.spec.rollout is None:
        return None
    return Throttle(
        form.metadata.name, admission.waiting, form.spec.rollout.max_skew, admission.updating
    )
