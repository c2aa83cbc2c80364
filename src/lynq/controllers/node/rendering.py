"""Renders the resources of a node: on the event loop if that is quick, else in the background.

A background render outlives the pass that submits it: the pass that follows its end uses it.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from lynq.api import LynqNode, TResource
from lynq.api.names import LABEL_HUB
from lynq.controllers.node.slow_render import (
    LoopTime,
    PendingRender,
    RenderPools,
    StillRendering,
    TemplateKey,
)
from lynq.core.node.render import JournalEntries, Rendered, Renderer
from lynq.core.render_journal import RenderVerdict


class RenderId(NamedTuple):
    """A render of a resource: for this scope, of the whole manifest or of its metadata only."""

    resource_id: str
    namespaced: bool
    with_body: bool = True


@dataclass(frozen=True, slots=True)
class CachedRender:
    """A background render.

    A slow one (keys, certificates) is kept until its object is written. A heavy one is kept if it
    failed; its result can be large, and is kept for one reconcile.
    """

    inputs: object
    """Values that the render depends on; other inputs need a new render."""
    pending: PendingRender
    is_slow: bool = False

    @property
    def has_heavy_result(self) -> bool:
        """Whether it is a heavy render that succeeded."""
        return not self.is_slow and self.pending.done() and not self.pending.exception()


@dataclass(slots=True)
class BackgroundRenders:
    """The background renders of one node."""

    by_id: dict[RenderId, CachedRender] = field(default_factory=dict)

    def drop(self, render_id: RenderId) -> None:
        """Forget a render, and cancel it if it has not started."""
        if render := self.by_id.pop(render_id, None):
            render.pending.cancel()

    def drop_heavy(self) -> None:
        """Forget the results of heavy renders, once a pass has had all of them."""
        for render_id in [key for key, render in self.by_id.items() if render.has_heavy_result]:
            del self.by_id[render_id]

    def keep_only(self, resource_ids: Collection[str]) -> None:
        """Drop the renders of all resources but these."""
        for render_id in [key for key in self.by_id if key.resource_id not in resource_ids]:
            self.drop(render_id)


@dataclass(frozen=True, slots=True)
class ResourceRenderer:
    """Renders the resources of one node in one pass."""

    node: LynqNode
    renderer: Renderer
    renders: BackgroundRenders
    pools: RenderPools
    entries: JournalEntries
    loop_time: LoopTime = field(default_factory=LoopTime)

    def render(self, resource: TResource, *, namespaced: bool, with_body: bool = True) -> Rendered:
        """Return the desired object; raises RenderError.

        Raises StillRendering until a background render is finished. Its failure is kept: a
        template that hits a limit is not rendered again before the node changes.
        """
        by_id, render_id = self.renders.by_id, RenderId(resource.id, namespaced, with_body)
        environment = self.renderer.environment
        # Without the installation key, random values are unavailable.
        inputs = (resource, self.renderer.variables, environment.now, type(environment.random))
        cached = by_id.get(render_id)
        if cached is None or cached.inputs != inputs:
            self.renders.drop(render_id)
            result = self._try_render(resource, inputs, render_id)
            if isinstance(result, Rendered):
                return result
            cached = by_id[render_id] = result
        if not cached.pending.done():
            raise StillRendering(is_heavy=not cached.is_slow)
        return cached.pending.result()

    def drop(self, resource: TResource, *, namespaced: bool) -> None:
        """Drop the background render of a resource that needs none any more."""
        self.renders.drop(RenderId(resource.id, namespaced))

    def _try_render(
        self, resource: TResource, inputs: object, render_id: RenderId
    ) -> Rendered | CachedRender:
        """Render within the budget of the event loop, or submit the render.

        Raises RenderError for a resource whose render has killed the process.
        """
        with_body = render_id.with_body
        pools, metadata, journal = self.pools, self.node.metadata, self.pools.journal
        entry = self.entries.entry(resource.id, with_body=with_body)

        def render(renderer: Renderer) -> Rendered:
            return renderer.render(resource, namespaced=render_id.namespaced, with_body=with_body)

        def recorded() -> Rendered:
            return journal.run(entry, partial(render, self.renderer))

        key, hub = metadata.key, metadata.labels.get(LABEL_HUB, "")
        match journal.verdict(entry):
            case RenderVerdict.SKIPPED:
                raise self.entries.skipped(resource.id)
            case RenderVerdict.RETRIED:
                if not pools.may_retry(key):
                    raise StillRendering(is_heavy=False)
                retry = partial(journal.run_alone, entry, partial(render, self.renderer))
                return CachedRender(inputs, pools.heavy.submit(key, hub, retry), is_slow=True)
        if self.renderer.is_slow(resource, with_body=with_body):
            return CachedRender(inputs, pools.slow.submit(key, hub, recorded), is_slow=True)
        template = TemplateKey.of(self.node, resource, with_body=with_body)
        if template not in pools.heavy_templates:
            rendered = self.loop_time.try_render(
                lambda deadline: journal.run_now(
                    entry, partial(render, self.renderer.within(deadline))
                )
            )
            if rendered is not None:
                return rendered
            pools.heavy_templates.add(template)
        measured = pools.heavy_templates.measured(template, recorded)
        return CachedRender(inputs, pools.heavy.submit(key, hub, measured))
