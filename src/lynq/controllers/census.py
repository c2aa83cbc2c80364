"""How many nodes each hub and form has, kept as they come and go: nobody ever scans them."""

from lynq.api import LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_HUB
from lynq.hub import Tally


class Census:
    """One tally per hub, fed by the changes of nodes."""

    def __init__(self) -> None:
        self._tallies: dict[ObjectKey, Tally] = {}

    def of(self, hub: ObjectKey) -> Tally:
        """Return the tally of a hub's nodes; empty if it has none."""
        return self._tallies.get(hub) or Tally()

    def take(self, key: ObjectKey, old: LynqNode | None, new: LynqNode | None) -> None:
        """Count a change of a node."""
        before, after = hub_of(old), hub_of(new)
        if before is not None and before != after:
            self._remove(before, key.name)
        if after is not None and new is not None:
            self._tallies.setdefault(after, Tally()).put(new)

    def _remove(self, hub: ObjectKey, name: str) -> None:
        if tally := self._tallies.get(hub):
            tally.remove(name)
            if not tally.count():
                del self._tallies[hub]


def hub_of(node: LynqNode | None) -> ObjectKey | None:
    """Return the hub that a node belongs to, by its label."""
    name = node.metadata.labels.get(LABEL_HUB) if node else None
    return ObjectKey(node.metadata.namespace, name) if node and name else None
