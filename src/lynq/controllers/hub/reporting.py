"""Writes a hub's status: only if it says something new, and at most once a second."""

from dataclasses import replace

from lynq.api import LynqHub
from lynq.api.metadata import ObjectKey
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.hub.state import HubState
from lynq.core.hub.status import SyncResult, is_worth_writing, next_status
from lynq.kube.errors import Conflict, NotFound


class HubStatusWriter:
    """Keeps the statuses of hubs."""

    def __init__(self, world: ControllerContext) -> None:
        self._world = world

    async def report(self, hub: LynqHub, memory: HubState) -> float | None:
        """Make the status so; return in how many seconds to try again, if it has to wait."""
        key = hub.metadata.key
        status = next_status(
            hub,
            self._world.census.of(key),
            forms=len(self._world.forms.by(BY_HUB, key)),
            synced=self._with_refused(key, memory),
            unread=memory.unread,
            push=memory.push,
            now=self._world.now(),
        )
        self._world.series.hub_status(key, status)
        if not is_worth_writing(hub.status, status):
            return None
        if (wait := memory.pace.wait) > 0:
            return wait
        memory.pace.rest()
        try:
            await self._world.hubs.write_status(hub, status)
        except Conflict:
            # Somebody changed the hub; once the cache knows how, it is tried again.
            return memory.pace.fall_behind()
        except NotFound:
            return None
        memory.pace.catch_up()
        return None

    def _with_refused(self, hub: ObjectKey, memory: HubState) -> SyncResult | None:
        """Return the last read, with the nodes that the API server does not take as failed."""
        synced = memory.synced
        if synced is None or not memory.refused:
            return synced
        here = {
            name
            for name in memory.refused
            if self._world.nodes.exists(ObjectKey(hub.namespace, name))
        }
        return replace(
            synced,
            unmade=synced.unmade + len(memory.refused) - len(here),
            kept=synced.kept | here,
        )
