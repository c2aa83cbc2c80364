"""Plans a hub's nodes from the rows it remembers: what the core is asked, what is kept of it."""

import asyncio
import time
from datetime import timedelta
from functools import partial
from typing import Final

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    is_controlled_by_hub,
    is_controlled_by_other_hub,
    is_deleting,
    pair_or_spec,
)
from lynq.api.reasons import RejectionReason
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.controllers.form_validation import FormValidator
from lynq.controllers.hub.state import HubState, PlannedSync, ReadRows
from lynq.core.hub.plan import FormCandidate, PlanInputs, plan_hub
from lynq.core.hub.rollout import WorkloadsReady
from lynq.core.hub.status import SyncResult
from lynq.core.rollout.facts import facts_of

MANY: Final = 300
"""From so many nodes or rows on, planning leaves the event loop to leases and watches."""
_SHARE: Final = 4
"""Planning rests for so many times as long as it took."""


class HubPlanner:
    """Decides about the nodes of hubs."""

    def __init__(
        self, world: ControllerContext, *, workloads_ready: WorkloadsReady, validity: FormValidator
    ) -> None:
        self._world = world
        self._workloads_ready = workloads_ready
        self._validity = validity

    async def decide(self, hub: LynqHub, rows: ReadRows, memory: HubState) -> PlannedSync:
        """Return what to do, and remember what the next plan has to know."""
        # Before anything is looked at: what happens from now on calls for another plan.
        memory.replan = False
        memory.look_again = memory.rewrite_at = None
        key = hub.metadata.key
        forms = self._world.forms.by(BY_HUB, key)
        usable = [FormCandidate(form, await self._validity.is_valid(form)) for form in forms]
        nodes, taken = self._nodes(hub)
        ready = self._workloads(forms, nodes)
        known = hub.status.source_identity
        source_changed = bool(known) and known != rows.identity
        inputs = PlanInputs(
            hub=hub,
            forms=usable,
            rows=rows.rows,
            nodes=nodes,
            other_nodes=taken,
            unreadable_forms=self._world.forms.unreadable(key.namespace),
            checked_specs=memory.marks,
            last_approval=memory.approval,
            source_changed=source_changed,
            workloads_ready=lambda node: ready.get(node.metadata.name, True),
        )
        work = partial(plan_hub, inputs, self._world.now())
        began = time.monotonic()
        large = max(len(nodes), len(rows.rows) * len(forms)) > MANY
        decided = await asyncio.to_thread(work) if large else work()
        self._remember(hub, rows, memory, PlannedSync(decided, source_changed))
        taken_time = timedelta(seconds=time.monotonic() - began)
        memory.rest_until = self._world.now() + _SHARE * taken_time
        if decided.throttled and self._is_behind(nodes, ready):
            soon = self._world.now() + self._world.timing.workload_recheck
            memory.look_again = min(decided.recheck_at or soon, soon)
        return PlannedSync(decided, source_changed)

    def _nodes(self, hub: LynqHub) -> tuple[list[LynqNode], dict[str, NodePair]]:
        """Return the hub's nodes, and the names that others have in its namespace.

        A node that lost its label is still the hub's if the hub is its controller, and one that
        another hub controls is not, whatever its label says: labels are edited by hand. Whose name
        an unreadable one has is unknown: whoever carries out the plan leaves it alone.
        """
        key = hub.metadata.key
        labelled = self._world.nodes.by(BY_HUB, key)
        nodes = [node for node in labelled if not is_controlled_by_other_hub(node, hub)]
        ours = {node.metadata.name for node in nodes}
        taken: dict[str, NodePair] = {}
        for (namespace, name), node in self._world.nodes.cache.items():
            if namespace != key.namespace or name in ours:
                continue
            if isinstance(node, Unreadable):
                continue
            if is_controlled_by_hub(node, hub):
                nodes.append(node)
            else:
                taken[name] = pair_or_spec(node)
        return nodes, taken

    def _workloads(self, forms: list[LynqForm], nodes: list[LynqNode]) -> dict[str, bool]:
        """Return whether the workloads are ready, by node, where a rollout has to know it.

        Looked up before the plan, which may run in another thread than the caches.
        """
        limited = {
            form.metadata.name for form in forms if form.spec.rollout and form.spec.rollout.max_skew
        }
        return {
            node.metadata.name: self._workloads_ready(node)
            for node in nodes
            if node.spec.template_ref in limited
        }

    def _is_behind(self, nodes: list[LynqNode], ready: dict[str, bool]) -> bool:
        """Return whether a node says it has settled, and its workloads have not.

        Nobody wakes the hub when they have: the node has said all it has to say.
        """
        now = self._world.now()
        return any(
            not ready.get(node.metadata.name, True)
            and not is_deleting(node)
            and facts_of(node, workloads_ready=True).has_settled(now)
            for node in nodes
        )

    def _remember(
        self, hub: LynqHub, rows: ReadRows, memory: HubState, decided: PlannedSync
    ) -> None:
        found = decided.plan
        memory.planned = rows
        memory.marks = found.checked_specs
        memory.approval = found.approval
        memory.look_again = found.recheck_at
        memory.waiting = frozenset(each.form for each in found.throttled)
        memory.wanted = found.screened.nodes
        memory.crowded = any(
            each.reason is RejectionReason.NODE_NAME_TAKEN for each in found.screened.rejections
        )
        memory.synced = SyncResult.from_plan(
            found,
            hub,
            rows.at,
            source_identity=rows.identity,
            source_changed=decided.source_changed,
        )
        _prune(memory, self._world, hub.metadata.namespace)
        for name in memory.refused.keys() - found.screened.nodes.keys():
            del memory.refused[name]


def _prune(memory: HubState, world: ControllerContext, namespace: str) -> None:
    """Forget accepted deletions that the cache knows of by now."""
    for name, uid in list(memory.deleted.items()):
        node = world.nodes.get(ObjectKey(namespace, name))
        if node is None or node.metadata.uid != uid or is_deleting(node):
            del memory.deleted[name]
