"""Carries out the writes of a pass, all that can go now in parallel, and remembers the answers.

An object that the API server does not take is that resource's failure and nobody else's. Only
what concerns all of them, no connection or no lease, ends the pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from lynq.api import LynqNode
from lynq.api.names import FIELD_MANAGER
from lynq.controllers.children import Child, Kind
from lynq.controllers.node.looking import Lookout, Sight, fingerprint_of, key_of
from lynq.controllers.node.memory import Body, NodeMemory
from lynq.controllers.node.refusing import refusal_of
from lynq.controllers.together import together
from lynq.graph import Graph
from lynq.kube import Client, Resource
from lynq.kube.errors import (
    AlreadyExists,
    Conflict,
    ConnectionFailed,
    CredentialError,
    Fenced,
    KubeError,
    Unauthorized,
)
from lynq.node import (
    Cause,
    Method,
    Refusal,
    Step,
    Surroundings,
    Write,
    ignores_fields,
    is_ours,
    next_step,
    owner_of,
    prepare,
)
from lynq.telemetry import Series

_EVERYBODYS: Final = (ConnectionFailed, CredentialError, Fenced, Unauthorized)
"""Failures that no resource is to blame for."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Progress:
    """How far a pass has come."""

    sights: dict[str, Sight]
    step: Step
    written: set[str] = field(default_factory=set)
    """The ids of the resources that were sent and taken."""
    changed: int = 0
    """How many objects are others than before."""
    adopted: list[Sight] = field(default_factory=list)
    """Objects that were orphans, and are the node's again."""
    taken_over: list[Sight] = field(default_factory=list)
    """Objects of which fields were taken over from others."""


class Writer:
    """Brings a node's resources as far as they can be brought now."""

    def __init__(self, client: Client, lookout: Lookout, series: Series) -> None:
        self._client = client
        self._lookout = lookout
        self._series = series

    async def write(
        self,
        node: LynqNode,
        graph: Graph,
        sights: dict[str, Sight],
        memory: NodeMemory,
        *,
        force: bool,
        now: Callable[[], datetime],
        goes_on: Callable[[], bool],
    ) -> Progress:
        """Write until there is no next step, or the node is not what it was any more."""
        progress = Progress(sights, _next(node, graph, sights, now(), force=force))
        while progress.step.writes and goes_on():
            attempts = await together(
                _Attempt(self, node, memory, sights[write.id], write, now()).make()
                for write in progress.step.writes
            )
            for attempt in attempts:
                attempt.enter(progress)
            progress.step = _next(node, graph, sights, now(), force=force)
        return progress

    async def send(
        self,
        resource: Resource,
        child: Child | None,
        write: Write,
        into: Any,  # noqa: ANN401 - a type
    ) -> Any:  # noqa: ANN401 - an object of that type
        """Send one write, and return the object as it is now."""
        obj, by = write.obj, FIELD_MANAGER
        match write.method:
            case Method.APPLY:
                return await self._client.apply(
                    resource, obj, manager=by, force=write.force, into=into
                )
            case Method.CREATE:
                return await self._client.create(resource, obj, manager=by, into=into)
            case Method.MERGE:
                place = write.ref.namespace or None
                return await self._client.patch(
                    resource, write.ref.name, obj, place, manager=by, into=into
                )
            case Method.REPLACE:
                version = child.resource_version if child else ""
                pinned = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}
                return await self._client.replace(resource, pinned, manager=by, into=into)

    async def fetch(self, kind: Kind, sight: Sight) -> Child | None:
        """Return an object that turned out to be there."""
        return await self._lookout.fetch(kind, sight.ref)

    async def body(self, kind: Kind, sight: Sight) -> Any:  # noqa: ANN401 - an object
        """Return the whole of it."""
        return await self._lookout.body(kind, sight.ref)

    def count(self, node: LynqNode, write: Write, sight: Sight, refusal: Refusal | None) -> None:
        """Count a write, and a conflict."""
        policy = str(sight.facts.resource.conflict_policy)
        self._series.applied(write.ref.kind, "error" if refusal else "success", policy)
        if refusal and refusal.is_conflict:
            self._series.conflict(node.metadata.key, write.ref.kind, policy)


def _next(
    node: LynqNode, graph: Graph, sights: dict[str, Sight], now: datetime, *, force: bool
) -> Step:
    facts = {this: sight.facts for this, sight in sights.items()}
    return next_step(graph, facts, Surroundings(owner_of(node), now, force))


