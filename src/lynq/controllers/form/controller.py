"""The form's controller: is it valid, how are its nodes, how far is its rollout; nothing else.

It writes no nodes. The hub asks the same `Validity`, so what is told here is what is done there.

Turns changes of forms, hubs and nodes into keys of forms.
"""

from collections.abc import Callable
from datetime import datetime

import structlog

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_of, hub_of_form, is_deleting
from lynq.api.problems import Problem
from lynq.controllers.context import BY_FORM, BY_HUB, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.status_limiter import StatusLimiter
from lynq.core.form.status import FormTotals, next_status, validation_events
from lynq.core.hub.node_counts import NodeHealth, health_of
from lynq.core.rollout.facts import NodeFacts, facts_of
from lynq.core.rollout.progress import RolloutAssessment, assess
from lynq.kube import Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound


class FormEventHandlers:
    """Wakes forms; `pause` says how long a form's next status has to wait."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        pause: Callable[[ObjectKey], float],
    ) -> None:
        self._context = context
        self._queue = queue
        self._pause = pause

    def attach(self) -> None:
        """Listen to all changes, those that happened before included."""
        self._context.forms.on_change(self._form_changed)
        self._context.hubs.on_change(self._hub_changed)
        self._context.nodes.on_change(self._node_changed)

    def workload_became_ready(self, node: LynqNode) -> None:
        """Take note that a workload of a node has become ready.

        As a rule the node says so soon, and then is time enough. But its status comes by another
        watch than the workload, and may have been here first: then nobody else says it.
        """
        key = form_of(node)
        form = self._context.forms.get(key)
        facts = facts_of(node, workloads_ready=True)
        if form and _is_limited(form) and facts.has_settled(self._context.clock()):
            self._wake(key, form, after=self._pause(key))

    def _form_changed(self, key: ObjectKey, old: LynqForm | None, new: LynqForm | None) -> None:
        # Its status is our own work.
        if _version(old) != _version(new):
            self._wake(key, new or old)

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        if _version(old) != _version(new):
            for form in self._context.forms.by(BY_HUB, key):
                self._wake(form.metadata.key, form)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        for name in {node.spec.template_ref for node in (old, new) if node}:
            form = self._context.forms.get(ObjectKey(key.namespace, name))
            if form and (_counts_differently(old, new) or _is_limited(form)):
                # Many nodes change in one second, and the status is written once.
                self._wake(form.metadata.key, form, after=self._pause(form.metadata.key))

    def _wake(self, key: ObjectKey, form: LynqForm | None, *, after: float = 0.0) -> None:
        if self._context.options.shard.owns(key):
            hub = hub_of_form(form) if form else key
            self._queue.add_after(key, after, group=str(hub))


def _version(obj: LynqForm | LynqHub | None) -> tuple[object, ...] | None:
    if obj is None:
        return None
    known = obj.metadata
    return known.uid, known.generation, known.deletion_timestamp


def _counts_differently(old: LynqNode | None, new: LynqNode | None) -> bool:
    if old is None or new is None or old.spec.template_ref != new.spec.template_ref:
        return True
    return is_deleting(old) != is_deleting(new) or health_of(old) is not health_of(new)


def _is_limited(form: LynqForm) -> bool:
    return form.spec.rollout is not None and form.spec.rollout.max_skew > 0


_log = structlog.get_logger(__name__)


class FormController:
    """Reconciles forms."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        emitter: EventEmitter,
        *,
        workloads_ready: Callable[[LynqNode], bool],
        validator: FormValidator,
    ) -> None:
        self._context = context
        self._emitter = emitter
        self._workloads_ready = workloads_ready
        self._validator = validator
        self._paces: dict[ObjectKey, StatusLimiter] = {}
        self._triggers = FormEventHandlers(context, queue, self._pause)

    def attach(self) -> None:
        """Have changes of forms, hubs and nodes wake the forms concerned."""
        self._triggers.attach()

    def workload_became_ready(self, node: LynqNode) -> None:
        """Wake the form of a node of which a workload has become ready, if it waits for that."""
        self._triggers.workload_became_ready(node)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring a form's status up to date."""
        if not self._context.has_synced:
            return Result(self._context.timing.cache_sync_requeue)
        form = self._context.forms.get(key)
        if form is None:
            return self._without(key)
        problems = await self._validator.problems(form)
        assessment = self._assessed(form)
        self._context.operator_metrics.form_rollout(key, assessment.status)
        wait = await self._report(form, problems, assessment)
        return self._result(wait, assessment.recheck_at)

    def _without(self, key: ObjectKey) -> Result:
        self._paces.pop(key, None)
        if problem := self._context.forms.problem(key):
            _log.warning("form cannot be read, its nodes stay", form=str(key), why=problem)
        else:
            self._context.operator_metrics.forget_form(key)
        return Result()

    def _assessed(self, form: LynqForm) -> RolloutAssessment:
        """Return how far the rollout is; without a limit nothing has to be looked at."""
        rollout = form.spec.rollout
        limited = rollout is not None and rollout.max_skew > 0
        facts = self._facts(form) if limited else []
        now = self._context.clock()
        found = assess(
            facts,
            form.status.rollout,
            generation=form.metadata.generation,
            rollout=rollout,
            now=now,
        )
        if any(_is_behind(each, now) for each in facts):
            soon = now + self._context.timing.workload_recheck
            return RolloutAssessment(found.status, min(found.recheck_at or soon, soon))
        return found

    def _facts(self, form: LynqForm) -> list[NodeFacts]:
        return [
            facts_of(node, workloads_ready=self._workloads_ready(node))
            for node in self._context.nodes.by(BY_FORM, form.metadata.key)
            if not is_deleting(node)
        ]

    def _totals(self, form: LynqForm) -> FormTotals:
        tally = self._context.node_counts.of_form(form.metadata.key)
        return FormTotals(total=tally.count(), ready=tally.count(NodeHealth.READY))

    async def _report(
        self, form: LynqForm, problems: tuple[Problem, ...], assessment: RolloutAssessment
    ) -> float | None:
        """Make the status so; return in how many seconds to try again, if it has to wait."""
        now = self._context.clock()
        status = next_status(form, problems, self._totals(form), assessment.status, now)
        if status == form.status:
            return None
        pace = self._paces.setdefault(form.metadata.key, StatusLimiter(self._context.timing))
        if (wait := pace.wait) > 0:
            return wait
        try:
            await self._context.forms.write_status(form, status)
        except Conflict:
            # Somebody changed the form; once the cache knows how, it is tried again.
            return pace.backoff_conflict()
        except NotFound:
            return None
        pace.mark_written()
        pace.reset()
        # Told from the status before: were it told first, a crash would have it told twice.
        self._emitter.emit(form, *validation_events(form.status, problems))
        return None

    def _pause(self, key: ObjectKey) -> float:
        """Return how many seconds the next write of a status has to wait; 0 or less: none."""
        pace = self._paces.get(key)
        return pace.wait if pace else 0.0

    def _result(self, wait: float | None, look_again: datetime | None) -> Result:
        waits = [] if wait is None else [wait]
        if look_again is not None:
            waits.append((look_again - self._context.clock()).total_seconds())
        return Result(max(min(waits), self._context.timing.min_requeue)) if waits else Result()


def _is_behind(facts: NodeFacts, now: datetime) -> bool:
    """Return whether a node says it has settled, and its workloads have not."""
    return not facts.workloads_ready and facts.holds_slot(now) and facts.ready
