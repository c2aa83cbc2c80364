"""Observes a node's resources: rendered manifest, desired object, live object, last write.

The live objects come from the caches. The API server is queried only for objects that no cache
holds: an object of the inventory that lacks our label (the Go operator's, or one whose label was
removed), and an object with ignoreFields whose managed fields changed (`live_bodies`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lynq.api import CreationPolicy, LynqNode, TResource
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_APPLIED_HASH, LABEL_HUB
from lynq.controllers.children import Child, Children, KindNotWatched, WatchedKind
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.impersonation import ClientSelector, NotAllowed
from lynq.controllers.installation_key import CurrentKey
from lynq.controllers.node.claims import NodeClaims
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS, is_transient
from lynq.controllers.node.live_bodies import decoded
from lynq.controllers.node.slow_render import LoopTime, RenderPools, StillRendering, TemplateKey
from lynq.controllers.node.state import CachedRender, NodeState, RenderId
from lynq.core.node.adoption_policy import is_written_as_adopted
from lynq.core.node.decide import is_done_once
from lynq.core.node.desired_object import ignores_fields, prepare
from lynq.core.node.objects import (
    NOT_APPLIED,
    AppliedRecord,
    ObjectIdentity,
    ObjectRef,
    Owner,
    ref_of,
)
from lynq.core.node.render import Rendered, Renderer, RenderError
from lynq.core.node.state import LastWrite, ResourceFacts, WriteRejection
from lynq.kube import Client, Discovery
from lynq.kube.errors import Forbidden, GroupUnavailable, KubeError, NotFound, UnknownKind


class ObservedResource(Struct, frozen=True):
    """One resource of a node: the facts for the core, and the handles of its object."""

    facts: ResourceFacts
    kind: WatchedKind | None = None
    """None if the kind cannot be watched, or the resource could not be rendered."""
    child: Child | None = None
    rendered: Rendered | None = None
    lacks_heavy_render: bool = False
    """Whether a heavy render was not finished when the resource was observed."""

    @property
    def ref(self) -> ObjectRef:
        """The desired object."""
        return self.facts.ref

    @property
    def is_resolved(self) -> bool:
        """Whether the desired object is identified, with its kind, namespace and name."""
        return self.facts.desired is not None and self.kind is not None

    def with_child(self, child: Child | None) -> "ObservedResource":
        """Return a copy with this live object."""
        live = child.live if child else None
        return replace(self, child=child, facts=replace(self.facts, live=live))

    def with_digest(self, digest: bytes) -> "ObservedResource":
        """Return a copy with this digest of our fields, in which ignored ones are left out."""
        live = replace(self.facts.live, digest=digest) if self.facts.live else None
        return replace(self, facts=replace(self.facts, live=live))

    def with_last_write(self, last_write: LastWrite, *, was_written: bool) -> "ObservedResource":
        """Return a copy with the result of our last write."""
        facts = replace(self.facts, last_write=last_write, was_written=was_written)
        return replace(self, facts=facts)


class Observer:
    """Observes the resources of nodes."""

    def __init__(
        self,
        client: Client,
        clients: ClientSelector,
        children: Children,
        discovery: Discovery,
        render_pools: RenderPools,
        *,
        current_key: CurrentKey,
        claims: NodeClaims,
    ) -> None:
        self.claims = claims
        self._client = client
        self.render_pools = render_pools
        self.clients = clients
        self._children = children
        self._discovery = discovery
        self._current_key = current_key

    async def observe(
        self,
        node: LynqNode,
        resources: Iterable[TResource],
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
        owner = self.claims.owner(node)
        observation = _Observation(self, node, owner, renderer, state, listed, records, now)
        resources = tuple(resources)
        observed = await gather_or_cancel(observation.observe(resource) for resource in resources)
        # A render may have finished since: the next reconcile has its result.
        if not any(resource.lacks_heavy_render for resource in observed):
            state.drop_heavy_renders()
        return dict(zip((resource.id for resource in resources), observed, strict=True))

    async def kind(
        self, api_version: str, kind: str, *, allow_outdated: bool = False
    ) -> WatchedKind:
        """Return the watch of a kind; raises UnknownKind or KindNotWatched."""
        resource = await self._discovery.resource(api_version, kind)
        return await self._children.watched(resource, allow_outdated=allow_outdated)

    async def fetch(self, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Read an object from the API server; None if it does not exist."""
        try:
            obj = await self._client.get(
                kind.resource, ref.name, ref.namespace or None, into=kind.into
            )
        except NotFound as error:
            self.check_served(kind, error)
            return None
        return kind.child_of(obj)

    def check_served(self, kind: WatchedKind, error: NotFound) -> None:
        """Raise GroupUnavailable if the path was not found, and not the object.

        A CRD that no longer serves a version keeps its objects: they are served in another one.
        """
        if not error.proves_absence:
            self._discovery.invalidate()
            raise GroupUnavailable(f"{kind.resource} is no longer served; rediscovering")

    async def with_live(
        self,
        observed: ObservedResource,
        owner: Owner,
        child: Child | None,
        body: Mapping[str, Any] | None,
    ) -> ObservedResource:
        """Return a copy with this live object, and the desired object and claims that follow.

        `body` is the whole live object, if the resource has ignoreFields.
        """
        facts, rendered = observed.facts, observed.rendered
        if rendered is None:
            raise AssertionError("a resource that was not rendered has no object")
        resource, record, ref = facts.resource, facts.record, rendered.ref
        live = child.live if child else None
        is_adopted = is_written_as_adopted(resource, live, ref, owner, record)
        desired = prepare(rendered, resource, owner, body, is_adopted=is_adopted)
        claimant = await self.claims.claimant(live, ref, owner, record) if live else ""
        facts = replace(facts, desired=desired, live=live, claimant=claimant)
        return replace(observed, facts=facts, child=child)

    async def read(
        self, kind: WatchedKind, ref: ObjectRef
    ) -> tuple[Child, Mapping[str, Any]] | None:
        """Read the whole object from the API server; None if it does not exist."""
        try:
            body = await self._client.get(kind.resource, ref.name, ref.namespace or None)
        except NotFound as error:
            self.check_served(kind, error)
            return None
        return kind.child_of(decoded(body, kind.into)), body


