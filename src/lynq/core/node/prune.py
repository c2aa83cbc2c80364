"""Which objects of a node are deleted, released or retained, and in which order.

The same rules hold for objects that left the form and for a node that is being deleted: dependents
before dependencies, and only objects that the node owns. An object of another owner leaves the
inventory untouched: the inventory lists what the node meant to apply, not what it owns.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lynq.api import DeletionPolicy, LynqNode, ResourceState, TResource
from lynq.api.digests import is_untouched
from lynq.api.names import ANNOTATION_DELETION_POLICY
from lynq.api.reasons import OrphanReason, StateReason
from lynq.core.graph.build import removal_waves
from lynq.core.graph.model import Entry
from lynq.core.node.adoption_policy import is_adopted
from lynq.core.node.inventory import InventoryItem, possible_claims, stale_items
from lynq.core.node.namespace_use import UNUSED, NamespaceUse, combined
from lynq.core.node.objects import LiveObject, ObjectIdentity, ObjectRef, Owner
from lynq.core.node.ownership import is_orphan, is_owned_by
from lynq.core.node.siblings import NO_SIBLINGS, Siblings, held_for_siblings
from lynq.core.node.state import ResourceOutcome
from lynq.core.node.successor import Successors, held_for_successors

_WORKLOADS: Final = frozenset(
    {
        ("", "ReplicationController"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
    }
)
"""Groups and kinds whose controllers run pods."""


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """The objects that are no longer desired: which are pruned now, and which are held back."""

    items: tuple[InventoryItem, ...] = ()
    held: Mapping[InventoryItem, str] = field(default_factory=dict)
    """The objects that are not pruned yet, each with the event until which it stays."""
    requeue_at: datetime | None = None
    """When the selection changes without a watch event."""


def find_stale(
    inventory: Iterable[InventoryItem],
    unlisted: Iterable[InventoryItem],
    *,
    desired: Iterable[ObjectRef],
    unresolved: Sequence[TResource],
) -> tuple[InventoryItem, ...]:
    """Return the objects that left the spec of a node.

    `unlisted` are objects that the node owns and its status does not list. `unresolved` are
    resources that could not be rendered or observed: an unlisted object may be one of theirs, so
    none is returned while there are any.
    """
    listed = tuple(inventory)
    refs = {item.ref for item in listed}
    further = () if unresolved else tuple(item for item in unlisted if item.ref not in refs)
    return stale_items((*listed, *further), desired)


def select_prunable(
    node: LynqNode,
    stale: Sequence[InventoryItem],
    unresolved: Sequence[TResource],
    successors: Successors,
    siblings: Siblings = NO_SIBLINGS,
) -> PruneSelection:
    """Select the objects that can be pruned, of those that left the spec of a node."""
    if stale and _awaits_rewrite(node):
        until = "the LynqHub has restored the LynqNode, which was edited"
        return PruneSelection(held=dict.fromkeys(stale, until))
    unresolved_ids = {resource.id for resource in unresolved}
    held = held_for_successors(stale, successors, unresolved_ids)
    held.update(held_for_siblings(stale, siblings))
    for item, resource_id in possible_claims(stale, unresolved).items():
        held[item] = f'"{resource_id}" can be rendered, which may desire it'
    # The desired objects of an unresolved resource are unknown, so all of its objects stay: a typo
    # in a template must not delete a tenant.
    for item in stale:
        if item.id in unresolved_ids:
            held[item] = f'"{item.id}" can be rendered and observed'
    items = tuple(item for item in stale if item not in held)
    return PruneSelection(items, held, siblings.grace_ends if held else None)


def pending_outcomes(stale: Iterable[InventoryItem]) -> tuple[ResourceOutcome, ...]:
    """Return the outcomes of objects that left the spec, before the resources are applied."""
    return tuple(_held(item, "the resources of the node are applied") for item in stale)


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """An item of the inventory that is to be pruned, with its observed object."""

    item: InventoryItem
    live: LiveObject | None = None
    """None if the object does not exist."""
    policy: DeletionPolicy | None = None
    """The policy of the node's spec or of its form, if the object is still in it."""
    problem: str = ""
    """Why the object could not be observed or deleted the last time, and what to do about it."""
    is_unobserved: bool = False
    """Whether the object could not be observed: then it may exist."""
    held_until: str = ""
    """The event until which the object is not deleted; "" if it is deleted now."""
    contender: str = ""
    """Another node that desires the object, for messages; "" if there is none."""
    version: str = ""
    """The resourceVersion of the live object."""
    use: NamespaceUse = UNUSED
    """Why the object stays, if it is a Namespace."""


