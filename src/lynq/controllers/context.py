"""What all three controllers stand on: the caches, the census, the clock, who runs tasks."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_of, hub_by_label, hub_of_form
from lynq.controllers.cached_client import CachedClient, ResourceCache
from lynq.controllers.decoding import Nodes, form_from, hub_from
from lynq.controllers.options import Options
from lynq.controllers.timing import Timing
from lynq.core.hub.node_counts import FleetCounts
from lynq.kube import Client, RuntimeMetrics
from lynq.telemetry import OperatorMetrics

BY_HUB = "hub"
"""Index of forms and nodes: by the hub they belong to."""
BY_FORM = "form"
"""Index of nodes: by the form they were made from."""
BY_UID = "uid"
"""Index of nodes: by their own uid, which owner references name."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """The cluster as this process sees it, and the means to change it."""

    client: Client
    """Fenced: it writes only while we surely lead."""
    options: Options
    hubs: CachedClient[LynqHub]
    forms: CachedClient[LynqForm]
    nodes: CachedClient[LynqNode]
    series: OperatorMetrics
    metrics: RuntimeMetrics
    census: FleetCounts = field(default_factory=FleetCounts)
    now: Callable[[], datetime] = _now

    @classmethod
    def of(
        cls, client: Client, options: Options, metrics: RuntimeMetrics, series: OperatorMetrics
    ) -> "ControllerContext":
        """Return the world behind a client; nothing is read until its caches run."""
        places = options.namespaces
        hubs = CachedClient(
            client, LynqHub.definition, hub_from, metrics=metrics, namespaces=places, indexes={}
        )
        forms = CachedClient(
            client,
            LynqForm.definition,
            form_from,
            metrics=metrics,
            namespaces=places,
            indexes={BY_HUB: _hub_of_form},
        )
        nodes = CachedClient(
            client,
            LynqNode.definition,
            Nodes(),
            metrics=metrics,
            namespaces=places,
            indexes={BY_HUB: _hub_of_node, BY_FORM: _form_of_node, BY_UID: _uid_of_node},
        )
        world = cls(client, options, hubs, forms, nodes, series, metrics)
        # First of all handlers, so that whoever is woken by a change finds it counted.
        nodes.on_change(world.census.take)
        return world

    @property
    def timing(self) -> Timing:
        """Delays and intervals of the controllers."""
        return self.options.timing

    @property
    def caches(self) -> tuple[ResourceCache[Any, Any], ...]:
        """The caches of our three kinds."""
        return self.hubs.cache, self.forms.cache, self.nodes.cache

    @property
    def has_synced(self) -> bool:
        """Whether all was listed: what is not seen yet must not look as if it were deleted."""
        return all(cache.has_synced for cache in self.caches)

    async def watch(self) -> None:
        """Keep the caches in step until cancelled."""
        async with asyncio.TaskGroup() as group:
            for cache in self.caches:
                group.create_task(cache.run())

    async def synced(self) -> None:
        """Wait until all three kinds have been listed."""
        for cache in self.caches:
            await cache.synced()


def _hub_of_form(form: LynqForm) -> tuple[ObjectKey, ...]:
    return (hub_of_form(form),)


def _hub_of_node(node: LynqNode) -> tuple[ObjectKey, ...]:
    hub = hub_by_label(node)
    return (hub,) if hub else ()


def _form_of_node(node: LynqNode) -> tuple[ObjectKey, ...]:
    return (form_of(node),)


def _uid_of_node(node: LynqNode) -> tuple[str, ...]:
    return (node.metadata.uid,)
