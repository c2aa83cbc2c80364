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

from lynq.api import ConflictPolicy, LynqNode, PatchStrategy
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import Kind
from lynq.controllers.holding import written_by_others
from lynq.controllers.node.claiming import claim
from lynq.controllers.node.looking import Lookout, Sight, fingerprint_of, key_of
from lynq.controllers.node.memory import Body, NodeMemory
from lynq.controllers.node.refusing import EVERYBODYS, holders, refusal_of
from lynq.kube import Client, Partial
from lynq.kube.errors import (
    AlreadyExists,
    Conflict,
    KubeError,
)
from lynq.node import Cause, Method, Refusal, Write, ignores_fields, owner_of, prepare

_log = structlog.get_logger(__name__)

_OURS: Final = frozenset({FIELD_MANAGER, "manager"})
"""Ourselves, and the Go operator where it gave no name and so got that of its binary."""
_PAUSES: Final = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Seconds before each further try to replace an object that others have just written."""


@dataclass(slots=True)
class Attempt:
    """One write on its way."""

    client: Client
    lookout: Lookout
    node: LynqNode
    memory: NodeMemory
    before: Sight
    write: Write
    now: datetime
    after: Sight | None = None
    was_taken: bool = False
    refusal: Refusal | None = None
    taken_from: str = ""
    """Whose fields were taken over, and which."""

    async def make(self) -> "Attempt":
        """Send it; whatever the API server answers, the sight says afterwards."""
        kind = self.before.kind
        if kind is None:
            raise AssertionError("nothing is written of a kind that cannot be seen")
        try:
            answer = await self._insist(kind)
        except EVERYBODYS:
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

    async def _insist(self, kind: Kind) -> Any:  # noqa: ANN401 - an object of the kind
        """Send it; take fields from others only if they hold any, so that it can be told."""
        child, ref = self.before.child, self.write.ref
        if self.write.method is Method.APPLY and child and child.is_updated:
            await claim(self.client, kind, ref)
        if self.write.cause is Cause.ORPHANED and not self._takes_over:
            await self._ask_others(kind)
        gently = replace(self.write, force=False)
        try:
            return await self._send(kind, gently)
        except Conflict as error:
            if not error.fields:
                return await self._chase(kind, error)
            if {each.manager for each in error.fields} == {FIELD_MANAGER}:
                await claim(self.client, kind, ref)
                return await self._send(kind, gently)
            if not self.write.force:
                raise
            self.taken_from = holders(error)
        return await self._send(kind, self.write)

    @property
    def _takes_over(self) -> bool:
        resource = self.before.facts.resource
        applies = resource.patch_strategy is PatchStrategy.APPLY
        return not applies or resource.conflict_policy is ConflictPolicy.FORCE

    async def _ask_others(self, kind: Kind) -> None:
        """Make sure that an orphan has not become somebody else's; raises Conflict if it has.

        It is adopted by a merge, which knows no conflicts.
        """
        ref, wanted = self.write.ref, self.before.facts.wanted
        place = ref.namespace or None
        found = (await self.client.get(kind.resource, ref.name, place, into=Partial)).metadata
        if wanted is None or not written_by_others(found):
            return
        try:
            await self.client.apply(
                kind.resource, wanted.obj, manager=FIELD_MANAGER, dry_run=True, into=Partial
            )
        except Conflict as error:
            if not {each.manager for each in error.fields} <= _OURS:
                raise

    async def _chase(self, kind: Kind, error: Conflict) -> Any:  # noqa: ANN401 - as above
        """Replace an object that others write too: seen again, sent again, a few times."""
        for pause in _PAUSES:
            await asyncio.sleep(pause)
            await self._catch_up(kind, error)
            try:
                return await self._send(kind, self.write)
            except Conflict as another:
                error = another
        raise error

    async def _catch_up(self, kind: Kind, error: Conflict) -> None:
        """Take note that others have written the object that is to be replaced; raises `error`."""
        seen = await self._seen(kind) if self.write.method is Method.REPLACE else None
        before = self.before.child
        if seen is None or seen.child is None or before is None:
            raise error
        wanted = seen.facts.wanted
        if wanted is None or seen.child.live.uid != before.live.uid:
            raise error
        self.before = seen
        self.write = replace(self.write, obj=wanted.to_write(seen.child.live, self.now))

    async def _send(self, kind: Kind, write: Write) -> Any:  # noqa: ANN401 - an object of the kind
        """Send one write, and return the object as it is now."""
        obj, by, resource = write.obj, FIELD_MANAGER, kind.resource
        # The whole object only where parts of it are left to others.
        into: Any = dict if self._ignores else kind.into
        match write.method:
            case Method.APPLY:
                return await self.client.apply(
                    resource, obj, manager=by, force=write.force, into=into
                )
            case Method.CREATE:
                return await self.client.create(resource, obj, manager=by, into=into)
            case Method.MERGE:
                place = write.ref.namespace or None
                return await self.client.patch(
                    resource, write.ref.name, obj, place, manager=by, into=into
                )
            case Method.REPLACE:
                child = self.before.child
                version = child.resource_version if child else ""
                pinned = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}
                return await self.client.replace(resource, pinned, manager=by, into=into)

    def _taken(self, kind: Kind, answer: Any) -> Sight:  # noqa: ANN401 - a dict, or of the kind
        self.was_taken = True
        obj = answer
        if self._ignores:
            # By way of JSON: a digest of managedFields is one of their text.
            obj = msgspec.json.decode(msgspec.json.encode(answer), type=kind.into)
        kind.absorb(obj)
        child, ref = kind.child(key_of(self.write.ref)), self.write.ref
        if child and self._ignores:
            self.memory.bodies[ref] = Body.of(fingerprint_of(child), answer)
        digest = kind.child_of(obj).live.digest
        memory = self.memory.took(ref, self._content, digest, self.write.cause, self.now)
        cause = self.write.cause.value
        _log.info("resource written", resource=self.write.id, object=str(ref), cause=cause)
        return self.before.seeing(child).remembering(memory, was_written=True)

    def _refused(self, error: KubeError) -> Sight:
        policy = self.before.facts.resource.conflict_policy
        refusal = refusal_of(error, self.write.ref, policy)
        self.refusal = refusal
        memory = self.memory.refused(self.write.ref, self._content, refusal, self.now)
        _log.warning(
            "resource not written",
            resource=self.write.id,
            object=str(self.write.ref),
            error=refusal.message,
        )
        return self.before.remembering(memory, was_written=True)

    def _came_and_went(self) -> Sight:
        refusal = Refusal("an object of this name came and went; it is tried again")
        memory = self.memory.refused(self.write.ref, self._content, refusal, self.now)
        return self.before.remembering(memory, was_written=True)

    async def _seen(self, kind: Kind) -> Sight | None:
        """See the object that is there already; what to do about it is decided anew."""
        sight, resource = self.before, self.before.facts.resource
        child = await self.lookout.fetch(kind, sight.ref)
        if child is None or sight.rendered is None:
            return None
        body = await self.lookout.body(kind, sight.ref) if self._ignores else None
        wanted = prepare(sight.rendered, resource, owner_of(self.node), body)
        return sight.wanting(wanted).seeing(child)

    async def _look_closer(self, kind: Kind) -> Sight | None:
        """See an object that was written blindly, and has fields that are left to others."""
        if self.before.child or not self._ignores:
            return None
        return await self._seen(kind)

    @property
    def _ignores(self) -> bool:
        return ignores_fields(self.before.facts.resource)

    @property
    def _content(self) -> str:
        wanted = self.before.facts.wanted
        return wanted.hash if wanted else ""
