"""Finalizes deleted hubs: deletes their nodes, then removes the finalizer.

Deleting a hub is explicit, so the deletion guard does not apply. A protected hub waits until the
annotation is removed. With `--cascade=orphan` the garbage collector removes the owner references
first. Until it has, nothing is deleted; after it has, the nodes are no longer the hub's. A hub that
the API server deletes together with its CRD was not deleted by a decision: its nodes are orphaned,
and a hub that is created under the same name later adopts them.
"""

import asyncio
from typing import Final

import structlog

from lynq.api import DeletionPolicy, LynqHub, LynqNode, ResourceStatus
from lynq.api.names import ANNOTATION_PROTECT, ANNOTATION_RETAIN, FINALIZER_HUB, TRUE
from lynq.api.node_metadata import (
    form_of,
    is_deleting,
    is_deletion_blocked,
    is_owned_by_hub,
    is_protected,
    pair_or_spec,
)
from lynq.api.reasons import StateReason
from lynq.api.resource import all_resources
from lynq.controllers.concurrency import for_each_parallel
from lynq.controllers.context import ControllerContext
from lynq.controllers.definitions import DefinitionReader
from lynq.controllers.events import EventEmitter
from lynq.controllers.hub.apply import PlanApplier
from lynq.controllers.hub.state import FinalizeState, HubState
from lynq.core.guard.protection import deletion_blocked
from lynq.core.hub.diff import DeletionCause, NodeDeletion
from lynq.core.hub.events import cleanup_failed, retain_failed
from lynq.core.hub.schedule import backoff_delay
from lynq.core.node.objects import ref_of
from lynq.kube import Result
from lynq.kube.errors import Conflict, NotFound
from lynq.kube.requests import FINALIZER_ORPHAN

_log = structlog.get_logger(__name__)

_PROTECTED: Final = f"the node or its form has the annotation {ANNOTATION_PROTECT}: remove it"


