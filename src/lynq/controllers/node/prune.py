"""Takes away what a node no longer wants, or all of it when the node itself goes.

Only what is provably the node's, with the uid of the object that was looked at, dependents before
dependencies. What has to be retained is let go in one patch of the object as it was looked at.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from lynq.api import DeletionPolicy, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import FIELD_MANAGER, LABEL_MANAGED, TRUE
from lynq.api.reasons import OrphanReason
from lynq.api.resource import all_resources
from lynq.controllers.children import (
    BY_NODE,
    BY_OWNER,
    Child,
    Children,
    KindNotWatched,
    WatchedKind,
)
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS
from lynq.controllers.node.observe import Observer
from lynq.controllers.node.state import NodeState
from lynq.core.graph.build import entries_of
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.objects import ObjectRef, owner_of
from lynq.core.node.ownership import is_owned_by, orphan_patch
from lynq.core.node.prune import ObjectDeletion, PruneCandidate, next_prune_step
from lynq.core.node.state import ResourceOutcome
from lynq.kube import Discovery, PartialObject, Resource
from lynq.kube.errors import Conflict, GroupUnavailable, KubeError, NotFound, UnknownKind

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PruneResult:
    """What a round of removals has done, and what it has left."""

    deleted: list[InventoryItem] = field(default_factory=list)
    """Objects whose deletion was accepted."""
    retained: list[tuple[InventoryItem, str]] = field(default_factory=list)
    """Objects that were let go, with their uids."""
    remaining: Sequence[ResourceOutcome] = ()
    """Objects that are still there."""


class Pruner:
    """Removes objects of nodes."""

    def __init__(
        self, accounts: ClientSelector, lookout: Observer, children: Children, discovery: Discovery
    ) -> None:
        self._accounts = accounts
        self._lookout = lookout
        self._children = children
        self._discovery = discovery

    def unlisted(self, node: LynqNode) -> list[InventoryItem]:
        """Return objects that this node has surely applied, whatever its status says.

        A process that was killed between a write and the status has left them. Labels alone are
        no proof: other controllers copy them onto what they make. Our entry in managedFields is.
        """
        owner = owner_of(node)
        found: dict[ObjectRef, InventoryItem] = {}
        for kind in self._children.kinds():
            cache = kind.cache
            keys = cache.keys_by(BY_OWNER, owner.uid) + cache.keys_by(BY_NODE, node.metadata.key)
            for key in keys:
                child = cache.get(key)
                if child and child.live.digest and is_owned_by(child.live, owner):
                    ref = kind.ref(key)
                    found[ref] = InventoryItem("", ref)
        return list(found.values())

    async def clear(
        self,
        node: LynqNode,
        items: Iterable[InventoryItem],
        memory: NodeState,
        reason: OrphanReason,
        *,
        now: Callable[[], datetime],
        confirm: Callable[[], Awaitable[None]] | None = None,
        retains: bool = False,
    ) -> PruneResult:
        """Remove items as far as they can be removed now.

        `confirm` is asked before any go, wave by wave, and raises if none may go after all.
        With `retains` everything is let go, whatever its policy.
        """
        cleared = PruneResult()
        memory.prune_errors.clear()
        items = [each for item in items for each in await self._whereabouts(item)]
        if not items:
            return cleared
        policies = _policies(node, reason)
        if retains:
            policies = {item.id: DeletionPolicy.RETAIN for item in items}
        entries = entries_of(node.spec)
        while True:
            leftovers = await gather_or_cancel(
                self._leftover(each, policies, memory, now()) for each in items
            )
            step = next_prune_step(entries, leftovers, owner_of(node), reason)
            cleared.remaining = step.outcomes
            due = [this for this in step.removals if this.item.ref not in memory.prune_errors]
            if not due:
                return cleared
            if confirm:
                await confirm()
            await gather_or_cancel(self._remove(this, node, memory, cleared, now()) for this in due)

    async def _whereabouts(self, item: InventoryItem) -> list[InventoryItem]:
        """Return the items that an item may mean by now.

        An entry of the Go operator does not say the group, and several can have the kind: each is
        looked at, and what is not ours is left alone. A version can be served no more, and then
        the object is found in another one.
        """
        ref = item.ref
        try:
            if ref.api_version and await self._is_served(ref):
                return [item]
            group = ref.group if ref.api_version else None
            found = await self._discovery.of_kind(ref.kind, group)
        except NODE_WIDE_ERRORS:
            raise
        except KubeError:
            # Told when the item itself is looked for.
            return [item]
        return [InventoryItem(item.id, _ref_in(each, ref)) for each in found] or [item]

    async def _is_served(self, ref: ObjectRef) -> bool:
        try:
            await self._discovery.resource(ref.api_version, ref.kind)
        except GroupUnavailable:
            raise
        except UnknownKind:
            return False
        return True

    async def _leftover(
        self,
        item: InventoryItem,
        policies: dict[str, DeletionPolicy],
        memory: NodeState,
        now: datetime,
    ) -> PruneCandidate:
        problem = memory.prune_errors.get(item.ref, "")
        try:
            kind = await self._kind(item.ref)
            memory.unserved_since.pop(item.ref, None)
            child = await self._look(kind, item.ref, memory)
        except NODE_WIDE_ERRORS:
            raise
        except (GroupUnavailable, KindNotWatched) as error:
            return PruneCandidate(item, problem=str(error), is_unknown=True)
        except UnknownKind as error:
            # Without its definition no object of the kind is left. If that was found out just
            # now, another version of it may be: the next pass looks for that. And an API server
            # that has just started does not know all definitions yet.
            if memory.is_confirmed_unserved(item.ref, now):
                return PruneCandidate(item, problem=problem, is_unknown=bool(problem))
            return PruneCandidate(item, problem=problem or str(error), is_unknown=True)
        except KubeError as error:
            return PruneCandidate(item, problem=str(error), is_unknown=True)
        live = child.live if child else None
        if live and live.uid in memory.deletion_requested:
            live = replace(live, deleting=True)
        return PruneCandidate(item, live, policies.get(item.id), problem)

    async def _kind(self, ref: ObjectRef) -> WatchedKind:
        if ref.api_version:
            return await self._lookout.kind(ref.api_version, ref.kind)
        # An entry of the Go operator, of a kind that nobody serves as far as is known.
        await self._discovery.of_kind(ref.kind)
        raise UnknownKind(f"the API server serves no {ref.kind}")

    async def _look(self, kind: WatchedKind, ref: ObjectRef, memory: NodeState) -> Child | None:
        """Return the object; one that no cache shows is asked for once."""
        if child := kind.child(_key(kind, ref)):
            return child
        if ref in memory.absent:
            return None
        child = await self._lookout.fetch(kind, ref)
        if child is None:
            memory.absent.add(ref)
        return child

    async def _remove(
        self,
        removal: ObjectDeletion,
        node: LynqNode,
        memory: NodeState,
        cleared: PruneResult,
        now: datetime,
    ) -> None:
        item = removal.item
        kind = await self._kind(item.ref)
        try:
            if removal.retain:
                await self._retain(kind, removal, node, now)
                cleared.retained.append((item, removal.uid))
            else:
                await self._delete(kind, removal, node, memory)
                cleared.deleted.append(item)
        except NODE_WIDE_ERRORS:
            raise
        except (_Changed, Conflict, NotFound):
            # Another object by now, or none to be retained: looked at anew in the next round.
            memory.prune_errors[item.ref] = "it changed while it was being removed; tried again"
            memory.absent.discard(item.ref)
        except KubeError as error:
            memory.prune_errors[item.ref] = f"it could not be removed, and is tried again: {error}"
            _log.warning("object not removed", object=str(item.ref), error=str(error))

    async def _delete(
        self, kind: WatchedKind, removal: ObjectDeletion, node: LynqNode, memory: NodeState
    ) -> None:
        ref = removal.item.ref
        place = ref.namespace or None
        self._accounts.check_removal(node, ref)
        try:
            gone = await self._accounts.client_for(node).delete(
                kind.resource, ref.name, place, uid=removal.uid, propagation="Background"
            )
        except NotFound as error:
            self._lookout.check_served(kind, error)
            gone = True
        _log.info("object deleted", object=str(ref), gone=gone)
        if gone:
            kind.absorb_deleted(_key(kind, ref), removal.uid)
            memory.absent.add(ref)
        else:
            memory.deletion_requested.add(removal.uid)

    async def _retain(
        self, kind: WatchedKind, removal: ObjectDeletion, node: LynqNode, now: datetime
    ) -> None:
        ref, place = removal.item.ref, removal.item.ref.namespace or None
        client = self._accounts.client_for(node)
        found = await client.get(kind.resource, ref.name, place, into=PartialObject)
        known = found.metadata
        if known.uid != removal.uid:
            raise _Changed
        patch = orphan_patch(known.owner_references, owner_of(node), removal.reason, now)
        patch["metadata"]["resourceVersion"] = known.resource_version
        answer = await client.patch(
            kind.resource, ref.name, patch, place, manager=FIELD_MANAGER, into=kind.into
        )
        if answer.metadata.labels.get(LABEL_MANAGED) == TRUE:
            kind.absorb(answer)
        _log.info("object retained", object=str(ref), reason=str(removal.reason))


class _Changed(Exception):  # noqa: N818 - says what happened
    """The object under a name is another one by now."""


def _policies(node: LynqNode, reason: OrphanReason) -> dict[str, DeletionPolicy]:
    """Return what the spec says of objects, by id, where it says anything of them.

    Of what it wants no more it does not: the id may be that of another object by now.
    """
    if reason is OrphanReason.REMOVED_FROM_TEMPLATE:
        return {}
    return {this.id: this.deletion_policy for this in all_resources(node.spec)}


def _ref_in(resource: Resource, ref: ObjectRef) -> ObjectRef:
    # An entry of the Go operator has a namespace for kinds without one, too.
    namespace = ref.namespace if resource.namespaced else ""
    return ObjectRef(resource.api_version, ref.kind, namespace, ref.name)


def _key(kind: WatchedKind, ref: ObjectRef) -> ObjectKey:
    # An entry of the Go operator has a namespace for kinds without one, too.
    return ObjectKey(ref.namespace if kind.resource.namespaced else "", ref.name)
