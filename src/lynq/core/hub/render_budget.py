"""Bounds the time that the renders of one plan take, and repeats no render that hit a limit.

A plan renders texts of the form for each row that it writes. One text may take as long as a
template may run, and a hub may have ten thousand rows: without a sum, one form would occupy a
worker of the hub controller for half an hour. The sum is shared among the forms: a form can use its
own share and what the forms before it left over, so a slow form does not fail the others.

A text that hit a limit of the template engine hits it again in the next plan. Its failure is
remembered until the form or the row changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

from lynq.api import LynqForm
from lynq.api.naming import NodePair
from lynq.core.hub.row_values import RenderFailure, RowRenderError, RowValues, out_of_time
from lynq.core.render_journal import Journal, NoJournal

T = TypeVar("T")

PLAN_SECONDS: Final = 1.0
"""CPU seconds that the renders of one plan may take, besides those per node."""
NODE_SECONDS: Final = 0.002
"""Further CPU seconds for each desired node: five times what a large form needs."""


class PlanCanceled(Exception):  # noqa: N818 - says what happened
    """The result of the plan is no longer needed."""


class RenderKey(NamedTuple):
    """What a render of a node depends on, besides the hub and the time."""

    form_uid: str
    form_generation: int
    uid: str
    values_hash: int
    """The hash of the row values; valid within this process only."""

    @classmethod
    def of(cls, form: LynqForm, values: RowValues) -> "RenderKey":
        """Return the key of a row and a form."""
        return cls(form.metadata.uid, form.metadata.generation, values.uid, hash(values))


FailedRenders: TypeAlias = Mapping[RenderKey, RenderFailure]
"""The renders that hit a limit of the template engine."""


@dataclass(slots=True)
class RenderBudget:
    """The renders of one plan."""

    clock: Callable[[], float] = lambda: 0.0
    """Returns the CPU seconds of the thread that plans."""
    is_canceled: Callable[[], bool] = lambda: False
    known_failures: FailedRenders = field(default_factory=dict)
    """From the last plan."""
    failures: dict[RenderKey, RenderFailure] = field(default_factory=dict)
    """For the next plan."""
    spent: float = 0.0
    journal: Journal = field(default_factory=NoJournal)

    def share(self, nodes: Mapping[str, int]) -> Iterator["FormRenders"]:
        """Yield the renders of each form, which are to be run in this order; `nodes` by form."""
        limit = 0.0
        for count in nodes.values():
            limit += PLAN_SECONDS / len(nodes) + count * NODE_SECONDS
            yield FormRenders(self, limit)


@dataclass(frozen=True, slots=True)
class FormRenders:
    """The renders of one form in one plan."""

    budget: RenderBudget = field(default_factory=RenderBudget)
    limit: float = float("inf")
    """The seconds that this form and the forms before it may take together."""

    def run(self, key: RenderKey, pair: NodePair, render: Callable[[], T]) -> T:
        """Render a node; raises RowRenderError, also if the time is over, and PlanCanceled."""
        budget = self.budget
        if budget.is_canceled():
            raise PlanCanceled
        if failure := budget.known_failures.get(key) or budget.failures.get(key):
            budget.failures[key] = failure
            raise RowRenderError(failure)
        if budget.spent >= self.limit:
            raise out_of_time(pair)
        started = budget.clock()
        try:
            return render()
        except RowRenderError as error:
            if error.failure.hit_limit:
                budget.failures[key] = error.failure
            raise
        finally:
            budget.spent += budget.clock() - started
