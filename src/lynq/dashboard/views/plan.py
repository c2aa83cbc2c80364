"""What the operator would change now: the plan, with the rights of the viewer."""

import asyncio
from dataclasses import replace
from typing import Final

from lynq.api import LynqForm, LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.options import Options
from lynq.core.plan.changes import document
from lynq.dashboard.options import MAX_PLANS, MAX_USER_PLANS
from lynq.dashboard.plan_stream import Report
from lynq.dashboard.projection import FORMS, HUBS
from lynq.dashboard.types.details import PlanProgress, PlanView
from lynq.dashboard.user_slots import UserSlots
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.views.objects import installation_key_of
from lynq.dashboard.visible import Visible
from lynq.plan.simulation import Simulation

_SAMPLE: Final = 200
"""Updated nodes that are planned."""


def _unreported(_progress: PlanProgress) -> None:
    """Report no progress."""


class Planner:
    """Computes few plans at once, of each user one.

    A plan takes the whole event loop at times, and up to ten minutes.
    """

    def __init__(self, operator_namespace: str) -> None:
        self._operator_namespace = operator_namespace
        self._users = UserSlots(1, MAX_USER_PLANS, "plans")
        self._slots = asyncio.Semaphore(MAX_PLANS)

    async def of_form(
        self, viewer: Viewer, visible: Visible, key: ObjectKey, report: Report = _unreported
    ) -> PlanView:
        """Return what the form's nodes would change; raises KubeError."""
        form = await viewer.client.get(FORMS, key.name, key.namespace, into=LynqForm)
        hub = ObjectKey(key.namespace, form.spec.hub_id)
        return await self.of_hub(viewer, visible, hub, report, form=key.name)

    async def of_hub(
        self,
        viewer: Viewer,
        visible: Visible,
        key: ObjectKey,
        report: Report = _unreported,
        *,
        form: str = "",
    ) -> PlanView:
        """Return what all nodes of a hub would change; raises KubeError.

        The rows are those of the nodes: the dashboard has no access to the database.
        """
        hub = await viewer.client.get(HUBS, key.name, key.namespace, into=LynqHub)
        is_limited = any(
            scope.namespaces is not None
            for scope in (visible.hub_scope, visible.form_scope, visible.node_scope)
        )
        namespaces = (key.namespace,) if is_limited else ()

        def planned(done: int, total: int) -> None:
            report(PlanProgress(phase="Planning", done=done, total=total))

        # In this order: a user waits for one of the slots, or holds one, once.
        async with self._users.of(viewer.user), self._slots:
            report(PlanProgress(phase="Reading"))
            secret = await installation_key_of(viewer.client, self._operator_namespace)
            simulation = Simulation(viewer.client, secret, Options(namespaces=namespaces))
            async with simulation.running():
                rows = simulation.rows_of_nodes(hub)
                plan = await simulation.plan(hub, rows, planned, sample=_SAMPLE)
        if form:
            plan = replace(plan, changes=[each for each in plan.changes if each.form == form])
        denials = [f'Only objects in the namespace "{name}" are compared.' for name in namespaces]
        return PlanView(plan=document(plan), denials=tuple(denials))
