"""Applies plans in turns: deletes, creates and updates nodes, and emits their events.

A node that cannot be written does not stop the others. The hub is compared with the cache before
each write: once it has changed, been paused or been deleted, the rest of the plan is outdated, and
the next reconcile plans again. A deletion is not sent if its form was paused or its approval was
withdrawn (`lynq.core.hub.confirm`).

Deletions are confirmed by the API server first, because each cache can be outdated on its own. A
process that has just become the leader may have the nodes of a form that it has not observed yet,
or rows of a source that the hub has left since. A later reconcile corrects every other mistake; a
deleted tenant is lost. Deletions therefore cost a read of their hub, and of each form that is
gone. A vanished row is believed as long as its read is recent: a plan may have waited for its turn.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Final

import structlog

from lynq.api import LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import is_deleting, written_at
from lynq.api.text import and_more
from lynq.controllers.concurrency import for_each_parallel
from lynq.controllers.context import ControllerContext
from lynq.controllers.definitions import DefinitionReader
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.state import HubState
from lynq.core.guard.absence import lost_with_definition
from lynq.core.guard.deletion import rows_allow_deletion
from lynq.core.hub.confirm import allows_row_deletion, is_outdated, may_delete
from lynq.core.hub.diff import DeletionCause, NodeCreation, NodeDeletion, NodeUpdate
from lynq.core.hub.events import deleted, deleting, deletion_failed, update_event, write_failed
from lynq.core.hub.predicates import is_as_written
from lynq.core.hub.row_values import changed_variables
from lynq.core.hub.schedule import must_interrupt, sync_interval
from lynq.core.hub.state import PlanExecution, Write, WriteState
from lynq.core.hub.write_window import MAX_WINDOW, WriteWindow
from lynq.kube.errors import (
    Conflict,
    ConnectionFailed,
    Fenced,
    Forbidden,
    InternalError,
    Invalid,
    InvalidObject,
    KubeError,
    NotFound,
    RequestTooLarge,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)

_log = structlog.get_logger(__name__)


class _NameTakenError(KubeError):
    """A node cannot be created because its name is taken; no request was sent."""


_BACKLOG_PER_WORKER: Final = 2
"""Number of nodes of one hub that wait for each worker, or are being written."""

_PERMANENT_ERRORS: Final = (_NameTakenError, Forbidden, Invalid, InvalidObject, RequestTooLarge)
"""Errors that stay the same until an object or a permission changes."""

_OUTAGE_ERRORS: Final = (
    ConnectionFailed,
    InternalError,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
)
"""Errors that any other write would get too."""


class PlanApplier:
    """Writes the nodes of hubs."""

    def __init__(
        self, context: ControllerContext, emitter: EventEmitter, backlog: Callable[[ObjectKey], int]
    ) -> None:
        """`backlog` returns how many nodes of a hub wait for their reconcile."""
        self._context = context
        self._emitter = emitter
        self._backlog = backlog
        self._window = WriteWindow()

    async def apply(self, execution: PlanExecution, state: HubState) -> None:
        """Send the remaining writes for one turn, which ends early if the hub has to plan again.

        Raises Fenced, and no other error of the API server.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + self._context.timing.hub_write_turn
        result, waiting = execution.result, deque(execution.remaining)
        execution.remaining = []
        key = execution.hub.metadata.key
        is_over = False

        def due() -> Iterator[Write]:
            while not is_over:
                yield waiting.popleft()

        def limit() -> int:
            """Return the limit before each write; with room for one, a turn that is over ends."""
            nonlocal is_over
            # A turn that is over leaves the rest alone: a hub may have ten thousand writes.
            is_over = not waiting or clock() >= until or self._is_interrupted(execution, state)
            return MAX_WINDOW if is_over else self._limit(key)

        async def apply_one(write: Write) -> None:
            hub = self._context.hubs.get(key)
            result.stopped = result.stopped or is_outdated(execution.hub, hub)
            if hub is None or result.stopped:
                return
            if result.is_outage or not self._may_send(write, execution, hub):
                result.failed += 1
                return
            started = clock()
            error = await self._write(execution.hub, write, state)
            self._window.record(clock() - started)
            result.record(failed=error is not None, outage=isinstance(error, _OUTAGE_ERRORS))

        await for_each_parallel(due(), apply_one, limit)
        if result.is_outage:
            result.failed += len(waiting)
        elif not result.stopped:
            execution.remaining = list(waiting)

    def _is_interrupted(self, execution: PlanExecution, state: HubState) -> bool:
        result, now = execution.result, self._context.clock()
        if result.stopped or result.is_outage:
            return True
        # The hub of the plan may have requests that were withdrawn since.
        hub = self._context.hubs.get(execution.hub.metadata.key) or execution.hub
        return must_interrupt(hub, state.read, state.plan, now)

    def _limit(self, hub: ObjectKey) -> int:
        max_backlog = _BACKLOG_PER_WORKER * self._context.options.node_workers
        return self._window.limit(self._backlog(hub), max_backlog)

    async def delete(
        self, hub: LynqHub, deletion: NodeDeletion, write: WriteState
    ) -> KubeError | None:
        """Delete a node and emit the events; return the error if that failed."""
        key = ObjectKey(hub.metadata.namespace, deletion.name)
        if write.deleted.get(key.name) == deletion.node_uid or self._is_deleted(key, deletion):
            return None
        try:
            await self._context.nodes.delete(key, deletion.node_uid, deletion.version)
        except Fenced:
            raise
        except Conflict as error:
            # Usually the node's status was written. The next plan uses the current node.
            return error
        except KubeError as error:
            self._emitter.emit(hub, deleting(deletion), deletion_failed(deletion, str(error)))
            return error
        write.deleted[deletion.name] = deletion.node_uid
        _log.info(
            "node deleted",
            hub=str(hub.metadata.key),
            node=deletion.name,
            cause=deletion.cause.value,
        )
        self._emitter.emit(hub, deleting(deletion), deleted(deletion))
        return None

    def _is_deleted(self, key: ObjectKey, deletion: NodeDeletion) -> bool:
        """Return whether the cache observed the deletion while the plan was computed."""
        node = self._context.nodes.cache.get(key)
        return node is None or node.metadata.uid != deletion.node_uid or is_deleting(node)

    def _may_send(self, write: Write, execution: PlanExecution, hub: LynqHub) -> bool:
        if not isinstance(write, NodeDeletion):
            return True
        form = self._context.forms.get(ObjectKey(hub.metadata.namespace, write.pair.form))
        return may_delete(write, execution.plan, hub, form)

    async def _write(self, hub: LynqHub, write: Write, state: HubState) -> KubeError | None:
        name = write.name
        state.write.in_flight.add(name)
        try:
            error = await self._send(hub, write, state)
        finally:
            state.write.in_flight.discard(name)
        if error:
            log = _log.info if isinstance(error, Conflict) else _log.warning
            log("node not written", hub=str(hub.metadata.key), node=name, error=str(error))
        if not isinstance(write, NodeDeletion):
            if error is None:
                _log_written(hub, write)
            self._record_rejection(hub, name, error, state.write)
        return error

    def _record_rejection(
        self, hub: LynqHub, name: str, error: KubeError | None, write: WriteState
    ) -> None:
        """Record a permanent error, and emit its event once."""
        if error is None:
            write.rejected.pop(name, None)
        elif isinstance(error, _PERMANENT_ERRORS) and write.rejected.get(name) != str(error):
            write.rejected[name] = str(error)
            self._emitter.emit(hub, write_failed(name, str(error)))

    async def _send(self, hub: LynqHub, write: Write, state: HubState) -> KubeError | None:
        if isinstance(write, NodeDeletion):
            return await self.delete(hub, write, state.write)
        try:
            if isinstance(write, NodeCreation):
                if self._context.nodes.exists(write.node.metadata.key):
                    # The cache has a node that the plan does not: another hub's, or an unreadable.
                    return _NameTakenError("another LynqNode has this name: rename or delete it")
                await self._replan_if_changed(self._context.nodes.create(write.node), state)
            else:
                written = await self._replan_if_changed(
                    self._context.nodes.replace(write.after), state
                )
                if event := update_event(write):
                    self._emitter.emit(written, event)
        except Fenced:
            raise
        except KubeError as error:
            return error
        return None

    async def _replan_if_changed(self, request: Awaitable[LynqNode], state: HubState) -> LynqNode:
        """Send a write; request another plan if the node changed before its response arrived."""
        written = await request
        if not is_as_written(written, self._context.nodes.get(written.metadata.key)):
            state.plan.requested = True
        return written