@dataclass(frozen=True, slots=True)
class _Observation:
    """The observation of one node in one reconcile."""

    observer: Observer
    node: LynqNode
    owner: Owner
    renderer: Renderer
    state: NodeState
    listed: Collection[ObjectIdentity]
    records: Mapping[ObjectIdentity, AppliedRecord]
    now: datetime
    loop_time: LoopTime = field(default_factory=LoopTime)

    async def observe(self, resource: TResource) -> ObservedResource:
        try:
            return await self._observe_watched(resource)
        except RenderError as error:
            return ObservedResource(ResourceFacts(resource=resource, render_error=str(error)))
        except StillRendering as pending:
            facts = ResourceFacts(resource=resource, is_rendering=True)
            return ObservedResource(facts, lacks_heavy_render=pending.is_heavy)

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
            self.observer.clients.check(self.node, ref)
        except NotAllowed as error:
            return self._blocked(resource, str(error))
        child = kind.child(key_of(ref)) or await self._uncached_child(kind, ref)
        record = self.records.get(ref.identity, NOT_APPLIED)
        # The status that records an accepted write may be postponed.
        if (written := self.state.last_write(ref)) and not written.rejection:
            record = record._replace(was_applied=True)
        facts = ResourceFacts(resource=resource, record=record)
        observed = ObservedResource(facts, kind, rendered=rendered)
        if child is not None and ignores_fields(resource):
            observed = await self._observe_ignoring(observed, rendered, kind, child)
        else:
            observed = await self.observer.with_live(observed, self.owner, child, None)
        last_write = self.state.last_write(ref) or self._baseline(observed.facts)
        return replace(observed, facts=replace(observed.facts, last_write=last_write))

    async def _observe_ignoring(
        self, observed: ObservedResource, rendered: Rendered, kind: WatchedKind, child: Child
    ) -> ObservedResource:
        """Observe an object with ignored fields; read it if our managed fields changed."""
        bodies = self.state.bodies
        body = bodies.get(rendered.ref, child)
        observed = await self.observer.with_live(observed, self.owner, child, body)
        digest = bodies.digest(observed.facts, child)
        if digest is None and body is None:
            read = await self.observer.read(kind, rendered.ref)
            if read is None:
                return await self.observer.with_live(observed, self.owner, None, None)
            child, body = read
            observed = await self.observer.with_live(observed, self.owner, child, body)
        if digest is None and body is not None:
            digest = bodies.record(observed.facts, rendered, child, body)
        return observed.with_digest(digest or b"")

    async def _kind(self, resource: TResource) -> WatchedKind:
        version, kind = (str(resource.spec.get(key, "")) for key in ("apiVersion", "kind"))
        if "{{" in version or "{{" in kind:
            ref = self._rendered(resource, namespaced=True).ref
            version, kind = ref.api_version, ref.kind
        return await self.observer.kind(version, kind)

    def _render(self, resource: TResource, kind: WatchedKind) -> Rendered:
        """Render the resource; only its metadata, if its body was written for the only time."""
        namespaced = kind.resource.namespaced
        if resource.creation_policy is CreationPolicy.ONCE:
            outline = self._rendered(resource, namespaced=namespaced, with_body=False)
            child = kind.child(key_of(outline.ref))
            record = self.records.get(outline.ref.identity, NOT_APPLIED)
            is_done = child and is_done_once(resource, child.live, outline.ref, self.owner)
            if is_done or record.is_completed:
                self.state.drop_render(RenderId(resource.id, namespaced))
                return outline
        return self._rendered(resource, namespaced=namespaced)

    def _rendered(
        self, resource: TResource, *, namespaced: bool, with_body: bool = True
    ) -> Rendered:
        """Render on the event loop if that is quick, otherwise in the background.

        Raises StillRendering until a background render is finished. Its failure is kept: a
        template that hits a limit is not rendered again before the node changes.
        """
        renders, render_id = self.state.renders, RenderId(resource.id, namespaced, with_body)
        environment = self.renderer.environment
        # Without the installation key, random values are unavailable.
        inputs = (resource, self.renderer.variables, environment.now, type(environment.random))
        cached = renders.get(render_id)
        if cached is None or cached.inputs != inputs:
            self.state.drop_render(render_id)
            result = self._try_render(resource, inputs, render_id)
            if isinstance(result, Rendered):
                return result
            cached = renders[render_id] = result
        if not cached.pending.done():
            raise StillRendering(is_heavy=not cached.is_slow)
        return cached.pending.result()

    def _try_render(
        self, resource: TResource, inputs: object, render_id: "RenderId"
    ) -> Rendered | CachedRender:
        """Render within the budget of the event loop, or submit the render."""
        with_body = render_id.with_body

        def render(renderer: Renderer) -> Rendered:
            return renderer.render(resource, namespaced=render_id.namespaced, with_body=with_body)

        pools, key, hub = self.observer.render_pools, self.node.metadata.key, self._hub
        if self.renderer.is_slow(resource, with_body=with_body):
            pending = pools.slow.submit(key, hub, partial(render, self.renderer))
            return CachedRender(inputs, pending, is_slow=True)
        template = TemplateKey.of(self.node, resource, with_body=with_body)
        if template not in pools.heavy_templates:
            rendered = self.loop_time.try_render(
                lambda deadline: render(self.renderer.within(deadline))
            )
            if rendered is not None:
                return rendered
            pools.heavy_templates.add(template)
        measured = pools.heavy_templates.measured(template, partial(render, self.renderer))
        return CachedRender(inputs, pools.heavy.submit(key, hub, measured))

    @property
    def _hub(self) -> str:
        return self.node.metadata.labels.get(LABEL_HUB, "")

    def _blocked(
        self, resource: TResource, problem: str, *, namespaced: bool = True
    ) -> ObservedResource:
        """Return a resource that cannot be written, as if its write had been rejected."""
        # The scope of the kind may be unknown. The namespace only appears in messages then.
        rendered = self._rendered(resource, namespaced=namespaced)
        desired = prepare(rendered, resource, self.owner)
        last_write = self.state.record_rejection(
            desired.ref, desired.hash, WriteRejection(problem), self.now
        )
        facts = ResourceFacts(
            resource=resource, desired=desired, last_write=last_write, was_written=True
        )
        return ObservedResource(facts)

    async def _uncached_child(self, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Read an object that no cache holds, if the node may have applied it before."""
        is_absent = ref.identity not in self.listed or ref in self.state.unsent
        return None if is_absent else await self.observer.fetch(kind, ref)

    def _baseline(self, facts: ResourceFacts) -> LastWrite | None:
        """Record the write of an earlier process, if the live object has the desired content."""
        live, desired = facts.live, facts.desired
        if live is None or desired is None:
            return None
        if live.annotations.get(ANNOTATION_APPLIED_HASH) != desired.hash:
            return None
        digest = _reported_digest(self.node, desired.ref) or live.digest
        return self.state.record_baseline(desired.ref, desired.hash, digest, self.now)


def key_of(ref: ObjectRef) -> ObjectKey:
    """Return the namespace and name of an object."""
    return ObjectKey(ref.namespace, ref.name)


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
