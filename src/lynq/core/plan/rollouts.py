"""The order of the writes of a hub's plan, for the forms that limit their rollouts."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from lynq.api import LynqForm, LynqNode
from lynq.api.node_metadata import is_deleting, pair_of
from lynq.core.hub.diff import UpdateCause
from lynq.core.hub.plan import HubPlan
from lynq.core.plan.changes import PlannedRollout
from lynq.core.rollout.facts import facts_of
from lynq.core.rollout.waves import rollout_order


def planned_rollouts(
    plan: HubPlan, forms: Iterable[LynqForm], nodes: Iterable[LynqNode], now: datetime
) -> Iterator[PlannedRollout]:
    """Yield the rollouts of a plan without limits; `nodes` are those before its writes."""
    pending: dict[str, list[str]] = {}
    for create in plan.creates:
        pending.setdefault(create.pair.form, []).append(create.name)
    for update in plan.updates:
        if update.cause is not UpdateCause.SIGNATURE:
            pending.setdefault(update.pair.form, []).append(update.name)
    existing: dict[str, list[LynqNode]] = {}
    for node in nodes:
        if (pair := pair_of(node)) and not is_deleting(node):
            existing.setdefault(pair.form, []).append(node)
    for form in sorted(forms, key=lambda form: form.metadata.name):
        name, rollout = form.metadata.name, form.spec.rollout
        if rollout is None or not rollout.max_skew or name not in pending:
            continue
        # The status of a node is close enough to its workloads here.
        facts = [facts_of(node, workloads_ready=True) for node in existing.get(name, ())]
        generation = form.metadata.generation
        order = rollout_order(pending[name], facts, generation=generation, rollout=rollout, now=now)
        yield PlannedRollout(name, rollout.max_skew, order)
