"""Looks at everything that a pass needs to know of a node's resources.

Caches answer. The API server is asked only about what no cache can show: an object that the node
has made and that does not carry our label (the Go operator's, or one whose label was taken off),
and the whole body of an object whose manifest leaves fields to others.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from lynq.api import ConflictPolicy, CreationPolicy, LynqNode, TResource
from lynq.api.metadata import ObjectKey
from lynq.api.names import ANNOTATION_APPLIED_HASH
from lynq.controllers.children import Child, Children, KindNotWatched, WatchedKind
from lynq.controllers.concurrency import gather_or_cancel
from lynq.controllers.impersonation import ClientSelector, NotAllowed
from lynq.controllers.node.kube_errors import NODE_WIDE_ERRORS, is_transient
from lynq.controllers.node.slow_render import RenderPool
from lynq.controllers.node.state import CachedRender, LiveBody, NodeState, ObjectPlace
from lynq.core.node.decide import is_done_once
from lynq.core.node.desired_object import DesiredObject, ignores_fields, prepare
from lynq.core.node.objects import ObjectRef, Owner, owner_of, ref_of
from lynq.core.node.render import Rendered, Renderer, RenderError
from lynq.core.node.state import LastWrite, ResourceFacts, WriteRejection
from lynq.kube import Client, Discovery
from lynq.kube.errors import Forbidden, GroupUnavailable, KubeError, NotFound, UnknownKind
from lynq.template import is_slow


class _StillRendering(Exception):  # noqa: N818 - says what is going on
    """Keys of an object are still being made."""


@dataclass(frozen=True, slots=True)
class ObservedResource:
    """One resource of a node: what the core has to know, and how to reach its object."""

    facts: ResourceFacts
    kind: WatchedKind | None = None
    """None if objects of its kind cannot be seen, or it could not be rendered."""
    child: Child | None = None
    rendered: Rendered | None = None

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        return self.facts.ref

    @property
    def is_resolved(self) -> bool:
        """Whether it is known for sure which object is desired."""
        return self.facts.desired is not None and self.kind is not None

    def with_child(self, child: Child | None) -> "ObservedResource":
        """Return the same with what has become of the object."""
        live = child.live if child else None
        return replace(self, child=child, facts=replace(self.facts, live=live))

    def with_desired(self, desired: DesiredObject) -> "ObservedResource":
        """Return the same with another wish for the object."""
        return replace(self, facts=replace(self.facts, desired=desired))

    def with_last_write(self, last_write: LastWrite, *, was_written: bool) -> "ObservedResource":
        """Return the same with the answer to our write."""
        return replace(
            self, facts=replace(self.facts, last_write=last_write, was_written=was_written)
        )


class Observer:
    """Looks at the resources of nodes."""

    def __init__(
        self,
        client: Client,
        accounts: ClientSelector,
        children: Children,
        discovery: Discovery,
        render_pool: RenderPool,
    ) -> None:
        self._client = client
        self.render_pool = render_pool
        self.accounts = accounts
        self._children = children
        self._discovery = discovery

    async def observe(
        self,
        node: LynqNode,
        resources: Iterable[TResource],
        variables: Mapping[str, str],
        state: NodeState,
        *,
        listed: Collection[ObjectPlace],
        now: datetime,
    ) -> dict[str, ObservedResource]:
        """Return a sight of every resource, by id; `listed` are the objects of the inventory."""
        state.reset_on_new_generation(node)
        pass_ = _Observation(self, node, Renderer.of(node, variables), state, listed, now)
        resources = tuple(resources)
        sights = await gather_or_cancel(pass_.at(resource) for resource in resources)
        return dict(zip((resource.id for resource in resources), sights, strict=True))

    async def kind(self, api_version: str, kind: str) -> WatchedKind:
        """Return a kind whose objects can be seen; raises UnknownKind or Unwatched."""
        return await self._children.watched(await self._discovery.resource(api_version, kind))

    async def fetch(self, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Ask the API server for an object that no cache has shown."""
        try:
            found = await self._client.get(
                kind.resource, ref.name, ref.namespace or None, into=kind.into
            )
        except NotFound as error:
            self.check_served(kind, error)
            return None
        return kind.child_of(found)

    def check_served(self, kind: WatchedKind, error: NotFound) -> None:
        """Raise GroupUnavailable if it is not the object that was not found, but its path.

        A version that a CRD serves no more takes no object along: it has to be found elsewhere.
        """
        if not error.status.details.name:
            self._discovery.invalidate()
            raise GroupUnavailable(f"{kind.resource} is served no more, and looked for anew")

    async def body(self, kind: WatchedKind, ref: ObjectRef) -> Mapping[str, Any] | None:
        """Ask the API server for the whole of an object."""
        try:
            return await self._client.get(kind.resource, ref.name, ref.namespace or None)
        except NotFound:
            return None