class HubFinalizer:
    """Runs the hub finalizer."""

    def __init__(
        self, context: ControllerContext, emitter: EventEmitter, applier: PlanApplier
    ) -> None:
        self._context = context
        self._emitter = emitter
        self._applier = applier
        self._definition = DefinitionReader(context.client, context.hubs.resource)

    async def finalize(self, hub: LynqHub, state: HubState) -> Result:
        """Run the next step of the finalizer; changes of the hub and its nodes trigger the rest."""
        finalizers = hub.metadata.finalizers
        if FINALIZER_HUB not in finalizers or is_deleted_without_nodes(hub):
            return Result()
        if is_protected(hub):
            self._report_blocked(hub, state.finalize)
            return Result()
        nodes = self._nodes(hub)
        if not nodes:
            await self._remove_finalizer(hub)
        elif await self._orphans_nodes(state.finalize):
            await self._orphan(hub, nodes)
        else:
            return await self._delete_nodes(hub, nodes, state)
        return Result()

    async def _orphans_nodes(self, state: FinalizeState) -> bool:
        if state.orphans_nodes is None:
            state.orphans_nodes = await self._definition.is_deleted()
        return state.orphans_nodes

    async def _delete_nodes(self, hub: LynqHub, nodes: list[LynqNode], state: HubState) -> Result:
        """Delete nodes for one turn; return when to continue."""
        is_round_complete = await self._delete(hub, nodes, state)
        self._report_unretained(hub, nodes, state.finalize)
        if not is_round_complete:
            return Result(self._context.timing.min_requeue)
        failures = self._failures(nodes, state.finalize)
        state.finalize.attempts.clear()
        if not failures:
            state.write.failures = 0
            return Result()
        state.write.failures += 1
        self._report_failures(hub, failures)
        longest = self._context.timing.hub_finalizer_max_retry
        return Result(backoff_delay(state.write.failures, longest).total_seconds())

    async def _orphan(self, hub: LynqHub, nodes: list[LynqNode]) -> None:
        """Remove the hub from the owners of its nodes; each write triggers the hub."""
        _log.warning("hub deleted without its nodes", hub=str(hub.metadata.key))

        async def orphan(node: LynqNode) -> None:
            owners = [
                reference
                for reference in node.metadata.owner_references
                if reference.uid != hub.metadata.uid
            ]
            await self._context.nodes.patch(node, {"ownerReferences": owners or None})

        await for_each_parallel([node for node in nodes if not is_deleting(node)], orphan)

    def _nodes(self, hub: LynqHub) -> list[LynqNode]:
        """Return all nodes that the hub owns, whatever their labels."""
        return [node for node in self._context.nodes.values() if is_owned_by_hub(node, hub)]

    async def _delete(self, hub: LynqHub, nodes: list[LynqNode], state: HubState) -> bool:
        """Delete nodes for one turn; return whether the round has attempted all of them."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._context.timing.hub_write_turn
        attempts = state.finalize.attempts
        due = [node for node in nodes if not (is_deleting(node) or self._is_kept(node))]
        due = [node for node in due if node.metadata.uid not in attempts]

        async def delete(node: LynqNode) -> None:
            if clock() < until:
                error = await self._applier.delete(hub, _deletion(node), state.write)
                # A node that has changed is tried again with its current version.
                if not isinstance(error, Conflict):
                    attempts[node.metadata.uid] = None if error is None else str(error)

        await for_each_parallel(due, delete)
        return all(node.metadata.uid in attempts for node in due)

    def _is_kept(self, node: LynqNode) -> bool:
        """Return whether the node, or its form that is being deleted, is protected."""
        form = self._context.forms.get(form_of(node))
        return is_protected(node) or (form is not None and is_deletion_blocked(form))

    def _failures(self, nodes: list[LynqNode], state: FinalizeState) -> dict[str, str]:
        """Return why nodes are not being deleted after a round, by name."""
        failures: dict[str, str] = {}
        for node in nodes:
            error = _PROTECTED if self._is_kept(node) else state.attempts.get(node.metadata.uid)
            if error is not None and not is_deleting(node):
                failures[node.metadata.name] = error
        return failures

    def _report_blocked(self, hub: LynqHub, state: FinalizeState) -> None:
        if not state.blocked:
            state.blocked = True
            self._emitter.emit(hub, deletion_blocked(hub))

    def _report_failures(self, hub: LynqHub, failures: dict[str, str]) -> None:
        _log.warning("hub not cleaned up", hub=str(hub.metadata.key), nodes=len(failures))
        self._emitter.emit(hub, cleanup_failed(failures))

    def _report_unretained(self, hub: LynqHub, nodes: list[LynqNode], state: FinalizeState) -> None:
        """Report each object once that keeps a node from being deleted because it is retained.

        The nodes retry, and their statuses have the current reason.
        """
        messages = {
            ref_of(entry): entry.message
            for node in nodes
            if is_deleting(node)
            for entry in _unretained(node)
        }
        unreported = sorted(messages.keys() - state.unretained)
        if not unreported:
            return
        state.unretained.update(unreported)
        self._emitter.emit(hub, retain_failed({str(ref): messages[ref] for ref in unreported}))

    async def _remove_finalizer(self, hub: LynqHub) -> None:
        rest = [finalizer for finalizer in hub.metadata.finalizers if finalizer != FINALIZER_HUB]
        try:
            await self._context.hubs.patch(hub, {"finalizers": rest})
        except NotFound:
            return


def is_deleted_without_nodes(hub: LynqHub) -> bool:
    """Return whether the hub is being deleted with `--cascade=orphan`.

    The garbage collector removes its finalizer when it has released the nodes that it knows.
    """
    return is_deleting(hub) and FINALIZER_ORPHAN in hub.metadata.finalizers


def _deletion(node: LynqNode) -> NodeDeletion:
    """Return the deletion of this version: a newer one may belong to the hub no longer."""
    metadata = node.metadata
    return NodeDeletion(
        pair_or_spec(node),
        metadata.name,
        metadata.uid,
        DeletionCause.HUB_GONE,
        metadata.resource_version,
    )


def _unretained(node: LynqNode) -> list[ResourceStatus]:
    """Return the retained objects that a node being deleted could not release."""
    failed = [
        entry for entry in node.status.resources if entry.reason == StateReason.REMOVAL_FAILED
    ]
    if not failed or node.metadata.annotations.get(ANNOTATION_RETAIN) == TRUE:
        return failed
    retained = {
        resource.id
        for resource in all_resources(node.spec)
        if resource.deletion_policy is DeletionPolicy.RETAIN
    }
    return [entry for entry in failed if entry.id in retained]
