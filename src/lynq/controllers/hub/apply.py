"""Carries out a plan, a turn at a time: deletes, creates and updates nodes, and tells of it.

One node that cannot be written stops no other. Before each write the hub is looked at once more:
if it has changed, been paused or deleted meanwhile, the rest of the plan is void, and the next pass
knows better.

Asks the API server itself before nodes are deleted: caches can be behind, each on its own.

A process that has just become the leader may know the nodes of a form that it has never heard of,
or read rows for a hub that was pointed elsewhere since. All else that is done on old knowledge is
put right by a later pass; a tenant that was deleted is not. So deletions, and only they, cost a
read of their hub, and of each form that is said to be gone. That a row is gone is believed as long
as the rows are not too old: a plan may have waited for its turn.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

import structlog

from lynq.api import LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import is_deleting
from lynq.controllers.concurrency import AT_ONCE, for_each_parallel
from lynq.controllers.context import ControllerContext
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.predicates import is_as_written
from lynq.controllers.hub.state import HubState, PlanExecution, Write
from lynq.core.guard.deletion import rows_allow_deletion
from lynq.core.hub.diff import DeletionCause, NodeCreation, NodeDeletion, NodeUpdate
from lynq.core.hub.events import deleted, deleting, deletion_failed, update_event, write_failed
from lynq.core.hub.schedule import sync_interval
from lynq.kube import Resource
from lynq.kube.errors import (
    Conflict,
    Fenced,
    Forbidden,
    Invalid,
    InvalidObject,
    KubeError,
    NotFound,
    RequestTooLarge,
)

_log = structlog.get_logger(__name__)


class _NameTakenError(KubeError):
    """A node cannot be made, and the API server need not be asked."""


_REFUSALS: Final = (_NameTakenError, Forbidden, Invalid, InvalidObject, RequestTooLarge)
"""Answers that stay the same until somebody changes something."""


class PlanApplier:
    """Writes nodes in the name of a hub."""

    def __init__(self, world: ControllerContext, teller: EventEmitter) -> None:
        self._world = world
        self._teller = teller

    async def carry_out(self, course: PlanExecution, memory: HubState) -> None:
        """Do what is left, as far as a turn goes.

        Raises Fenced, and nothing else that the API server answers.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self._world.timing.hub_write_turn
        carried, due, course.left = course.carried, course.left, []

        async def write(each: Write) -> None:
            carried.stopped = carried.stopped or not self._still_holds(course.hub)
            if carried.stopped:
                return
            # An API server that is down is not asked ten thousand times in each pass.
            if carried.outage >= AT_ONCE:
                carried.failed += 1
            elif clock() >= until:
                course.left.append(each)
            else:
                carried.note(await self._write(course.hub, each, memory))

        await for_each_parallel(due, write)

    async def remove(
        self, hub: LynqHub, removal: NodeDeletion, memory: HubState
    ) -> KubeError | None:
        """Delete a node and tell of it; return why that failed, if it did."""
        if memory.deleted.get(removal.name) == removal.node_uid:
            return None
        try:
            key = ObjectKey(hub.metadata.namespace, removal.name)
            await self._world.nodes.delete(key, removal.node_uid, removal.version)
        except Fenced:
            raise
        except Conflict as error:
            # Most often the node has written its status. The next plan looks at it as it is now.
            return error
        except KubeError as error:
            self._teller.tell(hub, deleting(removal), deletion_failed(removal, str(error)))
            return error
        memory.deleted[removal.name] = removal.node_uid
        self._teller.tell(hub, deleting(removal), deleted(removal))
        return None

    def _still_holds(self, hub: LynqHub) -> bool:
        current = self._world.hubs.get(hub.metadata.key)
        return (
            current is not None
            and current.metadata.uid == hub.metadata.uid
            and current.metadata.generation == hub.metadata.generation
            and not is_deleting(current)
        )

    async def _write(self, hub: LynqHub, write: Write, memory: HubState) -> KubeError | None:
        name = write.name if isinstance(write, NodeDeletion) else _name_of(write)
        memory.writing.add(name)
        try:
            error = await self._send(hub, write, memory)
        finally:
            memory.writing.discard(name)
        if error:
            log = _log.info if isinstance(error, Conflict) else _log.warning
            log("node not written", hub=str(hub.metadata.key), node=name, error=str(error))
        if not isinstance(write, NodeDeletion):
            self._note_refusal(hub, name, error, memory)
        return error

    def _note_refusal(
        self, hub: LynqHub, name: str, error: KubeError | None, memory: HubState
    ) -> None:
        """Remember, and tell once, that trying again is no use until somebody changes something."""
        if error is None:
            memory.refused.pop(name, None)
        elif isinstance(error, _REFUSALS) and memory.refused.get(name) != str(error):
            memory.refused[name] = str(error)
            self._teller.tell(hub, write_failed(name, str(error)))

    async def _send(self, hub: LynqHub, write: Write, memory: HubState) -> KubeError | None:
        if isinstance(write, NodeDeletion):
            return await self.remove(hub, write, memory)
        try:
            if isinstance(write, NodeCreation):
                if self._world.nodes.exists(write.node.metadata.key):
                    # Not the hub's, or unreadable: the plan does not know it, the cache does.
                    return _NameTakenError("another node has this name: rename it, or delete it")
                await self._noting(self._world.nodes.create(write.node), memory)
            else:
                written = await self._noting(self._world.nodes.replace(write.after), memory)
                self._teller.tell(written, update_event(write))
        except Fenced:
            raise
        except KubeError as error:
            return error
        return None

    async def _noting(self, writing: Awaitable[LynqNode], memory: HubState) -> LynqNode:
        """Write, and note whether somebody else changed the node before we had the answer."""
        written = await writing
        if not is_as_written(written, self._world.nodes.get(written.metadata.key)):
            memory.replan = True
        return written


def _name_of(write: NodeCreation | NodeUpdate) -> str:
    node = write.node if isinstance(write, NodeCreation) else write.after
    return node.metadata.name


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
        believed = rows_allow_deletion(
            course.rows_at,
            self._world.now(),
            interval=sync_interval(hub.spec.source.sync_interval),
            max_row_age=self._world.timing.deletion_max_row_age,
        )
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
