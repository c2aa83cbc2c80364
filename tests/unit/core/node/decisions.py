"""Facts of resources to decide about: settled, and with drift."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from lynq.api import ResourceState, TResource
from lynq.core.node.adoption_policy import is_written_as_adopted
from lynq.core.node.decide import PassContext, decide
from lynq.core.node.objects import NOT_APPLIED, AppliedRecord, LiveObject
from lynq.core.node.state import LastWrite, ResourceFacts, WriteCause
from lynq.core.readiness.verdict import READY
from unit.core.node.fixtures import desired_by, live_after
from unit.core.node.nodes import NOW, a_resource, an_owner

S = ResourceState
LATER = NOW + timedelta(seconds=60)
CONTEXT = PassContext(an_owner(), NOW)


def settled(**more: Any) -> ResourceFacts:
    """Return the facts of a resource whose object has the desired content."""
    resource = a_resource(**more)
    desired = desired_by(resource)
    live = live_after(desired.to_write(None, NOW))
    desired = desired_by(resource, body=desired.obj)
    last_write = LastWrite(hash=desired.hash, digest=b"ours")
    return ResourceFacts(resource=resource, desired=desired, live=live, last_write=last_write)


def but(facts: ResourceFacts, **live: Any) -> ResourceFacts:
    assert facts.live is not None
    return replace(facts, live=replace(facts.live, **live))


def without(facts: ResourceFacts, annotation: str) -> ResourceFacts:
    assert facts.live is not None
    kept = {key: value for key, value in facts.live.annotations.items() if annotation not in key}
    return but(facts, annotations=kept)


def foreign(**live: Any) -> LiveObject:
    return LiveObject(uid="9", readiness=READY, **live)


def cause_of(facts: ResourceFacts, context: PassContext = CONTEXT) -> WriteCause | None:
    write = decide(facts, context).write
    return write.cause if write else None


def adopted_by(
    resource: TResource, live: LiveObject, record: AppliedRecord = NOT_APPLIED
) -> ResourceFacts:
    """Return the facts of a resource whose object existed before, as the shell observes them."""
    ref = desired_by(resource, namespaced=resource.spec["kind"] != "Namespace").ref
    is_adopted = is_written_as_adopted(resource, live, ref, an_owner(), record)
    desired = desired_by(resource, namespaced=bool(ref.namespace), is_adopted=is_adopted)
    return ResourceFacts(resource=resource, desired=desired, live=live, record=record)
