"""Runs the finalizer of a node that is being deleted.

The finalizer is removed when every object is deleted, retained or not owned by the node. Objects
that block the deletion are listed in the status. A node that was deleted with `--cascade=orphan`
retains all of its objects, and so does a node that the API server deletes together with its CRD.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from lynq.api import LynqForm, LynqHub, LynqNode, TResource
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_HUB_ID, ANNOTATION_RETAIN, FINALIZER_NODE, TRUE
from lynq.api.node_metadata import form_by_name, hubs_by_owner, is_deleting
from lynq.api.reasons import OrphanReason
from lynq.api.resource import all_resources
from lynq.controllers.children import KindNotWatched
from lynq.controllers.context import ControllerContext
from lynq.controllers.definitions import DefinitionReader
from lynq.controllers.node.object_reader import ObjectReader
from lynq.controllers.node.prune import Pruner, PruneResult
from lynq.controllers.node.slow_render import LOOP_SECONDS
from lynq.controllers.node.state import FinalizerState, NodePass, NodeState
from lynq.controllers.node.status import StatusReporter
from lynq.core.guard.protection import blocking, deletion_blocked
from lynq.core.node import events
from lynq.core.node.inventory import InventoryItem, inventory_of
from lynq.core.node.origin import is_rejected
from lynq.core.node.render import JournalEntries, Rendered, Renderer, RenderError
from lynq.core.node.status import deleting_status
from lynq.core.node.variables import VariablesError, variables_of
from lynq.core.render_journal import RenderEntry, RenderVerdict
from lynq.kube import Result
from lynq.kube.errors import NotFound, UnknownKind
from lynq.kube.requests import FINALIZER_ORPHAN
from lynq.template import Deadline

_RETRY_CHECK: Final = 0.1
"""Seconds between two looks whether the retry of a suspect has ended."""


def retains_all(node: LynqNode) -> bool:
    """Return whether the metadata shows that a node was deleted with `--cascade=orphan`.

    The garbage collector removes its finalizer as soon as it has released the dependents that it
    knows, so the finalizer is visible for a short time only.
    """
    metadata = node.metadata
    return (
        FINALIZER_ORPHAN in metadata.finalizers
        or metadata.annotations.get(ANNOTATION_RETAIN) == TRUE
    )


class NodeFinalizer:
    """Runs the node finalizer."""

    def __init__(
        self,
        context: ControllerContext,
        reader: ObjectReader,
        pruner: Pruner,
        reporter: StatusReporter,
    ) -> None:
        self._context = context
        self._reader = reader
        self._pruner = pruner
        self._reporter = reporter
        self._definition = DefinitionReader(context.client, context.nodes.resource)

    async def finalize(self, node: LynqNode, state: NodeState) -> Result:
        """Prune the objects as far as possible now; remove the finalizer if none remains."""
        if FINALIZER_NODE not in node.metadata.finalizers:
            return Result()
        if is_rejected(node, allows_standalone=self._context.options.allows_standalone_nodes):
            return await self._finalize_rejected(node, state)
        node_pass = NodePass.for_finalizer(node, state, time.monotonic())
        items = await self._items(node)
        retain_all = await self._retains_all(node, state.finalizer)
        if retain_all:
            node = node_pass.node = await self._with_retain_annotation(node)
        if obj := self._blocking(node):
            return self._report_blocked(node, obj, state.finalizer)
        state.finalizer.blocked_by = ""
        reason = OrphanReason.LYNQ_NODE_DELETED
        pruned = await self._pruner.prune(node_pass, items, reason, retain_all=retain_all)
        self._emit_events(node_pass, pruned)
        if not pruned.remaining:
            await self._remove_finalizer(node_pass)
            return Result()
        await self._report_remaining(node, pruned)
        return self._retry(state.finalizer)

    async def _finalize_rejected(self, node: LynqNode, state: NodeState) -> Result:
        """Remove the finalizer of a node that is not carried out; delete nothing.

        Its marks on objects prove nothing here: any client that may edit an object can add them,
        and would have it deleted with the rights of the operator.
        """
        if obj := self._blocking(node):
            return self._report_blocked(node, obj, state.finalizer)
        if await self._patch_finalizers(node):
            self._reporter.emit(node, [events.rejected_node_deleted()])
        return Result()

    def _retry(self, progress: FinalizerState) -> Result:
        progress.attempts += 1
        backoff = self._context.timing.node_finalizer_backoff
        return Result(backoff.delay(progress.attempts - 1))

    async def _retains_all(self, node: LynqNode, progress: FinalizerState) -> bool:
        if progress.retain_all or retains_all(node):
            return True
        if not progress.is_deletion_explicit:
            progress.retain_all = await self._definition.is_deleted(progress.deletion_observed_at)
            progress.is_deletion_explicit = not progress.retain_all
        return progress.retain_all

    def _blocking(self, node: LynqNode) -> LynqHub | LynqForm | LynqNode | None:
        hubs = map(self._context.hubs.get, hubs_by_owner(node))
        return blocking(node, hubs, self._context.forms.get(form_by_name(node)))

    def _report_blocked(
        self, node: LynqNode, obj: LynqHub | LynqForm | LynqNode, progress: FinalizerState
    ) -> Result:
        """Emit the event once, and check again later: hub and form do not requeue their nodes."""
        uid = obj.metadata.uid
        if progress.blocked_by != uid:
            progress.blocked_by = uid
            self._reporter.emit(node, [deletion_blocked(obj)])
        return self._retry(progress)

    async def _with_retain_annotation(self, node: LynqNode) -> LynqNode:
        """Persist the retain decision, so that a new leader honors it."""
        annotations = node.metadata.annotations
        if annotations.get(ANNOTATION_RETAIN) == TRUE:
            return node
        return await self._context.nodes.patch(
            node, {"annotations": annotations | {ANNOTATION_RETAIN: TRUE}}
        )

    async def _items(self, node: LynqNode) -> list[InventoryItem]:
        """Return every object that the node may have applied: by cache, spec and status."""
        try:
            variables = variables_of(node)
        except VariablesError:
            variables = {}
        inventory = inventory_of(node, variables)
        desired = await self._desired_items(node, Renderer.of(node, variables, self._context.key))
        applied = self._pruner.applied_objects(node)
        items = {item.ref: item for item in (*applied, *desired, *inventory)}
        return list(items.values())

    async def _desired_items(self, node: LynqNode, renderer: Renderer) -> list[InventoryItem]:
        items = []
        entries = JournalEntries.of(node)
        for resource in all_resources(node.spec):
            spec = resource.spec
            entry = entries.entry(resource.id, with_body=False)
            try:
                kind = await self._reader.kind(str(spec.get("apiVersion")), str(spec.get("kind")))
                namespaced = kind.resource.namespaced
                if self._context.journal.verdict(entry) is not RenderVerdict.CLEAR:
                    raise entries.skipped(resource.id)
                render = partial(_metadata, renderer, resource, namespaced=namespaced)
                rendered = await self._recorded(entry, render)
            except (RenderError, UnknownKind, KindNotWatched):
                # Then it was never applied, or the inventory lists it.
                continue
            items.append(InventoryItem(resource.id, rendered.ref, is_listed=False))
        return items

    async def _recorded(self, entry: RenderEntry, render: Callable[[], Rendered]) -> Rendered:
        while (rendered := self._context.journal.run_now(entry, render)) is None:
            await asyncio.sleep(_RETRY_CHECK)
        return rendered

    def _emit_events(self, node_pass: NodePass, pruned: PruneResult) -> None:
        node, progress = node_pass.node, node_pass.state.finalizer
        is_hub_deleting = self._is_hub_deleting(node)
        for deletion in pruned.retained:
            item = deletion.item
            self._reporter.emit(node, [events.retained(item, deletion.retained_for)])
            event = events.orphaned(OrphanReason.LYNQ_NODE_DELETED)
            self._reporter.emit_for_object(item.ref, deletion.uid, event)
            if is_hub_deleting:
                self._reporter.emit(node, [events.retained_without_hub(item)])
        for released in pruned.released:
            event = events.released(released.item, kept_fields=released.kept_fields)
            self._reporter.emit(node, [event])
        failed = [outcome for outcome in pruned.remaining if outcome.ref in node_pass.prune_errors]
        messages = tuple(outcome.message for outcome in failed)
        if failed and messages != progress.reported_errors:
            self._reporter.emit(node, [events.cleanup_failed(failed)])
        progress.reported_errors = messages

    def _is_hub_deleting(self, node: LynqNode) -> bool:
        name = node.metadata.annotations.get(ANNOTATION_HUB_ID, "")
        hub = self._context.hubs.get(ObjectKey(node.metadata.namespace, name))
        return hub is not None and is_deleting(hub)

    async def _remove_finalizer(self, node_pass: NodePass) -> None:
        node, seconds = node_pass.node, time.monotonic() - node_pass.started
        if not await self._patch_finalizers(node):
            return
        self._reporter.emit(node, [events.node_deleted()])
        self._context.operator_metrics.record_reconcile("success", seconds)

    async def _patch_finalizers(self, node: LynqNode) -> bool:
        """Remove the finalizer; return False if it was removed by hand and the node is gone."""
        finalizers = [name for name in node.metadata.finalizers if name != FINALIZER_NODE]
        try:
            await self._context.nodes.patch(node, {"finalizers": finalizers or None})
        except NotFound:
            return False
        return True

    async def _report_remaining(self, node: LynqNode, pruned: PruneResult) -> None:
        metadata, now = node.metadata, self._context.clock()
        deleted_at = metadata.deletion_timestamp
        if deleted_at is None or now - deleted_at < self._context.timing.deletion_report_delay:
            return
        status = deleting_status(
            node.status, pruned.remaining, metadata.namespace, metadata.generation, now
        )
        await self._reporter.write_now(node, status)


def _metadata(renderer: Renderer, resource: TResource, *, namespaced: bool) -> Rendered:
    # Its own deadline: renders of many deleted nodes must not block the event loop.
    within = renderer.within(Deadline(LOOP_SECONDS))
    return within.render(resource, namespaced=namespaced, with_body=False)
