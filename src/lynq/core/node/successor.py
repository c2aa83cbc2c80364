"""Which objects that left the form are held until their successors are accepted.

An entry that renders another object, because its name, namespace or kind changed, replaces the old
object by a successor. The API server may reject the successor, or a dependency may keep it from
being applied, so the old object is pruned only after the successor was accepted:

- The successor of an object is the object that the entry of the same id renders now.
- A removed entry and a new entry of the same kind are probably one entry whose id was renamed. The
  object is held while a new entry of its kind was never accepted.
- A live object whose new content was not accepted, or cannot be rendered, may still refer to the
  old dependency. So an object is also held until every entry that depends on its id has the desired
  content.
- A held object may use any other object of the node. So nothing else that left the form is pruned
  as long as one object is held for its successor.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lynq.api import NodeStatus
from lynq.api.names import ANNOTATION_APPLIED_HASH
from lynq.core.graph.model import Graph, reverse
from lynq.core.node.decide import is_done_once
from lynq.core.node.inventory import InventoryItem, is_possible_kind
from lynq.core.node.objects import ObjectIdentity, Owner, ref_of
from lynq.core.node.ownership import is_owned_by
from lynq.core.node.state import ResourceFacts, ResourceOutcome


@dataclass(frozen=True, slots=True)
class Successors:
    """The resources of a node after they were applied."""

    owner: Owner
    status: NodeStatus
    """The status before this reconcile; it lists the objects that were accepted earlier."""
    graph: Graph
    facts: Mapping[str, ResourceFacts]
    outcomes: Mapping[str, ResourceOutcome]
    """The facts and the outcomes by resource id."""


def held_for_successors(
    stale: Iterable[InventoryItem],
    successors: Successors,
    unresolved: Collection[str] = (),
) -> dict[InventoryItem, str]:
    """Return the objects that must stay, each with the event until which it stays.

    `unresolved` are the ids whose desired objects are unknown. Their objects stay anyway and are
    not returned, but they may use the objects that their entries depend on.
    """
    stale = tuple(stale)
    acceptance = _Acceptance(successors, stale)
    resolved = [item for item in stale if item.id not in unresolved]
    conditions = {item: until for item in resolved if (until := acceptance.awaited(item))}
    if not conditions:
        return {}
    first = next(iter(conditions))
    return {
        item: conditions.get(item) or f"{first.ref} can be pruned, which may use it"
        for item in resolved
    }


class _Acceptance:
    """What the API server has accepted of a node's resources."""

    def __init__(self, successors: Successors, stale: Iterable[InventoryItem]) -> None:
        self._owner = successors.owner
        self._facts = successors.facts
        self._outcomes = successors.outcomes
        self._dependents = reverse(successors.graph.dependencies)
        # Only a write that was accepted leaves the digest of its managed fields.
        self._recorded: set[tuple[str, ObjectIdentity]] = {
            (entry.id, ref_of(entry).identity)
            for entry in successors.status.resources
            if entry.fields_digest
        }
        self._recorded_ids = {resource_id for resource_id, _ in self._recorded}
        self._stale_ids = {item.id for item in stale}

    def awaited(self, item: InventoryItem) -> str:
        """Return until when an object stays; "" if it can be pruned now."""
        if item.id not in self._facts:
            return self._awaited_entry(item)
        if not self._is_accepted(item.id):
            return self._successor(item.id)
        dependents = self._dependents.get(item.id, ())
        dependent = next((id_ for id_ in dependents if self._may_use_old_object(id_)), "")
        return dependent and f'"{dependent}" is accepted, which may still use it'

    def _awaited_entry(self, item: InventoryItem) -> str:
        new_entries = (
            id_
            for id_, facts in self._facts.items()
            if is_possible_kind(facts.ref.kind, item.ref.kind)
        )
        new_entry = next((id_ for id_ in new_entries if not self._was_ever_accepted(id_)), "")
        return new_entry and self._successor(new_entry)

    def _successor(self, resource_id: str) -> str:
        ref, outcome = self._facts[resource_id].ref, self._outcomes[resource_id]
        successor = f'"{resource_id}", which renders {ref} now,' if ref.name else f'"{resource_id}"'
        return (
            f"{successor} is accepted; correct the form or the row, or delete this object if it "
            f"holds what the new one needs. {outcome.state}: {outcome.message}"
        )

    def _is_accepted(self, resource_id: str) -> bool:
        """Return whether the object of a resource was accepted in this or an earlier reconcile."""
        facts = self._facts[resource_id]
        if not self._is_live(facts):
            return False
        is_recorded = (resource_id, facts.ref.identity) in self._recorded
        return is_recorded or self._has_desired_content(facts)

    def _was_ever_accepted(self, resource_id: str) -> bool:
        return resource_id in self._recorded_ids or self._is_live(self._facts[resource_id])

    def _may_use_old_object(self, resource_id: str) -> bool:
        """Return whether a live object of a dependent has other than the desired content."""
        facts = self._facts[resource_id]
        has_object = facts.live is not None or resource_id in self._stale_ids
        return has_object and not self._has_desired_content(facts)

    def _is_live(self, facts: ResourceFacts) -> bool:
        live = facts.live
        if live is None or live.is_deleting:
            return False
        return is_owned_by(live, facts.ref, self._owner, is_listed=True)

    def _has_desired_content(self, facts: ResourceFacts) -> bool:
        live, desired = facts.live, facts.desired
        if live is None or desired is None:
            return False
        if is_done_once(facts.resource, live, facts.ref, self._owner):
            return True
        return live.annotations.get(ANNOTATION_APPLIED_HASH) == desired.hash
