"""The form's controller: is it valid, how are its nodes, how far is its rollout; nothing else.

It writes no nodes. The hub asks the same `Validity`, so what is told here is what is done there.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog

from lynq.api import LynqForm, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import is_deleting
from lynq.api.problems import Problem
from lynq.controllers.context import BY_FORM, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.form.triggers import FormEventHandlers
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.status_limiter import StatusLimiter
from lynq.core.form.status import FormTotals, next_status, validation_events
from lynq.core.hub.node_counts import NodeHealth
from lynq.core.hub.rollout import facts_of
from lynq.core.rollout.facts import NodeFacts
from lynq.core.rollout.progress import RolloutAssessment, assess
from lynq.kube import Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound

_log = structlog.get_logger(__name__)

_SOONEST: Final = 0.001
_CACHES: Final = 0.1
_WORKLOADS: Final = timedelta(seconds=1)
"""How long until workloads are looked at again that are behind the status of their node."""


class FormController:
    """Reconciles forms."""

    def __init__(
        self,
        world: ControllerContext,
        queue: WorkQueue[ObjectKey],
        teller: EventEmitter,
        *,
        workloads_ready: Callable[[LynqNode], bool],
        validity: FormValidator,
    ) -> None:
        self._world = world
        self._teller = teller
        self._workloads_ready = workloads_ready
        self._validity = validity
        self._paces: dict[ObjectKey, StatusLimiter] = {}
        self._triggers = FormEventHandlers(world, queue, self._pause)

    def attach(self) -> None:
        """Have changes of forms, hubs and nodes wake the forms concerned."""
        self._triggers.attach()

    def workload_is_up(self, node: LynqNode) -> None:
        """Wake the form of a node of which a workload has become ready, if it waits for that."""
        self._triggers.workload_is_up(node)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring a form's status up to date."""
        if not self._world.has_synced:
            return Result(_CACHES)
        form = self._world.forms.get(key)
        if form is None:
            return self._without(key)
        problems = await self._validity.problems(form)
        assessment = self._assessed(form)
        self._world.series.form_rollout(key, assessment.status)
        wait = await self._report(form, problems, assessment)
        return _result(wait, assessment.look_again, self._world.now())

    def _without(self, key: ObjectKey) -> Result:
        self._paces.pop(key, None)
        if problem := self._world.forms.problem(key):
            _log.warning("form cannot be read, its nodes stay", form=str(key), why=problem)
        else:
            self._world.series.forget_form(key)
        return Result()

    def _assessed(self, form: LynqForm) -> RolloutAssessment:
        """Return how far the rollout is; without a limit nothing has to be looked at."""
        rollout = form.spec.rollout
        limited = rollout is not None and rollout.max_skew > 0
        facts = self._facts(form) if limited else []
        now = self._world.now()
        found = assess(
            facts,
            form.status.rollout,
            generation=form.metadata.generation,
            rollout=rollout,
            now=now,
        )
        if any(_is_behind(each, now) for each in facts):
            soon = now + _WORKLOADS
            return RolloutAssessment(found.status, min(found.look_again or soon, soon))
        return found

    def _facts(self, form: LynqForm) -> list[NodeFacts]:
        return [
            facts_of(node, workloads_ready=self._workloads_ready(node))
            for node in self._world.nodes.by(BY_FORM, form.metadata.key)
            if not is_deleting(node)
        ]

    def _totals(self, form: LynqForm) -> FormTotals:
        tally = self._world.census.of_form(form.metadata.key)
        return FormTotals(total=tally.count(), ready=tally.count(NodeHealth.READY))

    async def _report(
        self, form: LynqForm, problems: tuple[Problem, ...], assessment: RolloutAssessment
    ) -> float | None:
        """Make the status so; return in how many seconds to try again, if it has to wait."""
        now = self._world.now()
        status = next_status(form, problems, self._totals(form), assessment.status, now)
        if status == form.status:
            return None
        pace = self._paces.setdefault(form.metadata.key, StatusLimiter())
        if (wait := pace.wait) > 0:
            return wait
        try:
            await self._world.forms.write_status(form, status)
        except Conflict:
            # Somebody changed the form; once the cache knows how, it is tried again.
            return pace.fall_behind()
        except NotFound:
            return None
        pace.rest()
        pace.catch_up()
        # Told from the status before: were it told first, a crash would have it told twice.
        self._teller.tell(form, *validation_events(form.status, problems))
        return None

    def _pause(self, key: ObjectKey) -> float:
        """Return how many seconds the next write of a status has to wait; 0 or less: none."""
        pace = self._paces.get(key)
        return pace.wait if pace else 0.0


def _is_behind(facts: NodeFacts, now: datetime) -> bool:
    """Return whether a node says it has settled, and its workloads have not."""
    return not facts.workloads_ready and facts.holds_slot(now) and facts.ready


def _result(wait: float | None, look_again: datetime | None, now: datetime) -> Result:
    waits = [] if wait is None else [wait]
    waits += [] if look_again is None else [(look_again - now).total_seconds()]
    return Result(max(min(waits), _SOONEST)) if waits else Result()
