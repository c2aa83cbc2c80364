"""Writes the memory of the deletion guard into the status of hubs.

Deletions are counted before they are sent, and a spent approval is remembered before it is removed
from the hub: a crash between the two overstates what was deleted, and never forgets it. These
writes do not wait for the interval between two status writes.
"""

import structlog
from msgspec.structs import replace

from lynq.api import DeletionGuardStatus, LynqHub
from lynq.controllers.context import ControllerContext
from lynq.core.guard.approval import with_spent_approval
from lynq.core.guard.deletion import count_deletions
from lynq.core.hub.schedule import deletion_window
from lynq.core.hub.state import PlanExecution
from lynq.kube.errors import Fenced, KubeError

_log = structlog.get_logger(__name__)


class GuardStatusWriter:
    """Writes the guard's part of a hub's status."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    async def count_deletions(self, execution: PlanExecution) -> bool:
        """Count the deletions of a plan; return whether they may be sent."""
        approved = execution.plan.approval.nodes
        uids = {
            deletion.node_uid
            for deletion in execution.remaining_row_deletions
            if deletion.name not in approved
        }
        if not uids or execution.hub.spec.deletion_guard.disabled:
            return True
        hub = self._current(execution.hub)
        status = count_deletions(
            hub.status.deletion_guard,
            execution.plan.verdict,
            uids,
            window=deletion_window(hub),
            now=self._context.clock(),
        )
        try:
            await self._write(hub, status)
        except Fenced:
            raise
        except KubeError as error:
            _log.warning("deletions not counted", hub=str(hub.metadata.key), error=str(error))
            return False
        return True

    async def remember_spent_approval(self, hub: LynqHub, digest: str) -> LynqHub:
        """Remember a spent approval; return the hub as written. Raises Conflict."""
        hub = self._current(hub)
        await self._write(hub, with_spent_approval(hub.status.deletion_guard, digest))
        return self._current(hub)

    async def _write(self, hub: LynqHub, status: DeletionGuardStatus | None) -> None:
        await self._context.hubs.write_status(hub, replace(hub.status, deletion_guard=status))

    def _current(self, hub: LynqHub) -> LynqHub:
        """Return the hub with its latest status, as far as it is the same object."""
        current = self._context.hubs.get(hub.metadata.key)
        return current if current and current.metadata.uid == hub.metadata.uid else hub
