"""Asks the API server itself before nodes are deleted: caches can be behind, each on its own.

A process that has just become the leader may know the nodes of a form that it has never heard of,
or read rows for a hub that was pointed elsewhere since. All else that is done on old knowledge is
put right by a later pass; a tenant that was deleted is not. So deletions, and only they, cost a
read of their hub, and of each form that is said to be gone. That a row is gone is believed as long
as the rows are not too old: a plan may have waited for its turn.
"""

from typing import Any

import structlog

from lynq.api import LynqHub
from lynq.controllers.context import ControllerContext
from lynq.controllers.hub.course import PlanExecution
from lynq.controllers.hub.schedule import may_delete_by
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.kube import Resource
from lynq.kube.errors import KubeError, NotFound

_log = structlog.get_logger(__name__)


class DeletionConfirmer:
    """Holds removals against what is in the API server now."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    async def confirmed(self, course: PlanExecution) -> tuple[NodeDeletion, ...]:
        """Return the removals that nothing speaks against; the others have to be planned anew."""
        hub, removals = course.hub, course.removals
        if not removals:
            return ()
        try:
            if not await self._is_current(hub):
                return ()
            gone = await self._gone(hub, removals)
        except KubeError as error:
            _log.warning("nodes stay for now", hub=str(hub.metadata.key), error=str(error))
            return ()
        believed = may_delete_by(hub, course.rows_at, self._world.now())
        return tuple(
            each
            for each in removals
            if (each.pair.form in gone if each.why is DeletionCause.FORM_GONE else believed)
        )

    async def _is_current(self, hub: LynqHub) -> bool:
        """Return whether the hub is still the one that the plan was made for."""
        known = hub.metadata
        found = (await self._get(self._world.hubs.resource, known.name, hub)).get("metadata", {})
        return bool(found.get("uid") == known.uid and found.get("generation") == known.generation)

    async def _gone(self, hub: LynqHub, removals: tuple[NodeDeletion, ...]) -> frozenset[str]:
        """Return which forms are gone that the plan did not know."""
        said = {each.pair.form for each in removals if each.why is DeletionCause.FORM_GONE}
        return frozenset([name for name in sorted(said) if await self._is_gone(name, hub)])

    async def _is_gone(self, form: str, hub: LynqHub) -> bool:
        found = await self._get(self._world.forms.resource, form, hub)
        # One of the same name that belongs to another hub has other nodes.
        return bool(found.get("spec", {}).get("hubId") != hub.metadata.name)

    async def _get(self, resource: Resource, name: str, hub: LynqHub) -> dict[str, Any]:
        """Return an object as it is now; empty if there is none."""
        try:
            return await self._world.client.get(resource, name, hub.metadata.namespace)
        except NotFound:
            return {}
