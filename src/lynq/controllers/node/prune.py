"""Deletes or retains the objects that a node no longer desires, or all of them in its finalizer.

Only objects that the node owns are touched, dependents before dependencies. The uid and the
resourceVersion that ownership was decided by are the precondition of a delete: the cache of a new
leader can be behind, and another node may have adopted the object since. An object that is retained
or released is read first (`release`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

import structlog
from msgspec.structs import replace

from lynq.api import DeletionPolicy, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_by_name, is_deleting
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
from lynq.controllers.context import ControllerContext
from lynq.controllers.impersonation import ClientSelector
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS, is_transient
from lynq.controllers.node.namespace_reader import NamespaceReader
from lynq.controllers.node.object_reader import ObjectReader
from lynq.controllers.node.release import ObjectChanged, ReleasedObject, release, retain
from lynq.controllers.node.state import NodePass
from lynq.controllers.node.write_gate import WriteGate
from lynq.core.graph.build import entries_of
from lynq.core.node.inventory import InventoryItem
from lynq.core.node.namespace_use import NamespaceUse
from lynq.core.node.objects import ObjectRef, owner_of
from lynq.core.node.ownership import is_owned_by
from lynq.core.node.prune import (
    ObjectDeletion,
    PruneCandidate,
    next_prune_step,
    with_contenders,
    with_uses,
)
from lynq.core.node.state import ResourceOutcome
from lynq.kube import Discovery, Resource
from lynq.kube.errors import Conflict, GroupUnavailable, KubeError, NotFound, UnknownKind

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PruneResult:
    """What was pruned, and what remains."""

    deleted: list[InventoryItem] = field(default_factory=list)
    """Objects whose deletion was accepted."""
    retained: list[ObjectDeletion] = field(default_factory=list)
    """Objects that became orphans."""
    released: list[ReleasedObject] = field(default_factory=list)
    """Objects that existed before and stay without our fields and marks."""
    remaining: Sequence[ResourceOutcome] = ()
    """Objects that still exist."""
    requeue_at: datetime | None = None
    """When a held object may be pruned without a watch event."""


class Pruner:
    """Prunes objects of nodes."""

    def __init__(
        self,
        context: ControllerContext,
        clients: ClientSelector,
        reader: ObjectReader,
        children: Children,
        discovery: Discovery,
        *,
        claims: NodeClaims,
        gate: WriteGate,
    ) -> None:
        self._context = context
        self._gate = gate
        self._claims = claims
        self._clients = clients
        self._reader = reader
        self._children = children
        self._discovery = discovery
        self._namespaces = NamespaceReader(context, children, discovery, claims)

    def applied_objects(self, node: LynqNode) -> list[InventoryItem]:
        """Return the cached objects that the node has applied, regardless of its status.

        A process that was killed between an apply and the status write leaves such objects. Labels
        alone are no proof: other controllers copy them to objects that they create. An entry of our
        field manager is.
        """
        owner = owner_of(node)
        items: dict[ObjectRef, InventoryItem] = {}
        for kind in self._children.kinds():
            cache = kind.cache
            keys = cache.keys_by(BY_OWNER, owner.uid) + cache.keys_by(BY_NODE, node.metadata.key)
            for key in keys:
                child = cache.get(key)
                ref = kind.ref(key)
                if (
                    child
                    and child.live.digest
                    and is_owned_by(child.live, ref, owner, is_listed=False)
                ):
                    items[ref] = InventoryItem("", ref, is_listed=False)
        return list(items.values())

    async def prune(
        self,
        node_pass: NodePass,
        items: Iterable[InventoryItem],
        reason: OrphanReason,
        *,
        held: Mapping[InventoryItem, str] = MappingProxyType({}),
        confirm: Callable[[], Awaitable[None]] | None = None,
        retain_all: bool = False,
    ) -> PruneResult:
        """Delete or retain items, wave by wave, as far as that is possible now.

        `held` are observed and not pruned; each has the event until which it stays.
        `confirm` runs before each wave, and raises if nothing may be deleted after all.
        `retain_all` overrides the deletion policies.
        """
        node, result = node_pass.node, PruneResult()
        located = {
            each: held.get(item, "")
            for item in (*items, *held)
            for each in await self._locate(item)
        }
        if not located:
            return result
        retained = frozenset(item.id for item in located) if retain_all else self._retained(node)
        policies = _policies(node, retained)
        entries, owner = entries_of(node.spec), owner_of(node)
        deferred: set[ObjectRef] = set()
        while True:
            candidates = await gather_or_cancel(
                self._candidate(item, node_pass, policies, until=until)
                for item, until in located.items()
            )
            # A deletion that failed or was deferred is retried in a later reconcile.
            tried = deferred | node_pass.prune_errors.keys()
            step = next_prune_step(entries, candidates, owner, reason)
            read_at = asyncio.get_running_loop().time()
            if step.needs_contenders(tried):
                contenders = await self._claims.current_contenders(node)
                candidates = with_contenders(candidates, contenders)
                step = next_prune_step(entries, candidates, owner, reason)
            if namespaces := step.deleted_namespaces(tried):
                uses = await self._uses(namespaces, node, candidates)
                candidates = with_uses(candidates, uses)
                step = next_prune_step(entries, candidates, owner, reason)
            result.remaining = step.outcomes
            wave = [deletion for deletion in step.deletions if deletion.item.ref not in tried]
            if not wave:
                return result
            if confirm:
                await confirm()
            sent = await gather_or_cancel(
                self._send(deletion, node_pass, result, self._context.clock(), read_at=read_at)
                for deletion in wave
            )
            deferred |= {
                deletion.item.ref
                for deletion, was_sent in zip(wave, sent, strict=True)
                if not was_sent
            }

    async def _uses(
        self,
        namespaces: Iterable[ObjectRef],
        node: LynqNode,
        candidates: Sequence[PruneCandidate],
    ) -> dict[ObjectRef, NamespaceUse]:
        """Read why Namespaces stay that would be deleted."""
        owner, pruned = owner_of(node), {each.item.ref.identity for each in candidates}
        return {
            ref: await self._namespaces.use(ref, owner, pruned, is_deleting=is_deleting(node))
            for ref in namespaces
        }

    def _retained(self, node: LynqNode) -> frozenset[str]:
        # By the name: a node that is being deleted may have been edited to another form.
        return self._context.retained_ids.of(form_by_name(node))

    async def _locate(self, item: InventoryItem) -> list[InventoryItem]:
        """Return the items that an inventory item may refer to.

        An entry of the Go operator has no group, and several groups can have the kind. All of them
        are observed; objects that the node does not own are not touched. If a version is no longer
        served, the object is found in another version.
        """
        ref = item.ref
        try:
            if ref.api_version and await self._is_served(ref):
                return [item]
            group = ref.group if ref.api_version else None
            resources = await self._discovery.of_kind(ref.kind, group)
        except NODE_WIDE_ERRORS:
            raise
        except KubeError:
            # Reported when the item itself is observed.
            return [item]
        return [item.with_ref(_ref_in(resource, ref)) for resource in resources] or [item]

    async def _is_served(self, ref: ObjectRef) -> bool:
        try:
            await self._discovery.resource(ref.api_version, ref.kind)
        except GroupUnavailable:
            raise
        except UnknownKind:
            return False
        return True

    async def _candidate(
        self,
        item: InventoryItem,
        node_pass: NodePass,
        policies: Mapping[str, DeletionPolicy],
        *,
        until: str,
    ) -> PruneCandidate:
        state, problem = node_pass.state.prune, node_pass.prune_errors.get(item.ref, "")
        try:
            kind = await self._kind(item.ref)
            state.unserved_since.pop(item.ref, None)
            child = await self._observe(kind, item.ref, node_pass)
        except NODE_WIDE_ERRORS:
            raise
        except (GroupUnavailable, KindNotWatched) as error:
            return PruneCandidate(item, problem=str(error), is_unobserved=True, held_until=until)
        except UnknownKind as error:
            # Without its definition no object of the kind exists. A version that has just been
            # removed can be replaced by another one, which the next reconcile finds. And an API
            # server that has just started does not serve all definitions yet.
            if state.is_confirmed_unserved(item.ref, self._discovery.complete_at):
                return PruneCandidate(item, problem=problem, is_unobserved=bool(problem))
            return PruneCandidate(
                item, problem=problem or str(error), is_unobserved=True, held_until=until
            )
        except KubeError as error:
            return PruneCandidate(item, problem=str(error), is_unobserved=True, held_until=until)
        live = child.live if child else None
        if live and live.uid in state.deletion_requested:
            live = replace(live, is_deleting=True)
        if live and live.uid in node_pass.gone.released:
            live = None
        return PruneCandidate(
            item,
            live,
            policies.get(item.id),
            problem,
            contender=self._claims.contender(item.ref, node_pass.node),
            held_until=until,
            version=child.resource_version if child else "",
        )

    async def _kind(self, ref: ObjectRef) -> WatchedKind:
        if ref.api_version:
            return await self._reader.kind(ref.api_version, ref.kind, allow_outdated=True)
        # An entry of the Go operator whose kind discovery did not find in any group.
        await self._discovery.of_kind(ref.kind)
        raise UnknownKind(f"the API server serves no {ref.kind}")

    async def _observe(
        self, kind: WatchedKind, ref: ObjectRef, node_pass: NodePass
    ) -> Child | None:
        """Return the live object; one that is not in the cache is read.

        The cache is not used for an object that has changed since, nor for a kind whose watch was
        lost: no event would report that an object was deleted.
        """
        cached = kind.child(_key(kind, ref))
        if cached and not kind.is_unwatched and ref not in node_pass.outdated:
            return cached
        if ref in node_pass.gone.absent:
            return None
        child = await self._reader.fetch(kind, ref)
        if cached and child is None:
            kind.store_deletion(_key(kind, ref), cached.live.uid)
        if child is None:
            node_pass.gone.absent.add(ref)
        return child

    async def _send(
        self,
        deletion: ObjectDeletion,
        node_pass: NodePass,
        result: PruneResult,
        now: datetime,
        *,
        read_at: float,
    ) -> bool:
        """Delete, release or retain an object; return False if that is deferred."""
        node = node_pass.node

        async def execute() -> bool:
            # A node may have come to desire the object meanwhile. The next step retains the object.
            if deletion.retain or not await self._is_contested(deletion.item.ref, node, read_at):
                await self._execute(deletion, node_pass, result, now)
            return True

        return bool(await self._gate.send(node, deletion.item.ref, execute))

    async def _is_contested(self, ref: ObjectRef, node: LynqNode, read_at: float) -> bool:
        """Return whether another node desires an object; its contenders were read at `read_at`."""
        if self._claims.contender(ref, node):
            return True
        if asyncio.get_running_loop().time() - read_at < self._context.timing.contenders_lifetime:
            return False
        return ref.identity in await self._claims.current_contenders(node)

    async def _execute(
        self, deletion: ObjectDeletion, node_pass: NodePass, result: PruneResult, now: datetime
    ) -> None:
        node, item = node_pass.node, deletion.item
        kind = await self._kind(item.ref)
        client, owner = self._clients.client_for(node), owner_of(node)
        try:
            if deletion.release:
                kept_fields = await release(client, kind, deletion, owner)
                released = ReleasedObject(item, deletion.uid, kept_fields=kept_fields)
                result.released.append(released)
                node_pass.gone.released.add(deletion.uid)
            elif deletion.retain:
                await retain(client, kind, deletion, owner, now)
                result.retained.append(deletion)
            else:
                with kind.writing(_key(kind, item.ref)):
                    await self._delete(kind, deletion, node_pass)
                result.deleted.append(item)
        except NODE_WIDE_ERRORS:
            raise
        except (ObjectChanged, KubeError) as error:
            has_changed = isinstance(error, ObjectChanged | Conflict | NotFound)
            may_pass = has_changed or (isinstance(error, KubeError) and is_transient(error))
            if may_pass and item.ref not in node_pass.outdated:
                # Decided again with the live object, once.
                node_pass.outdated.add(item.ref)
                node_pass.gone.absent.discard(item.ref)
                return
            verb = "release" if deletion.release else "retain" if deletion.retain else "delete"
            node_pass.prune_errors[item.ref] = (
                "concurrent modification; retrying"
                if has_changed
                else f"could not {verb} the object; retrying: {error}"
            )
            _log.warning("object not pruned", object=str(item.ref), error=str(error))

    async def _delete(
        self, kind: WatchedKind, deletion: ObjectDeletion, node_pass: NodePass
    ) -> None:
        node, ref = node_pass.node, deletion.item.ref
        self._clients.check_deletion(node, ref)
        # One that was just read belongs to the node: no other node adopts it now.
        version = None if ref in node_pass.outdated else deletion.version
        try:
            gone = await self._clients.client_for(node).delete(
                kind.resource,
                ref.name,
                ref.namespace,
                uid=deletion.uid,
                resource_version=version,
                propagation="Foreground" if deletion.is_foreground else "Background",
            )
        except NotFound as error:
            self._reader.check_served(kind, error)
            gone = True
        _log.info("object deleted", object=str(ref), gone=gone)
        if gone:
            kind.store_deletion(_key(kind, ref), deletion.uid)
            node_pass.gone.absent.add(ref)
        else:
            node_pass.state.prune.deletion_requested.add(deletion.uid)


def _policies(node: LynqNode, retained: frozenset[str]) -> dict[str, DeletionPolicy]:
    """Return the deletion policies of the spec and of the form, by resource id.

    They apply to an object that left the form, too: a Retain may come with another name.
    """
    policies = {resource.id: resource.deletion_policy for resource in all_resources(node.spec)}
    return policies | dict.fromkeys(retained, DeletionPolicy.RETAIN)


def _ref_in(resource: Resource, ref: ObjectRef) -> ObjectRef:
    # An entry of the Go operator has a namespace even for a cluster-scoped kind.
    namespace = ref.namespace if resource.namespaced else ""
    return ObjectRef(resource.api_version, ref.kind, namespace, ref.name)


def _key(kind: WatchedKind, ref: ObjectRef) -> ObjectKey:
    # An entry of the Go operator has a namespace even for a cluster-scoped kind.
    return ObjectKey(ref.namespace if kind.resource.namespaced else "", ref.name)
