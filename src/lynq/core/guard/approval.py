"""The approval of a held deletion: requested, resolved to a set of nodes, spent.

The deletion guard holds a large deletion until a person sets the annotation
`lynq.sh/approve-deletion` on the hub. Its value is the digest that the condition DeletionHeld
reports, so it approves exactly one set of nodes. An approval passes through three states:

- Requested: the annotation has a value. A new value makes the hub read its rows first. Rows from
  before the approval must not delete a tenant that has come back since.
- Resolved: the digest is that of a set of nodes. This is the set to delete now, or that set and the
  nodes that are already being deleted: an operator that restarts half way finds only the rest to
  delete. The resolved set is handed to the next plan, because nodes that are gone for good are
  missing from both sets.
- Spent: nothing is held, or the approved deletion is complete. A spent approval is removed from the
  hub. It would release the same nodes again after their rows have come back and vanished once more.

The hub's status remembers the last spent approvals, because a tool that applies the hub from Git
sets a removed annotation again. A spent approval releases nothing and is left where it is. The same
set of nodes has another digest from then on, so that a person can approve it again.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from lynq.api import DeletionGuardStatus, HeldDeletions, Metadata
from lynq.api.hub import MAX_HELD_NODES, MAX_SPENT_APPROVALS
from lynq.api.names import ANNOTATION_APPROVE_DELETION

DIGEST_LENGTH: Final = 16
"""Number of hexadecimal digits of a digest."""
_DIGEST: Final = re.compile(f"[0-9a-f]{{{DIGEST_LENGTH}}}")


def digest_of(names: Iterable[str], spent: Collection[str] = ()) -> str:
    """Return the digest of a set of node names that is not one of the spent digests."""
    # The name of an object has no line break.
    text = "\n".join(sorted(set(names)))
    while (digest := _hashed(text)) in spent:
        text = f"{text}\n{digest}"
    return digest


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def held_deletions(names: Collection[str], spent: Collection[str] = ()) -> HeldDeletions | None:
    """Return status.heldDeletions of a hub that holds the deletion of these nodes."""
    if not names:
        return None
    return HeldDeletions(
        count=len(names),
        digest=digest_of(names, spent),
        nodes=tuple(sorted(names)[:MAX_HELD_NODES]),
    )


def spent_approvals(status: DeletionGuardStatus | None) -> tuple[str, ...]:
    """Return the spent approvals that the status of a hub's guard has."""
    return status.spent_approvals if status else ()


def with_spent_approval(status: DeletionGuardStatus | None, digest: str) -> DeletionGuardStatus:
    """Return the status of a hub's guard with one more spent approval, and the last ones before.

    An annotation that is no digest releases nothing, and is not remembered.
    """
    status = status or DeletionGuardStatus()
    if not _DIGEST.fullmatch(digest):
        return status
    others = [other for other in status.spent_approvals if other != digest]
    return replace(status, spent_approvals=(*others, digest)[-MAX_SPENT_APPROVALS:])


def requested_approval(metadata: Metadata) -> str:
    """Return the digest that a hub's approval has; empty if it has no approval."""
    return metadata.annotations.get(ANNOTATION_APPROVE_DELETION, "")


def annotations_without_approval(metadata: Metadata) -> dict[str, str]:
    """Return a hub's annotations other than its approval."""
    return {
        key: value
        for key, value in metadata.annotations.items()
        if key != ANNOTATION_APPROVE_DELETION
    }


def approval_instruction(count: int, digest: str) -> str:
    """Return how this number of nodes is approved; tools read the digest at its end."""
    nodes = "1 node" if count == 1 else f"{count} nodes"
    return f"the annotation {ANNOTATION_APPROVE_DELETION} approves {nodes}, {digest}"


def approval_removal() -> dict[str, dict[str, None]]:
    """Return the patch of a hub's metadata that removes its approval."""
    return {"annotations": {ANNOTATION_APPROVE_DELETION: None}}


@dataclass(frozen=True, slots=True)
class Approval:
    """The approval of a hub, and the nodes that it stands for."""

    digest: str = ""
    """Empty if no approval is requested, or a spent one."""
    nodes: frozenset[str] = frozenset()
    """Names of the approved nodes; empty if the digest is of no set that was considered."""

    @classmethod
    def resolve(
        cls, digest: str, *candidates: Collection[str], spent: Collection[str] = ()
    ) -> "Approval":
        """Return the approval of the first set of names that has this digest."""
        if not digest or digest in spent:
            return NO_APPROVAL
        matches = (frozenset(names) for names in candidates if digest_of(names, spent) == digest)
        return cls(digest, next(matches, frozenset()))

    def covers(self, names: Collection[str]) -> bool:
        """Return whether all of these nodes are approved."""
        return bool(self.digest) and self.nodes.issuperset(names)

    def is_spent(self, guarded: Collection[str], held: Collection[str], *, complete: bool) -> bool:
        """Return whether the approval has to be removed from the hub.

        `guarded` are the nodes that are deleted only with an approval, and `held` those of them
        whose deletion still waits for one; `complete` says whether all writes of the plan have
        succeeded.
        """
        if not self.digest:
            return False
        is_used = bool(self.nodes) and self.nodes.isdisjoint(held)
        return not guarded or (complete and is_used)


NO_APPROVAL: Final = Approval()