@dataclass(frozen=True, slots=True)
class ObjectDeletion:
    """One object to delete, to release, or to retain as an orphan, now."""

    item: InventoryItem
    uid: str
    """The precondition: a re-created object of the same name must not be deleted."""
    version: str
    """The precondition of a deletion: an object that changed since may have another owner."""
    retain: bool
    reason: OrphanReason
    release: bool = False
    """Whether only our fields and marks are removed: the object existed before."""
    retained_for: str = ""
    """What keeps a Namespace that its deletionPolicy does not keep."""

    @property
    def is_foreground(self) -> bool:
        """Whether the object stays until its pods are gone.

        Objects that the pods need, such as Secrets and Services, are deleted only after it.
        """
        ref = self.item.ref
        return (ref.group, ref.kind) in _WORKLOADS


@dataclass(frozen=True, slots=True)
class PruneStep:
    """The objects to delete now, and the objects that remain."""

    deletions: tuple[ObjectDeletion, ...]
    outcomes: tuple[ResourceOutcome, ...]
    """One per remaining object; the others are pruned and leave the inventory."""

    def needs_contenders(self, tried: Collection[ObjectRef]) -> bool:
        """Return whether an object is deleted or released that another node may desire.

        Deletions of `tried` objects are not sent.
        """
        return any(
            not deletion.retain and deletion.item.ref not in tried for deletion in self.deletions
        )

    def deleted_namespaces(self, tried: Collection[ObjectRef]) -> tuple[ObjectRef, ...]:
        """Return the Namespaces that are deleted now, with all objects in them."""
        return tuple(
            deletion.item.ref
            for deletion in self.deletions
            if deletion.item.ref.is_namespace
            and not (deletion.retain or deletion.release)
            and deletion.item.ref not in tried
        )

    @property
    def is_done(self) -> bool:
        """Whether every object is deleted, retained or not owned by the node."""
        return not self.outcomes


def next_prune_step(
    entries: Iterable[Entry],
    candidates: Sequence[PruneCandidate],
    owner: Owner,
    reason: OrphanReason,
) -> PruneStep:
    """Return the next wave of deletions; `entries` are the resources of the node's spec."""
    entries = tuple(entries)
    remaining = _with_uses([each for each in candidates if _remains(each, owner)], owner)
    observed = {
        candidate.item.id
        for candidate in remaining
        if not candidate.is_unobserved and not candidate.held_until
    }
    # The spec does not say what depends on a volume claim that left it: usually a workload.
    unlisted = observed.difference(entry.id for entry in entries)
    waiting = {candidate.item.id for candidate in remaining if _waits_for_pods(candidate)}
    volume_claims = waiting & unlisted
    waves = removal_waves(entries, observed - volume_claims)
    wave = volume_claims.union(waves[0] if waves else ())
    due = [each for each in remaining if each.item.id in wave]
    # Nothing is retained or released in a Namespace that could still be deleted.
    due = [each for each in remaining if each.use.retained_for] or due
    deletions = tuple(
        _deletion(candidate, candidate.live, owner, reason)
        for candidate in due
        if candidate.live and _is_due(candidate, candidate.live)
    )
    by_ref = {deletion.item.ref: deletion for deletion in deletions}
    outcomes = tuple(_outcome(candidate, by_ref, wave) for candidate in remaining)
    return PruneStep(deletions, outcomes)


def with_contenders(
    candidates: Iterable[PruneCandidate], contenders: Mapping[ObjectIdentity, str]
) -> list[PruneCandidate]:
    """Return the candidates with the nodes that desire their objects, by object."""
    return [
        replace(
            candidate,
            contender=candidate.contender or contenders.get(candidate.item.ref.identity, ""),
        )
        for candidate in candidates
    ]


def with_uses(
    candidates: Iterable[PruneCandidate], uses: Mapping[ObjectRef, NamespaceUse]
) -> list[PruneCandidate]:
    """Return the candidates with the reasons why Namespaces stay, by Namespace."""
    return [
        replace(candidate, use=uses.get(candidate.item.ref, candidate.use))
        for candidate in candidates
    ]


def _with_uses(candidates: Sequence[PruneCandidate], owner: Owner) -> list[PruneCandidate]:
    """Add to each Namespace why an object that the node prunes keeps it."""
    return [
        _in_use(each, candidates, owner) if each.item.ref.is_namespace else each
        for each in candidates
    ]


def _in_use(
    namespace: PruneCandidate, candidates: Iterable[PruneCandidate], owner: Owner
) -> PruneCandidate:
    name = namespace.item.ref.name
    inside = [_use_by(each, owner) for each in candidates if each.item.ref.namespace == name]
    use = combined([namespace.use, *inside])
    return replace(namespace, use=use, held_until=namespace.held_until or use.held_until)


