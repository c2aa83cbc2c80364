"""One write of a node's resource: send its requests, record the result.

`lynq.core.node.conflict` decides which request follows which answer. A rejected write is the
failure of its resource only. Errors that concern every resource, such as a lost connection or a
lost lease, are raised.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from msgspec import Struct
from msgspec.structs import replace

from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import Child, WatchedKind
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS, apply_error
from lynq.controllers.node.live_bodies import decoded
from lynq.controllers.node.object_reader import ObjectReader, key_of
from lynq.controllers.node.observed_resource import Resolved
from lynq.controllers.node.state import NodePass, WriteHistory
from lynq.core.node.apply_errors import ApplyError
from lynq.core.node.conflict import (
    Accepted,
    DecideAgain,
    DryRunApply,
    NextRequest,
    ObserveAgain,
    ObservedObject,
    PatchMetadata,
    ReadMetadata,
    Refetch,
    Rejected,
    Send,
    WriteAttempt,
    begin_write,
    on_accepted,
    on_error,
    on_metadata,
    on_refetched,
)
from lynq.core.node.desired_object import ignores_fields
from lynq.core.node.masking import explanation_mask
from lynq.core.node.objects import owner_of
from lynq.core.node.state import Write, WriteMethod, WriteRejection
from lynq.kube import Client, PartialObject
from lynq.kube.errors import KubeError, TimedOut

_log = structlog.get_logger(__name__)


class WriteResult(Struct, frozen=True):
    """The result of one write."""

    write: Write
    before: Resolved
    after: Resolved
    is_accepted: bool = False
    rejection: WriteRejection | None = None
    previous_managers: str = ""
    """The managers whose fields were taken over by force, with the number of fields."""

    @property
    def has_changed(self) -> bool:
        """Whether the object was created or has another resourceVersion."""
        before, after = self.before.child, self.after.child
        version = after.resource_version if after else ""
        return before is None or before.resource_version != version


@dataclass(slots=True)
class ResourceWrite:
    """One write, until the API server accepts or rejects it."""

    client: Client
    reader: ObjectReader
    claims: NodeClaims
    node_pass: NodePass
    observed: Resolved
    """The resource with the live object that the write is decided for."""
    write: Write
    clock: Callable[[], datetime]
    _response: Any = field(default=None, init=False)
    """The object in the answer to the last write: a dict, or of the kind's struct."""

    async def send(self) -> WriteResult:
        """Send the write, and every request that its conflicts need."""
        self.node_pass.write_sent_at = asyncio.get_running_loop().time()
        kind = self.observed.kind
        with kind.writing(key_of(self.write.ref)):
            return await self._send_to(kind)

    async def _send_to(self, kind: WatchedKind) -> WriteResult:
        owner = owner_of(self.node_pass.node)
        attempt = begin_write(_observed_object(self.observed), self.write, owner, self.clock())
        while isinstance(attempt.action, NextRequest):
            attempt = await self._perform(attempt, kind)
        self.write = attempt.write
        match attempt.action:
            case Accepted(previous_managers=managers):
                return self._accept(kind, managers)
            case Rejected() as rejected:
                return self._reject(rejected)
            case DecideAgain():
                return self._result(self.observed)
            case ObserveAgain(otherwise=rejected):
                refetched = await self._refetch(kind)
                return self._result(refetched) if refetched else self._reject(rejected)

    def deferred(self) -> WriteResult:
        """Return the result of a write that was not sent."""
        facts = replace(self.observed.facts, is_deferred=True)
        return self._result(replace(self.observed, facts=facts))

    async def _perform(self, attempt: WriteAttempt, kind: WatchedKind) -> WriteAttempt:
        """Send the next request of the attempt, and report the answer."""
        try:
            return await self._answer(attempt, kind)
        except TimedOut as error:
            # The API server is reachable: a webhook or an aggregated API of this kind is slow.
            return on_error(attempt, self._error(error))
        except NODE_WIDE_ERRORS:
            raise
        except KubeError as error:
            return on_error(attempt, self._error(error))

    def _error(self, error: KubeError) -> ApplyError:
        return apply_error(error, explanation_mask(self.node_pass.node, self.observed.facts))

    async def _answer(self, attempt: WriteAttempt, kind: WatchedKind) -> WriteAttempt:
        resource, ref = kind.resource, self.write.ref
        name, namespace = ref.name, ref.namespace
        match attempt.action:
            case ReadMetadata():
                partial = await self.client.get(resource, name, namespace, into=PartialObject)
                return on_metadata(attempt, partial.metadata)
            case Refetch(delay=delay):
                await asyncio.sleep(delay)
                return await self._answer_refetch(attempt, kind)
            case PatchMetadata(patch=patch):
                patched = await self.client.patch(
                    resource, name, patch, namespace, manager=FIELD_MANAGER, into=kind.into
                )
                # Without it, the next reconcile would send the patch again.
                kind.store_if_selected(patched)
            case DryRunApply(obj=obj):
                await self.client.apply(
                    resource, obj, manager=FIELD_MANAGER, dry_run=True, into=PartialObject
                )
            case Send(write=write):
                self._response = await self._send(kind, write)
        return on_accepted(attempt)

    async def _answer_refetch(self, attempt: WriteAttempt, kind: WatchedKind) -> WriteAttempt:
        refetched = await self._refetch(kind)
        if refetched is None:
            return on_refetched(attempt, None)
        attempt = on_refetched(attempt, _observed_object(refetched))
        if attempt.facts is refetched.facts:
            self.observed = refetched
        return attempt

    async def _send(self, kind: WatchedKind, write: Write) -> Any:  # noqa: ANN401 - a dict, or of the kind
        obj, manager, resource = write.obj, FIELD_MANAGER, kind.resource
        # The whole object is needed only for its ignored fields.
        into: Any = dict if self._ignores_fields else kind.into
        match write.method:
            case WriteMethod.APPLY:
                return await self.client.apply(
                    resource, obj, manager=manager, force=write.force, into=into
                )
            case WriteMethod.APPLY_NEW:
                return await self.client.apply(
                    resource, obj, manager=manager, must_create=True, into=into
                )
            case WriteMethod.CREATE:
                return await self.client.create(resource, obj, manager=manager, into=into)
            case WriteMethod.MERGE:
                name, namespace = write.ref.name, write.ref.namespace
                return await self.client.patch(
                    resource, name, obj, namespace, manager=manager, into=into
                )
            case WriteMethod.REPLACE:
                return await self.client.replace(resource, obj, manager=manager, into=into)

    async def _refetch(self, kind: WatchedKind) -> Resolved | None:
        """Read the object from the API server; None if it does not exist."""
        observed, owner = self.observed, self.claims.owner(self.node_pass.node)
        if not self._ignores_fields:
            child = await self.reader.fetch(kind, observed.ref)
            return await observed.with_live(self.claims, owner, child, None) if child else None
        read = await self.reader.read(kind, observed.ref)
        if read is None:
            return None
        refetched = await observed.with_live(self.claims, owner, *read)
        digest = self._history.bodies.record(refetched.facts, observed.rendered, *read)
        return refetched.with_digest(digest)

    def _accept(self, kind: WatchedKind, previous_managers: str) -> WriteResult:
        obj, ref, cause = self._response, self.write.ref, self.write.cause
        if self._ignores_fields:
            obj = decoded(obj, kind.into)
        kind.store_response(obj)
        child = kind.child(key_of(ref))
        is_cached = child is not None and child.resource_version == obj.metadata.resource_version
        digest = self._written_digest(child if child and is_cached else kind.child_of(obj))
        now = self.clock()
        last_write = self._history.record_write(ref, self._content_hash, digest, cause, now)
        _log.info("resource written", resource=self.write.id, object=str(ref), cause=cause.value)
        after = self.observed.with_child(child).with_last_write(last_write, was_written=True)
        return self._result(after, is_accepted=True, previous_managers=previous_managers)

    def _written_digest(self, written: Child) -> bytes:
        """Return the digest of our fields after the write, without ignored ones."""
        facts, rendered = self.observed.facts, self.observed.rendered
        if not self._ignores_fields:
            return written.live.digest
        return self._history.bodies.record(facts, rendered, written, self._response)

    def _reject(self, rejected: Rejected) -> WriteResult:
        rejection, ref = rejected.rejection, self.write.ref
        # The back-off begins with the answer: a webhook that hangs is an error after ten seconds.
        now = self.clock()
        last_write = self._history.record_rejection(ref, self._content_hash, rejection, now)
        after = self.observed.with_last_write(last_write, was_written=True)
        if not rejected.is_reported:
            return self._result(after)
        _log.warning(
            "resource not written",
            resource=self.write.id,
            object=str(ref),
            error=rejection.message,
        )
        return self._result(after, rejection=rejection)

    def _result(
        self,
        after: Resolved,
        *,
        is_accepted: bool = False,
        rejection: WriteRejection | None = None,
        previous_managers: str = "",
    ) -> WriteResult:
        return WriteResult(
            self.write, self.observed, after, is_accepted, rejection, previous_managers
        )

    @property
    def _history(self) -> WriteHistory:
        return self.node_pass.state.writes

    @property
    def _ignores_fields(self) -> bool:
        return ignores_fields(self.observed.facts.resource)

    @property
    def _content_hash(self) -> str:
        desired = self.observed.facts.desired
        return desired.hash if desired else ""


def _observed_object(observed: Resolved) -> ObservedObject:
    child = observed.child
    if child is None:
        return ObservedObject(observed.facts)
    return ObservedObject(observed.facts, child.resource_version, child.has_update_entry)
