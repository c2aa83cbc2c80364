"""The form controller: reports validity, node counts and rollout progress in the form status.

It also adds the finalizer of protected forms. It writes no nodes. The hub controller uses the same
`FormValidator`, so a form that is reported as invalid is not rolled out.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

import structlog

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import (
    form_of,
    hub_of_form,
    is_deleting,
    is_deletion_blocked,
    is_protected,
)
from lynq.api.problems import Problem
from lynq.controllers.context import BY_FORM, BY_HUB, ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.status_limiter import StatusLimiter
from lynq.core.form.retained import without_unlisted
from lynq.core.form.status import FormTotals, next_status, validation_events
from lynq.core.guard.protection import deletion_blocked, form_finalizers
from lynq.core.hub.node_counts import NodeHealth, health_of
from lynq.core.rollout.facts import NodeFacts, facts_of
from lynq.core.rollout.progress import RolloutAssessment, assess
from lynq.kube import Result, WorkQueue
from lynq.kube.errors import Conflict, NotFound

_log = structlog.get_logger(__name__)


class FormEventHandlers:
    """Requeues forms on changes; `status_delay` returns the delay of a form's next status write."""

    def __init__(
        self,
        context: ControllerContext,
        queue: WorkQueue[ObjectKey],
        status_delay: Callable[[ObjectKey], float],
    ) -> None:
        self._context = context
        self._queue = queue
        self._status_delay = status_delay

    def attach(self) -> None:
        """Register the handlers; they are also called for existing objects."""
        self._context.forms.on_change(self._form_changed)
        self._context.hubs.on_change(self._hub_changed)
        self._context.nodes.on_change(self._node_changed)

    def workload_became_ready(self, node: LynqNode) -> None:
        """Requeue the form if the node has settled with this workload.

        Usually the status of the node changes later and requeues the form. But the status and the
        workload come from different watches: if the status came first, no other event follows.
        """
        key = form_of(node)
        form = self._context.forms.get(key)
        facts = facts_of(node, workloads_ready=True)
        if form and _is_limited(form) and facts.has_settled(self._context.clock()):
            self._requeue(key, form, after=self._status_delay(key))

    def _form_changed(self, key: ObjectKey, old: LynqForm | None, new: LynqForm | None) -> None:
        # A change of the status alone is our own write.
        if _spec_version(old) != _spec_version(new):
            self._requeue(key, new or old)

    def _hub_changed(self, key: ObjectKey, old: LynqHub | None, new: LynqHub | None) -> None:
        if _spec_version(old) != _spec_version(new):
            for form in self._context.forms.by(BY_HUB, key):
                self._requeue(form.metadata.key, form)

    def _node_changed(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        for name in {node.spec.template_ref for node in (old, new) if node}:
            form = self._context.forms.get(ObjectKey(key.namespace, name))
            if form and (_changes_counts(old, new) or _is_limited(form)):
                # Many nodes can change within a second, but the status is written once.
                form_key = form.metadata.key
                self._requeue(form_key, form, after=self._status_delay(form_key))

    def _requeue(self, key: ObjectKey, form: LynqForm | None, *, after: float = 0.0) -> None:
        if self._context.options.shard.has_hubs:
            hub = hub_of_form(form) if form else key
            self._queue.add_after(key, after, group=str(hub))


def _spec_version(obj: LynqForm | LynqHub | None) -> tuple[object, ...] | None:
    if obj is None:
        return None
    metadata = obj.metadata
    return (
        metadata.uid,
        metadata.generation,
        metadata.deletion_timestamp,
        metadata.finalizers,
        is_protected(obj),
    )


def _changes_counts(old: LynqNode | None, new: LynqNode | None) -> bool:
    if old is None or new is None or old.spec.template_ref != new.spec.template_ref:
        return True
    return is_deleting(old) != is_deleting(new) or health_of(old) is not health_of(new)


def _is_limited(form: LynqForm) -> bool:
    return form.spec.rollout is not None and form.spec.rollout.max_skew > 0


class FormController:
    """Reconciles the status of forms."""

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
        self._limiters: dict[ObjectKey, StatusLimiter] = {}
        self._blocked: set[str] = set()
        """The uids of protected forms whose deletion was reported."""
        self._handlers = FormEventHandlers(context, queue, self._status_delay)

    def attach(self) -> None:
        """Register the event handlers for forms, hubs and nodes."""
        self._handlers.attach()

    def workload_became_ready(self, node: LynqNode) -> None:
        """Requeue the form of a node if it waits for this workload."""
        self._handlers.workload_became_ready(node)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Reconcile the status of one form."""
        if not self._context.has_synced:
            return Result(self._context.timing.cache_sync_requeue)
        form = self._context.forms.get(key)
        if form is None:
            return self._clean_up(key)
        form = await self._reconcile_finalizer(form)
        problems = await self._validator.problems(form)
        assessment = self._assess_rollout(form)
        self._context.operator_metrics.record_rollout(key, assessment.status)
        delay = await self._write_status(form, problems, assessment)
        return self._result(delay, assessment.recheck_at)

    async def _reconcile_finalizer(self, form: LynqForm) -> LynqForm:
        """Add the finalizer of a protected form, or remove that of another one."""
        uid = form.metadata.uid
        if not is_deletion_blocked(form):
            self._blocked.discard(uid)
        elif uid not in self._blocked:
            self._blocked.add(uid)
            self._emitter.emit(form, deletion_blocked(form))
        finalizers = form_finalizers(form)
        if finalizers is None:
            return form
        return await self._context.forms.patch(form, {"finalizers": finalizers})

    def _clean_up(self, key: ObjectKey) -> Result:
        self._limiters.pop(key, None)
        if problem := self._context.forms.problem(key):
            _log.warning("form cannot be decoded, its nodes are kept", form=str(key), why=problem)
        else:
            self._context.operator_metrics.remove_form(key)
        return Result()

    def _assess_rollout(self, form: LynqForm) -> RolloutAssessment:
        facts = self._facts(form) if _is_limited(form) else []
        now = self._context.clock()
        assessment = assess(
            facts,
            form.status.rollout,
            generation=form.metadata.generation,
            rollout=form.spec.rollout,
            now=now,
        )
        if any(node.waits_for_workloads(now) for node in facts):
            recheck = now + self._context.timing.workload_recheck
            recheck = min(assessment.recheck_at or recheck, recheck)
            return RolloutAssessment(assessment.status, recheck)
        return assessment

    def _facts(self, form: LynqForm) -> list[NodeFacts]:
        return [
            facts_of(node, workloads_ready=self._workloads_ready(node))
            for node in self._context.nodes.by(BY_FORM, form.metadata.key)
            if not is_deleting(node)
        ]

    def _totals(self, form: LynqForm) -> FormTotals:
        counts = self._context.node_counts.of_form(form.metadata.key)
        return FormTotals(total=counts.count(), ready=counts.count(NodeHealth.READY))

    def _retained_ids(self, form: LynqForm) -> frozenset[str]:
        """Return the retained ids without those that no node needs any more."""
        key, retained = form.metadata.key, self._context.retained_ids
        ids = without_unlisted(retained.of(key), form.spec, self._nodes(key))
        retained.set(key, ids)
        return ids

    def _nodes(self, form: ObjectKey) -> Iterator[LynqNode]:
        """Yield the nodes of a form, which are not even listed if the first is not asked for."""
        yield from self._context.nodes.by(BY_FORM, form)

    async def _write_status(
        self, form: LynqForm, problems: tuple[Problem, ...], assessment: RolloutAssessment
    ) -> float | None:
        """Write the status if it changed; return the delay in seconds if it must be postponed."""
        now, retained = self._context.clock(), self._retained_ids(form)
        status = next_status(
            form, problems, self._totals(form), assessment.status, now, retained_ids=retained
        )
        if status == form.status:
            return None
        limiter = self._limiters.setdefault(form.metadata.key, StatusLimiter(self._context.timing))
        # Retained ids are written at once: the next generation may remove them from the form.
        is_limited = status.retained_ids == form.status.retained_ids
        if is_limited and (delay := limiter.wait) > 0:
            return delay
        try:
            await self._context.forms.write_status(form, status)
        except Conflict:
            return limiter.backoff_conflict()
        except NotFound:
            return None
        limiter.mark_written()
        limiter.reset()
        # Emitted after the write: a crash before it would repeat the events.
        self._emitter.emit(form, *validation_events(form.status, problems))
        return None

    def _status_delay(self, key: ObjectKey) -> float:
        """Return the seconds until the next status write is allowed; 0 or less: now."""
        limiter = self._limiters.get(key)
        return limiter.wait if limiter else 0.0

    def _result(self, delay: float | None, recheck_at: datetime | None) -> Result:
        delays = [] if delay is None else [delay]
        if recheck_at is not None:
            delays.append((recheck_at - self._context.clock()).total_seconds())
        return Result(max(min(delays), self._context.timing.min_requeue)) if delays else Result()