@dataclass(slots=True)
class _Attempt:
    """One write on its way."""

    writer: Writer
    node: LynqNode
    memory: NodeMemory
    before: Sight
    write: Write
    now: datetime
    after: Sight | None = None
    was_taken: bool = False

    async def make(self) -> "_Attempt":
        """Send it; whatever the API server answers, the sight says afterwards."""
        kind = self.before.kind
        if kind is None:
            raise AssertionError("nothing is written of a kind that cannot be seen")
        try:
            # The whole object only where parts of it are left to others.
            into = dict if self._ignores else kind.into
            answer = await self.writer.send(kind.resource, self.before.child, self.write, into)
        except _EVERYBODYS:
            raise
        except AlreadyExists:
            self.after = await self._found(kind)
        except Conflict as error:
            self.after = await self._look_closer(kind) or self._refused(error)
        except KubeError as error:
            self.after = self._refused(error)
        else:
            self.after = self._taken(kind, answer)
        return self

    def enter(self, progress: Progress) -> None:
        """Note in the pass what has become of it."""
        after = self.after
        if after is None:
            return
        progress.sights[self.write.id] = after
        if not self.was_taken:
            return
        progress.written.add(self.write.id)
        before = self.before.child
        version = after.child.resource_version if after.child else ""
        progress.changed += before is None or before.resource_version != version
        if self.write.cause is Cause.ORPHANED:
            progress.adopted.append(after)
        if self.write.force and self._was_anothers():
            progress.taken_over.append(after)

    def _taken(self, kind: Kind, answer: Any) -> Sight:  # noqa: ANN401 - a dict, or of the kind
        self.was_taken = True
        self.writer.count(self.node, self.write, self.before, None)
        obj = answer
        if self._ignores:
            # By way of JSON: a digest of managedFields is one of their text.
            obj = msgspec.json.decode(msgspec.json.encode(answer), type=kind.into)
        kind.absorb(obj)
        child, ref = kind.child(key_of(self.write.ref)), self.write.ref
        if child and self._ignores:
            self.memory.bodies[ref] = Body(fingerprint_of(child), answer)
        digest = kind.child_of(obj).live.digest
        memory = self.memory.took(ref, self._content, digest, self.write.cause, self.now)
        cause = self.write.cause.value
        _log.info("resource written", resource=self.write.id, object=str(ref), cause=cause)
        return self.before.seeing(child).remembering(memory, was_written=True)

    def _refused(self, error: KubeError) -> Sight:
        policy = self.before.facts.resource.conflict_policy
        refusal = refusal_of(error, self.write.ref, policy)
        self.writer.count(self.node, self.write, self.before, refusal)
        memory = self.memory.refused(self.write.ref, self._content, refusal, self.now)
        _log.warning(
            "resource not written",
            resource=self.write.id,
            object=str(self.write.ref),
            error=refusal.message,
        )
        return self.before.remembering(memory, was_written=True)

    async def _found(self, kind: Kind) -> Sight:
        """See the object that is there already; what to do about it is decided anew."""
        child = await self.writer.fetch(kind, self.before)
        if child is None:
            refusal = Refusal("an object of this name came and went; it is tried again")
            memory = self.memory.refused(self.write.ref, self._content, refusal, self.now)
            return self.before.remembering(memory, was_written=True)
        return self.before.seeing(child)

    async def _look_closer(self, kind: Kind) -> Sight | None:
        """See an object that was written blindly, and has fields that are left to others."""
        sight, resource = self.before, self.before.facts.resource
        if sight.child or sight.rendered is None or not self._ignores:
            return None
        body = await self.writer.body(kind, sight)
        child = await self.writer.fetch(kind, sight)
        if child is None or body is None:
            return None
        wanted = prepare(sight.rendered, resource, owner_of(self.node), body)
        return sight.wanting(wanted).seeing(child)

    def _was_anothers(self) -> bool:
        child = self.before.child
        if child is None:
            return False
        return self.write.cause is Cause.FIELDS_TAKEN or not is_ours(
            child.live, owner_of(self.node)
        )

    @property
    def _ignores(self) -> bool:
        return ignores_fields(self.before.facts.resource)

    @property
    def _content(self) -> str:
        wanted = self.before.facts.wanted
        return wanted.hash if wanted else ""