def _log_written(hub: LynqHub, write: NodeCreation | NodeUpdate) -> None:
    key, name = str(hub.metadata.key), write.name
    if isinstance(write, NodeCreation):
        _log.info("node created", hub=key, node=name)
        return
    _log.info("node updated", hub=key, node=name, cause=write.cause.value)
    changed = changed_variables(write.before, write.after)
    _log.debug("variables changed", hub=key, node=name, variables=changed)


class DeletionConfirmer:
    """Compares deletions with the current objects of the API server."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._form_definition = DefinitionReader(context.client, context.forms.resource)

    async def confirm(self, execution: PlanExecution) -> tuple[NodeDeletion, ...]:
        """Return the deletions that the API server confirms; the rest have to be re-planned."""
        hub, deletions = execution.hub, execution.remaining_deletions
        if not deletions:
            return ()
        try:
            current = await self._context.hubs.fetch(hub.metadata.key)
            if current is None or is_outdated(hub, current):
                return ()
            gone = await self._gone_forms(hub, deletions)
        except KubeError as error:
            _log.warning("deletions not confirmed", hub=str(hub.metadata.key), error=str(error))
            return ()
        rows_are_missing = rows_allow_deletion(
            execution.rows_at,
            self._context.clock(),
            interval=sync_interval(hub),
            max_row_age=self._context.timing.deletion_max_row_age,
        )
        return tuple(
            deletion
            for deletion in deletions
            if (
                deletion.pair.form in gone
                if deletion.cause is DeletionCause.FORM_GONE
                else rows_are_missing and allows_row_deletion(deletion, execution.plan, current)
            )
        )

    async def _gone_forms(
        self, hub: LynqHub, deletions: tuple[NodeDeletion, ...]
    ) -> frozenset[str]:
        """Return the forms of the deletions that the API server does not have."""
        formless = [deletion for deletion in deletions if deletion.cause is DeletionCause.FORM_GONE]
        if not formless:
            return frozenset()
        forms = {deletion.pair.form for deletion in formless}
        gone = [form for form in sorted(forms) if await self._is_gone(form, hub)]
        # Asked last: a CRD that is being deleted deletes its forms first.
        defined_at = await self._form_definition.created_at()
        kept = {
            deletion.pair.form
            for deletion in formless
            if lost_with_definition(self._last_written(hub, deletion), defined_at)
        }
        if kept:
            _log.warning(
                "forms were lost with their CRD, nodes unchanged; re-create them, or delete the"
                " nodes",
                hub=str(hub.metadata.key),
                forms=and_more(sorted(kept)),
            )
        return frozenset(gone) - kept

    def _last_written(self, hub: LynqHub, deletion: NodeDeletion) -> datetime | None:
        """Return when a form was last known to exist: it was rendered into the node."""
        node = self._context.nodes.get(ObjectKey(hub.metadata.namespace, deletion.name))
        if node is None:
            return None
        times = (node.metadata.creation_timestamp, written_at(node))
        return max((time for time in times if time), default=None)

    async def _is_gone(self, form: str, hub: LynqHub) -> bool:
        """Return whether the API server has no such form of the hub."""
        resource = self._context.forms.resource
        try:
            current = await self._context.client.get(resource, form, hub.metadata.namespace)
        except NotFound as error:
            if not error.proves_absence:
                raise
            return True
        # A form of the same name that belongs to another hub has other nodes.
        return bool(current.get("spec", {}).get("hubId") != hub.metadata.name)
