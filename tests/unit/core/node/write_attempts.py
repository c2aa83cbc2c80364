"""Attempts of one write: errors of the API server, and what is sent next."""

from typing import Any

import msgspec

from lynq.api import ConflictPolicy, DeletionPolicy, Metadata, OwnerReference
from lynq.api.metadata import ManagedFields
from lynq.core.node.apply_errors import ApplyError, ApplyErrorKind
from lynq.core.node.conflict import ObservedObject, Rejected, Send, WriteAttempt, begin_write
from lynq.core.node.decide import decide
from lynq.core.node.state import ResourceFacts, WriteMethod
from unit.core.node.decisions import CONTEXT, but, settled, without
from unit.core.node.nodes import NOW, an_owner

FORCE, STUCK = ConflictPolicy.FORCE, ConflictPolicy.STUCK
IGNORED = ("$.data.plan",)
OUTDATED = ApplyError(ApplyErrorKind.CONFLICT, "the resourceVersion is outdated")
FOREIGN = ApplyError(ApplyErrorKind.CONFLICT, "helm owns it", ("helm", "helm", "kubectl"))
OWN = ApplyError(ApplyErrorKind.CONFLICT, "we own it", ("lynq-operator",))
MARKS = ApplyError(
    ApplyErrorKind.CONFLICT, "", ("kubectl-label",), (".metadata.labels.lynq.sh/node",)
)
DOWN = ApplyError(ApplyErrorKind.UNAVAILABLE, "503")
EXISTS = ApplyError(ApplyErrorKind.ALREADY_EXISTS, "exists")


def drifted(**resource: Any) -> ResourceFacts:
    """Return a resource whose live object lost its hash, so that it is written."""
    return without(settled(**resource), "applied-hash")


def orphaned(**resource: Any) -> ResourceFacts:
    facts = settled(deletion_policy=DeletionPolicy.RETAIN, **resource)
    return but(facts, labels={"lynq.sh/orphaned": "true"})


def observed(facts: ResourceFacts, version: str = "1", *, updated: bool = False) -> ObservedObject:
    if facts.live is None:
        return ObservedObject(facts)
    return ObservedObject(facts, version, updated)


def begun(facts: ResourceFacts, *, updated: bool = False) -> WriteAttempt:
    """Return the attempt of the write that is decided for these facts."""
    write = decide(facts, CONTEXT).write
    assert write is not None
    return begin_write(observed(facts, updated=updated), write, an_owner(), NOW)


def sent(attempt: WriteAttempt) -> tuple[WriteMethod, bool]:
    assert isinstance(attempt.action, Send)
    return attempt.action.write.method, attempt.action.write.force


def sent_version(attempt: WriteAttempt) -> str:
    assert isinstance(attempt.action, Send)
    version: str = attempt.action.write.obj["metadata"].get("resourceVersion", "")
    return version


def rejection(attempt: WriteAttempt) -> tuple[bool, bool]:
    assert isinstance(attempt.action, Rejected)
    assert attempt.action.is_reported
    return attempt.action.rejection.is_conflict, attempt.action.rejection.is_transient


def metadata(*entries: tuple[str, str, str], owners: tuple[str, ...] = ()) -> Metadata:
    """Return the metadata of a live object; entries are manager, operation and fields."""
    return Metadata(
        resource_version="7",
        owner_references=[OwnerReference(uid=uid) for uid in owners],
        managed_fields=[
            ManagedFields(
                manager=manager,
                operation=operation,
                api_version="v1",
                fields_v1=msgspec.Raw(fields.encode()),
            )
            for manager, operation, fields in entries
        ],
    )


UPDATED = metadata(("lynq-operator", "Update", '{"f:data":{"f:plan":{},"f:old":{}}}'))
SHARED = metadata(
    ("lynq-operator", "Apply", '{"f:data":{"f:plan":{},"f:old":{}}}'),
    ("helm", "Update", '{"f:data":{"f:plan":{}}}'),
)
