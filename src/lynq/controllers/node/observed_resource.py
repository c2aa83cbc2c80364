"""A resource of a node as one pass observes it: resolved or blocked."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from lynq.controllers.children import Child, WatchedKind
from lynq.controllers.node.claims import NodeClaims
from lynq.core.node.adoption_policy import is_written_as_adopted
from lynq.core.node.desired_object import prepare
from lynq.core.node.objects import ObjectRef, Owner
from lynq.core.node.render import Rendered
from lynq.core.node.state import LastWrite, ResourceFacts


class Resolved(Struct, frozen=True):
    """A resource whose desired object is identified, with its kind, namespace and name."""

    facts: ResourceFacts
    kind: WatchedKind
    rendered: Rendered
    child: Child | None = None
    """None if the object does not exist."""

    @property
    def ref(self) -> ObjectRef:
        """The desired object."""
        return self.facts.ref

    async def with_live(
        self,
        claims: NodeClaims,
        owner: Owner,
        child: Child | None,
        body: Mapping[str, Any] | None,
    ) -> "Resolved":
        """Return a copy with this live object, and the desired object and claims that follow.

        `body` is the whole live object, if the resource has ignoreFields.
        """
        resource, record, ref = self.facts.resource, self.facts.record, self.rendered.ref
        live = child.live if child else None
        is_adopted = is_written_as_adopted(resource, live, ref, owner, record)
        desired = prepare(self.rendered, resource, owner, body, is_adopted=is_adopted)
        claimant = await claims.claimant(live, ref, owner, record) if live else ""
        facts = replace(self.facts, desired=desired, live=live, claimant=claimant)
        return replace(self, facts=facts, child=child)

    def with_child(self, child: Child | None) -> "Resolved":
        """Return a copy with this live object."""
        live = child.live if child else None
        return replace(self, child=child, facts=replace(self.facts, live=live))

    def with_digest(self, digest: bytes) -> "Resolved":
        """Return a copy with this digest of our fields, in which ignored ones are left out."""
        live = replace(self.facts.live, digest=digest) if self.facts.live else None
        return replace(self, facts=replace(self.facts, live=live))

    def with_last_write(self, last_write: LastWrite, *, was_written: bool) -> "Resolved":
        """Return a copy with the result of our last write."""
        facts = replace(self.facts, last_write=last_write, was_written=was_written)
        return replace(self, facts=facts)


class Blocked(Struct, frozen=True):
    """A resource that is not written: it is not rendered, or its object cannot be observed."""

    facts: ResourceFacts
    lacks_heavy_render: bool = False
    """Whether a heavy render was not finished when the resource was observed."""

    @property
    def ref(self) -> ObjectRef:
        """The desired object, as far as it is known."""
        return self.facts.ref


ObservedResource: TypeAlias = Resolved | Blocked


def lacks_heavy_render(resources: Iterable[ObservedResource]) -> bool:
    """Return whether a heavy render of a resource was not finished when it was observed."""
    blocked = (resource for resource in resources if isinstance(resource, Blocked))
    return any(resource.lacks_heavy_render for resource in blocked)
