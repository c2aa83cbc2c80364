"""One write of a node's resource on its way: sent, answered, remembered.

An object that the API server does not take is that resource's failure and nobody else's. Only
what concerns all of them, no connection or no lease, is raised.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from lynq.api import LynqNode
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import WatchedKind
from lynq.controllers.node.adopt import adjust_for_live_object, migrate_to_apply
from lynq.controllers.node.apply_errors import NODE_WIDE_ERRORS, conflicting_managers, rejection_of
from lynq.controllers.node.observe import ObservedResource, Observer, fingerprint_of, key_of
from lynq.controllers.node.state import LiveBody, NodeState
from lynq.core.node.decide import PassContext, decide
from lynq.core.node.desired_object import ignores_fields, prepare
from lynq.core.node.objects import owner_of
from lynq.core.node.ownership import is_orphan
from lynq.core.node.state import Write, WriteCause, WriteMethod, WriteRejection
from lynq.kube import Client
from lynq.kube.errors import AlreadyExists, Conflict, KubeError, TimedOut

Object = dict[str, Any]

_log = structlog.get_logger(__name__)

_PAUSES: Final = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Seconds before each further try to replace an object that others have just written."""


@dataclass(slots=True)
class ResourceWrite:
    """One write on its way."""

    client: Client
    observer: Observer
    node: LynqNode
    memory: NodeState
    before: ObservedResource
    write: Write
    now: datetime
    after: ObservedResource | None = None
    was_taken: bool = False
    refusal: WriteRejection | None = None
    taken_from: str = ""
    """Whose fields were taken over, and which."""

    async def make(self) -> "ResourceWrite":
        """Send it; whatever the API server answers, the sight says afterwards."""
        kind = self.before.kind
        if kind is None:
            raise AssertionError("nothing is written of a kind that cannot be seen")
        try:
            answer = await self._insist(kind)
        except TimedOut as error:
            # One that others hold up: a webhook, or who else answers for its kind.
            self.after = self._refused(error)
        except NODE_WIDE_ERRORS:
            raise
        except AlreadyExists:
            self.after = await self._seen(kind) or self._came_and_went()
        except Conflict as error:
            self.after = await self._look_closer(kind) or self._refused(error)
        except KubeError as error:
            self.after = self._refused(error)
        else:
            self.after = self._taken(kind, answer)
        return self

    @property
    def has_changed(self) -> bool:
        """Whether the object is another than before."""
        before, after = self.before.child, self.after.child if self.after else None
        version = after.resource_version if after else ""
        return before is None or before.resource_version != version

    async def _insist(self, kind: WatchedKind) -> Any:  # noqa: ANN401 - an object of the kind
        """Send it; take fields from others only if they hold any, so that it can be told."""
        child, ref = self.before.child, self.write.ref
        if self.write.method is WriteMethod.APPLY and child and child.is_updated:
            await migrate_to_apply(self.client, kind, ref)
        self.write = await adjust_for_live_object(
            self.client, kind, self.node, self.before, self.write
        )
        try:
            return await self._send_gently(kind)
        except Conflict as error:
            if not error.fields:
                return await self._chase(kind, error)
            if {each.manager for each in error.fields} == {FIELD_MANAGER}:
                await migrate_to_apply(self.client, kind, ref)
                return await self._send_gently(kind)
            conflict = error
        # What others hold may be what is left to them: then it is written as they have it by now.
        if self._ignores and await self._catch_up(kind):
            try:
                return await self._send_gently(kind)
            except Conflict as error:
                conflict = error
        if not self.write.force:
            raise conflict
        self.taken_from = conflicting_managers(conflict)
        return await self._send(kind, self.write)

    async def _send_gently(self, kind: WatchedKind) -> Any:  # noqa: ANN401 - an object of the kind
        return await self._send(kind, replace(self.write, force=False))

    async def _chase(self, kind: WatchedKind, error: Conflict) -> Any:  # noqa: ANN401 - as above
        """Write over an object that others write too: seen again, sent again, a few times."""
        for pause in _PAUSES if self._is_pinned else ():
            await asyncio.sleep(pause)
            if not await self._catch_up(kind):
                break
            try:
                return await self._send(kind, self.write)
            except Conflict as another:
                error = another
        raise error

    async def _catch_up(self, kind: WatchedKind) -> bool:
        """Have the write follow what others have made of its object; return whether they have."""
        seen, before = await self._seen(kind), self.before.child
        if seen is None or seen.child is None or before is None:
            return False
        is_same_object = seen.child.live.uid == before.live.uid
        if not is_same_object or seen.child.resource_version == before.resource_version:
            return False
        around = PassContext(owner_of(self.node), self.now, force=True)
        write = decide(seen.facts, around).write
        if write is None:
            return False
        self.before, cause = seen, self.write.cause
        self.write = await adjust_for_live_object(
            self.client, kind, self.node, seen, replace(write, cause=cause)
        )
        return True

    @property
    def _is_pinned(self) -> bool:
        """Whether the write is of the object as it was seen, and of no other version of it."""
        if self.write.method is WriteMethod.REPLACE:
            return True
        return self.write.method is WriteMethod.MERGE and self._ignores

    async def _send(self, kind: WatchedKind, write: Write) -> Any:  # noqa: ANN401 - an object of the kind
        """Send one write, and return the object as it is now."""
        obj, by, resource = write.obj, FIELD_MANAGER, kind.resource
        # The whole object only where parts of it are left to others.
        into: Any = dict if self._ignores else kind.into
        match write.method:
            case WriteMethod.APPLY:
                return await self.client.apply(
                    resource, obj, manager=by, force=write.force, into=into
                )
            case WriteMethod.CREATE:
                return await self.client.create(resource, obj, manager=by, into=into)
            case WriteMethod.MERGE:
                place = write.ref.namespace or None
                return await self.client.patch(
                    resource, write.ref.name, self._pinned(obj), place, manager=by, into=into
                )
            case WriteMethod.REPLACE:
                return await self.client.replace(resource, self._pinned(obj), manager=by, into=into)

    def _pinned(self, obj: Object) -> Object:
        child = self.before.child
        if child is None or not self._is_pinned:
            return obj
        metadata = {**obj["metadata"], "resourceVersion": child.resource_version}
        return {**obj, "metadata": metadata}

    def _taken(self, kind: WatchedKind, answer: Any) -> ObservedResource:  # noqa: ANN401 - a dict, or of the kind
        self.was_taken = True
        obj = answer
        if self._ignores:
            # By way of JSON: a digest of managedFields is one of their text.
            obj = msgspec.json.decode(msgspec.json.encode(answer), type=kind.into)
        kind.absorb(obj)
        child, ref = kind.child(key_of(self.write.ref)), self.write.ref
        if child and self._ignores:
            self.memory.bodies[ref] = LiveBody.of(fingerprint_of(child), answer)
        live = kind.child_of(obj).live
        memory = self.memory.record_write(
            ref, self._content, live.digest, self.write.cause, self.now
        )
        cause = self.write.cause.value
        _log.info("resource written", resource=self.write.id, object=str(ref), cause=cause)
        # One that no cache has shown may turn out to be an orphan: its marks are still to go.
        is_done = self.write.cause is WriteCause.ORPHANED or not is_orphan(live)
        return self.before.with_child(child).with_last_write(memory, was_written=is_done)

    def _refused(self, error: KubeError) -> ObservedResource:
        policy = self.before.facts.resource.conflict_policy
        refusal = rejection_of(error, self.write.ref, policy)
        self.refusal = refusal
        memory = self.memory.record_rejection(self.write.ref, self._content, refusal, self.now)
        _log.warning(
            "resource not written",
            resource=self.write.id,
            object=str(self.write.ref),
            error=refusal.message,
        )
        return self.before.with_last_write(memory, was_written=True)

    def _came_and_went(self) -> ObservedResource:
        refusal = WriteRejection("an object of this name came and went; it is tried again")
        memory = self.memory.record_rejection(self.write.ref, self._content, refusal, self.now)
        return self.before.with_last_write(memory, was_written=True)

    async def _seen(self, kind: WatchedKind) -> ObservedResource | None:
        """See the object that is there already; what to do about it is decided anew."""
        sight, resource = self.before, self.before.facts.resource
        child = await self.observer.fetch(kind, sight.ref)
        if child is None or sight.rendered is None:
            return None
        body = await self.observer.body(kind, sight.ref) if self._ignores else None
        desired = prepare(sight.rendered, resource, owner_of(self.node), body)
        return sight.with_desired(desired).with_child(child)

    async def _look_closer(self, kind: WatchedKind) -> ObservedResource | None:
        """See an object that was written blindly, and has fields that are left to others."""
        if self.before.child or not self._ignores:
            return None
        return await self._seen(kind)

    @property
    def _ignores(self) -> bool:
        return ignores_fields(self.before.facts.resource)

    @property
    def _content(self) -> str:
        desired = self.before.facts.desired
        return desired.hash if desired else ""