@dataclass(frozen=True, slots=True)
class _Observation:
    """One look at one node."""

    observer: Observer
    node: LynqNode
    renderer: Renderer
    state: NodeState
    listed: Collection[ObjectPlace]
    now: datetime

    @property
    def owner(self) -> Owner:
        return owner_of(self.node)

    async def at(self, resource: TResource) -> ObservedResource:
        try:
            return await self._seen(resource)
        except RenderError as error:
            return ObservedResource(ResourceFacts(resource=resource, render_error=str(error)))
        except _StillRendering:
            return ObservedResource(ResourceFacts(resource=resource, is_rendering=True))

    async def _seen(self, resource: TResource) -> ObservedResource:
        try:
            # That nobody tells which kinds there are is no resource's trouble, and raised.
            kind = await self._kind(resource)
        except (UnknownKind, KindNotWatched, Forbidden) as error:
            return self._blocked(resource, str(error))
        try:
            sight = await self._at(resource, kind)
        except KubeError as error:
            if self._is_everybodys(resource, error):
                raise
            # An object that may not be read is the trouble of its own resource only.
            return self._blocked(resource, str(error))
        self.state.unobservable_since.pop(resource.id, None)
        return sight

    def _is_everybodys(self, resource: TResource, error: KubeError) -> bool:
        """Return whether nothing of the node can be told now; a hiccup is waited for."""
        if is_transient(error):
            return self.state.is_briefly_unobservable(resource.id, self.now)
        return isinstance(error, NODE_WIDE_ERRORS)

    async def _at(self, resource: TResource, kind: WatchedKind) -> ObservedResource:
        rendered = self._rendered(resource, kind)
        ref = rendered.ref
        if kind.resource.namespaced and not kind.cache.covers(ref.namespace):
            return self._blocked(resource, _unwatched_namespace(ref.namespace))
        try:
            self.observer.accounts.check(self.node, ref)
        except NotAllowed as error:
            return self._blocked(resource, str(error))
        child = kind.child(key_of(ref)) or await self._stray(resource, kind, ref)
        body = await self._body(resource, kind, ref, child)
        desired = prepare(rendered, resource, self.owner, body)
        last_write = self.state.last_write(ref) or self._baseline(desired.hash, ref, child)
        live = child.live if child else None
        facts = ResourceFacts(resource=resource, desired=desired, live=live, last_write=last_write)
        return ObservedResource(facts, kind, child, rendered)

    async def _kind(self, resource: TResource) -> WatchedKind:
        version, kind = (str(resource.spec.get(key, "")) for key in ("apiVersion", "kind"))
        if "{{" in version or "{{" in kind:
            ref = self._whole(resource, namespaced=True).ref
            version, kind = ref.api_version, ref.kind
        return await self.observer.kind(version, kind)

    def _rendered(self, resource: TResource, kind: WatchedKind) -> Rendered:
        namespaced = kind.resource.namespaced
        if resource.creation_policy is CreationPolicy.ONCE:
            outline = self.renderer.render(resource, namespaced=namespaced, with_body=False)
            child = kind.child(key_of(outline.ref))
            if child and is_done_once(resource, child.live, self.owner):
                self.state.drop_render(resource.id)
                return outline
        return self._whole(resource, namespaced=namespaced)

    def _whole(self, resource: TResource, *, namespaced: bool) -> Rendered:
        """Render all of it; raises _StillMaking of what takes seconds and is not done yet."""
        render = partial(self.renderer.render, resource, namespaced=namespaced)
        if not is_slow(resource.spec):
            return render()
        basis = (resource, self.renderer.variables, self.renderer.environment.now, namespaced)
        known = self.state.renders.get(resource.id)
        if known is None or known.inputs != basis:
            self.state.drop_render(resource.id)
            making = self.observer.render_pool.submit(self.node.metadata.key, render)
            known = self.state.renders[resource.id] = CachedRender(basis, making)
        if not known.pending.done():
            raise _StillRendering
        return known.pending.result()

    def _blocked(self, resource: TResource, problem: str) -> ObservedResource:
        """Return the sight of a resource of which nothing can be tried."""
        # The guess that it has a namespace shows in messages only: it is not decided.
        rendered = self._whole(resource, namespaced=True)
        desired = prepare(rendered, resource, self.owner)
        last_write = self.state.record_rejection(
            desired.ref, desired.hash, WriteRejection(problem), self.now
        )
        facts = ResourceFacts(
            resource=resource, desired=desired, last_write=last_write, was_written=True
        )
        return ObservedResource(facts)

    async def _stray(self, resource: TResource, kind: WatchedKind, ref: ObjectRef) -> Child | None:
        """Look for an object that should be there, or must not be written over unseen."""
        takes_over = resource.conflict_policy is ConflictPolicy.FORCE and ignores_fields(resource)
        if ref.place in self.listed or takes_over:
            return await self.observer.fetch(kind, ref)
        return None

    async def _body(
        self, resource: TResource, kind: WatchedKind, ref: ObjectRef, child: Child | None
    ) -> Mapping[str, Any] | None:
        if child is None or not ignores_fields(resource):
            return None
        known, fingerprint = self.state.bodies.get(ref), fingerprint_of(child)
        if known is not None and known.fingerprint == fingerprint:
            return known.obj
        body = await self.observer.body(kind, ref)
        if body is not None:
            self.state.bodies[ref] = LiveBody.of(fingerprint, body)
        return body

    def _baseline(self, content: str, ref: ObjectRef, child: Child | None) -> LastWrite | None:
        if child is None or child.live.annotations.get(ANNOTATION_APPLIED_HASH) != content:
            return None
        left = _fields_left(self.node, ref) or child.live.digest
        return self.state.record_baseline(ref, content, left, self.now)


def key_of(ref: ObjectRef) -> ObjectKey:
    """Return where an object is among those of its kind."""
    return ObjectKey(ref.namespace, ref.name)


def _fields_left(node: LynqNode, ref: ObjectRef) -> bytes:
    """Return the digest of the fields that our last write of an object left us with, if known."""
    digests = (each.fields_digest for each in node.status.resources if ref_of(each) == ref)
    try:
        return bytes.fromhex(next(digests, ""))
    except ValueError:
        # Somebody edited the status.
        return b""


def fingerprint_of(child: Child) -> object:
    """Return what is the same as long as nothing but the status of an object changes."""
    live = child.live
    marks = msgspec.json.encode((live.labels, live.annotations), order="sorted")
    return live.uid, child.generation or child.resource_version, marks


def _unwatched_namespace(namespace: str) -> str:
    return (
        f'the namespace "{namespace}" is not watched by this operator; '
        "add it to --watch-namespaces, or correct targetNamespace"
    )