def _use_by(candidate: PruneCandidate, owner: Owner) -> NamespaceUse:
    """Return why an object that the node prunes keeps its Namespace."""
    ref, live = candidate.item.ref, candidate.live
    if candidate.held_until:
        return NamespaceUse(held_until=candidate.held_until)
    if live is None:
        return NamespaceUse(held_until=f"{ref} can be observed")
    if live.is_deleting:
        return UNUSED
    if candidate.contender:
        return NamespaceUse(held_until=f"{ref} is gone, which is handed over")
    deletion = _deletion(candidate, live, owner, OrphanReason.LYNQ_NODE_DELETED)
    if deletion.release:
        return NamespaceUse(retained_for=f"{ref} existed before")
    return NamespaceUse(retained_for=f"{ref} is retained" if deletion.retain else "")


def _awaits_rewrite(node: LynqNode) -> bool:
    """Return whether the node was edited, and has a hub that will restore it."""
    has_hub = any(reference.controller for reference in node.metadata.owner_references)
    return has_hub and not is_untouched(node)


def _held(item: InventoryItem, until: str) -> ResourceOutcome:
    return _deleting(item, StateReason.HELD_BACK, f"no longer desired; kept until {until}")


def _remains(candidate: PruneCandidate, owner: Owner) -> bool:
    if candidate.is_unobserved:
        return True
    live = candidate.live
    if live is None or is_orphan(live):
        return False
    item = candidate.item
    return is_owned_by(live, item.ref, owner, is_listed=item.is_listed)


def _waits_for_pods(candidate: PruneCandidate) -> bool:
    """Return whether the object is a claim that is deleted when no pod uses it any more."""
    ref, live = candidate.item.ref, candidate.live
    is_claim = (ref.group, ref.kind) == ("", "PersistentVolumeClaim")
    return is_claim and live is not None and live.is_deleting


def _is_due(candidate: PruneCandidate, live: LiveObject) -> bool:
    return not live.is_deleting and not candidate.held_until


def _deletion(
    candidate: PruneCandidate, live: LiveObject, owner: Owner, reason: OrphanReason
) -> ObjectDeletion:
    item = candidate.item
    # A policy that could not be written to the object counts, and one that could not be removed.
    policies = (candidate.policy, live.annotations.get(ANNOTATION_DELETION_POLICY))
    retain = item.is_retained or DeletionPolicy.RETAIN in policies
    # Another node that desires the object adopts the orphan.
    retain = retain or _is_own_namespace(item.ref, owner) or bool(candidate.contender)
    release = not retain and is_adopted(live, item.adopted_uid)
    retained_for = "" if retain or release else candidate.use.retained_for
    return ObjectDeletion(
        item,
        live.uid,
        candidate.version,
        retain or bool(retained_for),
        reason,
        release,
        retained_for,
    )


def _is_own_namespace(ref: ObjectRef, owner: Owner) -> bool:
    """Return whether the object is the namespace of the node: all other nodes are in it, too."""
    return ref.is_namespace and ref.name == owner.namespace


def _outcome(
    candidate: PruneCandidate, deletions: Mapping[ObjectRef, ObjectDeletion], wave: Collection[str]
) -> ResourceOutcome:
    item = candidate.item
    if candidate.held_until:
        return _held(item, candidate.held_until)
    if candidate.problem:
        return _deleting(item, StateReason.REMOVAL_FAILED, candidate.problem)
    if deletion := deletions.get(item.ref):
        message = _deletion_message(deletion, candidate.contender)
        return _deleting(item, StateReason.DELETING, message)
    if item.id in wave:
        return _deleting(
            item, StateReason.DELETING, "being deleted; waiting for its pods or finalizers"
        )
    message = "waiting for dependents to be deleted"
    return _deleting(item, StateReason.WAITING_FOR_DEPENDENTS, message)


def _deletion_message(deletion: ObjectDeletion, contender: str) -> str:
    if contender:
        return f"being handed over to {contender}"
    if deletion.release:
        return "being released: it existed before"
    if deletion.retained_for:
        return f"being retained as an orphan, because {deletion.retained_for}"
    return "being retained as an orphan" if deletion.retain else "being deleted"


def _deleting(item: InventoryItem, reason: StateReason, message: str) -> ResourceOutcome:
    return ResourceOutcome(
        id=item.id,
        ref=item.ref,
        state=ResourceState.DELETING,
        reason=str(reason),
        message=message,
        is_retained=item.is_retained,
    )
