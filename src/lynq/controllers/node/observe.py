"""Observes a node's resources: rendered manifest, desired object, live object, last write.

The live objects come from the caches. The API server is queried only for objects that no cache
holds: an object of the inventory that lacks our label (the Go operator's, or one whose label was
removed), and an object with ignoreFields whose managed fields changed (`live_bodies`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from lynq.api import CreationPolicy, LynqNode, TResource
from lynq.api.names import ANNOTATION_APPLIED_HASH
from lynq.api.resource import all_resources
from lynq.controllers.children import Child, KindNotWatched, WatchedKind
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.impersonation import ClientSelector, NotAllowed
from lynq.controllers.installation_key import CurrentKey
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS, is_transient
from lynq.controllers.node.object_reader import ObjectReader, key_of
from lynq.controllers.node.observed_resource import (
    Blocked,
    ObservedResource,
    Resolved,
    lacks_heavy_render,
)
from lynq.controllers.node.rendering import ResourceRenderer
from lynq.controllers.node.slow_render import RenderPools, StillRendering
from lynq.controllers.node.state import NodeState
from lynq.core.node.decide import is_done_once
from lynq.core.node.desired_object import ignores_fields, prepare
from lynq.core.node.jobs import with_end
from lynq.core.node.objects import (
    NOT_APPLIED,
    AppliedRecord,
    ObjectIdentity,
    ObjectRef,
    Owner,
    ref_of,
)
from lynq.core.node.render import JournalEntries, Rendered, Renderer, RenderError
from lynq.core.node.state import LastWrite, ResourceFacts, WriteRejection
from lynq.core.object_limits import ObjectWrite
from lynq.kube.errors import Forbidden, KubeError, UnknownKind


class Observer:
    """Observes the resources of nodes."""

    def __init__(
        self,
        reader: ObjectReader,
        clients: ClientSelector,
        render_pools: RenderPools,
        *,
        current_key: CurrentKey,
        claims: NodeClaims,
    ) -> None:
        self._reader = reader
        self._clients = clients
        self._render_pools = render_pools
        self._current_key = current_key
        self._claims = claims

    async def observe(
        self,
        node: LynqNode,
        variables: Mapping[str, str],
        state: NodeState,
        *,
        listed: Collection[ObjectIdentity],
        records: Mapping[ObjectIdentity, AppliedRecord],
        now: datetime,
    ) -> dict[str, ObservedResource]:
        """Return every resource by id; objects of `listed` are read if no watch has them."""
        state.reset_on_new_generation(node)
        renderer = Renderer.of(node, variables, self._current_key.state)
        observation = _Observation(
            self._reader,
            self._clients,
            self._claims,
            ResourceRenderer(
                node, renderer, state.renders, self._render_pools, JournalEntries.of(node)
            ),
            node,
            self._claims.owner(node),
            state,
            listed,
            records,
            now,
        )
        resources = all_resources(node.spec)
        observed = await gather_or_cancel(observation.observe(resource) for resource in resources)
        # A render may have finished since: the next reconcile has its result.
        if not lacks_heavy_render(observed):
            state.renders.drop_heavy()
        return dict(zip((resource.id for resource in resources), observed, strict=True))


@dataclass(frozen=True, slots=True)
class _Observation:
    """The observation of one node in one reconcile."""

    reader: ObjectReader
    clients: ClientSelector
    claims: NodeClaims
    renderer: ResourceRenderer
    node: LynqNode
    owner: Owner
    state: NodeState
    listed: Collection[ObjectIdentity]
    records: Mapping[ObjectIdentity, AppliedRecord]
    now: datetime

    async def observe(self, resource: TResource) -> ObservedResource:
        try:
            return await self._observe_watched(resource)
        except RenderError as error:
            return Blocked(ResourceFacts(resource=resource, render_error=str(error)))
        except StillRendering as pending:
            facts = ResourceFacts(resource=resource, is_rendering=True)
            return Blocked(facts, lacks_heavy_render=pending.is_heavy)

    async def _observe_watched(self, resource: TResource) -> ObservedResource:
        try:
            # A failure of discovery concerns every resource, so it is raised.
            kind = await self._kind(resource)
        except KindNotWatched as error:
            return self._blocked(resource, str(error), namespaced=error.namespaced)
        except (UnknownKind, Forbidden) as error:
            return self._blocked(resource, str(error))
        try:
            observed = await self._observe_object(resource, kind)
        except KubeError as error:
            if self._concerns_node(resource, error):
                raise
            # An object that cannot be read concerns its resource only.
            return self._blocked(resource, str(error))
        self.state.unobservable_since.pop(resource.id, None)
        return observed

    def _concerns_node(self, resource: TResource, error: KubeError) -> bool:
        """Return whether the error ends the reconcile; a transient one does for some time."""
        if is_transient(error):
            return self.state.is_briefly_unobservable(resource.id, self.now)
        return isinstance(error, NODE_WIDE_ERRORS)

    async def _observe_object(self, resource: TResource, kind: WatchedKind) -> ObservedResource:
        rendered = self._render(resource, kind)
        ref = rendered.ref
        if kind.resource.namespaced and not kind.cache.covers(ref.namespace):
            return self._blocked(resource, _unwatched_namespace(ref.namespace))
        try:
            write = ObjectWrite.of(ref.identity, rendered.obj, resource.patch_strategy)
            self.clients.check(self.node, write)
        except NotAllowed as error:
            return self._blocked(resource, str(error))
        child = kind.child(key_of(ref)) or await self._uncached_child(kind, ref)
        record = self.records.get(ref.identity, NOT_APPLIED)
        # The status that records an accepted write may be postponed.
        if (written := self.state.writes.last_write(ref)) and not written.rejection:
            record = record._replace(was_applied=True)
        if child is not None:
            self.state.job_ends.pop(ref.identity, None)
        record = with_end(record, self.state.job_ends.get(ref.identity))
        observed = Resolved(ResourceFacts(resource=resource, record=record), kind, rendered)
        if child is not None and ignores_fields(resource):
            observed = await self._observe_ignoring(observed, child)
        else:
            observed = await self._with_live(observed, child, None)
        last_write = self.state.writes.last_write(ref) or self._baseline(observed.facts)
        return replace(observed, facts=replace(observed.facts, last_write=last_write))

    async def _observe_ignoring(self, observed: Resolved, child: Child) -> Resolved:
        """Observe an object with ignored fields; read it if our managed fields changed."""
        bodies, rendered = self.state.writes.bodies, observed.rendered
        body = bodies.get(rendered.ref, child)
        observed = await self._with_live(observed, child, body)
        digest = bodies.digest(observed.facts, child)
        if digest is None and body is None:
            read = await self.reader.read(observed.kind, rendered.ref)
            if read is None:
                return await self._with_live(observed, None, None)
            child, body = read
            observed = await self._with_live(observed, child, body)
        if digest is None and body is not None:
            digest = bodies.record(observed.facts, rendered, child, body)
        return observed.with_digest(digest or b"")

    async def _with_live(
        self, observed: Resolved, child: Child | None, body: Mapping[str, Any] | None
    ) -> Resolved:
        return await observed.with_live(self.claims, self.owner, child, body)

    async def _kind(self, resource: TResource) -> WatchedKind:
        version, kind = (str(resource.spec.get(key, "")) for key in ("apiVersion", "kind"))
        if "{{" in version or "{{" in kind:
            ref = self.renderer.render(resource, namespaced=True).ref
            version, kind = ref.api_version, ref.kind
        return await self.reader.kind(version, kind)

    def _render(self, resource: TResource, kind: WatchedKind) -> Rendered:
        """Render the resource; only its metadata, if its body was written for the only time."""
        namespaced = kind.resource.namespaced
        if resource.creation_policy is CreationPolicy.ONCE:
            outline = self.renderer.render(resource, namespaced=namespaced, with_body=False)
            child = kind.child(key_of(outline.ref))
            record = self.records.get(outline.ref.identity, NOT_APPLIED)
            is_done = child and is_done_once(resource, child.live, outline.ref, self.owner)
            if is_done or record.is_completed:
                self.renderer.drop(resource, namespaced=namespaced)
                return outline
        return self.renderer.render(resource, namespaced=namespaced)

    def _blocked(self, resource: TResource, problem: str, *, namespaced: bool = True) -> Blocked:
        """Return a resource that cannot be written, as if its write had been rejected."""
        # The scope of the kind may be unknown. The namespace only appears in messages then.
        rendered = self.renderer.render(resource, namespaced=namespaced)
        desired = prepare(rendered, resource, self.owner)
        last_write = self.state.writes.record_rejection(
            desired.ref, desired.hash, WriteRejection(problem), self.now
        )
        facts = ResourceFacts(
            resource=resource, desired=desired, last_write=last_write, was_written=True
        )
        return Blocked(facts)

    async def _uncached_child(self, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Read an object that no cache holds, if the node may have applied it before."""
        is_absent = ref.identity not in self.listed or ref in self.state.writes.unsent
        return None if is_absent else await self.reader.fetch(kind, ref)

    def _baseline(self, facts: ResourceFacts) -> LastWrite | None:
        """Record the write of an earlier process, if the live object has the desired content."""
        live, desired = facts.live, facts.desired
        if live is None or desired is None:
            return None
        if live.annotations.get(ANNOTATION_APPLIED_HASH) != desired.hash:
            return None
        digest = _reported_digest(self.node, desired.ref) or live.digest
        return self.state.writes.record_baseline(desired.ref, desired.hash, digest, self.now)


def _reported_digest(node: LynqNode, ref: ObjectRef) -> bytes:
    """Return the digest of our fields after the last write, by the node's status."""
    digests = (entry.fields_digest for entry in node.status.resources if ref_of(entry) == ref)
    try:
        return bytes.fromhex(next(digests, ""))
    except ValueError:
        # The status was edited by hand.
        return b""


def _unwatched_namespace(namespace: str) -> str:
    return (
        f'namespace "{namespace}" is not watched by this operator; '
        "add it to --watch-namespaces, or correct targetNamespace"
    )
