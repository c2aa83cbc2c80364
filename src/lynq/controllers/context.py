"""The context that all controllers share: client, options, caches, metrics, clock.

It also adapts the caches to the view of the cluster that the admission webhooks read.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lynq.api import HubSpec, LynqForm, LynqHub, LynqNode
from lynq.api.denied_hosts import DeniedHosts
from lynq.api.installation_key import InstallationKey, KeyState
from lynq.api.metadata import ObjectKey
from lynq.api.node_metadata import form_of, hub_by_label, hub_of_form
from lynq.controllers.cached_client import CachedClient, ResourceCache
from lynq.controllers.decoding import NodeDecoder, decode_form, decode_hub
from lynq.controllers.installation_key import CurrentKey
from lynq.controllers.options import Options
from lynq.controllers.render_journal import RenderJournal
from lynq.controllers.retained_ids import RetainedIds
from lynq.controllers.timing import Timing
from lynq.core.hub.node_counts import FleetCounts
from lynq.core.node.objects import ObjectIdentity, contested_objects
from lynq.core.node.origin import NodeOrigin, OriginRule, origin_of
from lynq.core.object_limits import ObjectLimits
from lynq.core.readiness.rules import EvaluateReadiness, evaluate_readiness
from lynq.kube import Client, RuntimeMetrics
from lynq.telemetry import OperatorMetrics

BY_HUB = "hub"
"""Index of forms by the hub in their spec, and of nodes by the hub in their label."""
BY_FORM = "form"
"""Index of nodes by the form in their spec."""
BY_UID = "uid"
"""Index of nodes by their own uid, which the owner references of their objects hold."""
BY_CONFLICT = "conflict"
"""Index of nodes by the identities of the objects that they desire and do not own."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """What every controller needs to observe and to change the cluster."""

    client: Client
    """Fenced: it writes only while the lease is held."""
    options: Options
    hubs: CachedClient[LynqHub]
    forms: CachedClient[LynqForm]
    nodes: CachedClient[LynqNode]
    """The nodes of this shard; of all shards, if it has the hubs."""
    operator_metrics: OperatorMetrics
    """Metrics of hubs, forms and nodes."""
    runtime_metrics: RuntimeMetrics
    """Metrics of queues, informers and requests."""
    node_counts: FleetCounts = field(default_factory=FleetCounts)
    """Nodes per hub and form, updated with every change of a node."""
    retained_ids: RetainedIds = field(default_factory=RetainedIds)
    clock: Callable[[], datetime] = _utc_now
    current_key: CurrentKey = field(default_factory=CurrentKey)
    origin_rule: OriginRule = origin_of
    """A plan assumes that signatures fit that its viewer cannot check."""
    readiness: EvaluateReadiness = evaluate_readiness
    """A plan assumes that written objects become ready."""
    journal: RenderJournal = field(default_factory=RenderJournal)
    """Records the renders that are under way."""

    @classmethod
    def of(
        cls,
        client: Client,
        options: Options,
        runtime_metrics: RuntimeMetrics,
        operator_metrics: OperatorMetrics,
    ) -> "ControllerContext":
        """Create the context with caches that are filled once `run_caches` runs."""
        namespaces = options.namespaces
        hubs = CachedClient(
            client,
            LynqHub.definition,
            decode_hub,
            metrics=runtime_metrics,
            namespaces=namespaces,
            indexes={},
        )
        forms = CachedClient(
            client,
            LynqForm.definition,
            decode_form,
            metrics=runtime_metrics,
            namespaces=namespaces,
            indexes={BY_HUB: lambda form: (hub_of_form(form),)},
        )
        nodes = CachedClient(
            client,
            LynqNode.definition,
            NodeDecoder(),
            metrics=runtime_metrics,
            namespaces=namespaces,
            labels=options.shard.node_selector,
            indexes={
                BY_HUB: _hub_index,
                BY_FORM: lambda node: (form_of(node),),
                BY_UID: lambda node: (node.metadata.uid,),
                BY_CONFLICT: _conflict_index,
            },
        )
        context = cls(
            client,
            options,
            hubs,
            forms,
            nodes,
            operator_metrics,
            runtime_metrics,
            journal=RenderJournal(options.scratch_directory),
        )
        # Registered first, so that later handlers see updated counts.
        nodes.on_change(context.node_counts.update)
        forms.on_change(context.retained_ids.update)
        return context

    @property
    def timing(self) -> Timing:
        """Delays and intervals of the controllers."""
        return self.options.timing

    @property
    def key(self) -> KeyState:
        """The installation key, or why there is none."""
        return self.current_key.state

    @property
    def has_key(self) -> bool:
        """Whether there is an installation key."""
        return isinstance(self.key, InstallationKey)

    def origin_of(self, node: LynqNode) -> NodeOrigin:
        """Return who wrote a node, as far as the installation key shows."""
        return self.origin_rule(node, self.key)

    @property
    def caches(self) -> tuple[ResourceCache[Any, Any], ...]:
        """The caches of hubs, forms and nodes."""
        return self.hubs.cache, self.forms.cache, self.nodes.cache

    @property
    def has_synced(self) -> bool:
        """Whether all caches are synced. Before that, a missing object may still exist."""
        return all(cache.has_synced for cache in self.caches)

    async def run_caches(self) -> None:
        """List and watch hubs, forms and nodes until canceled."""
        async with asyncio.TaskGroup() as group:
            for cache in self.caches:
                group.create_task(cache.run())

    async def synced(self) -> None:
        """Wait until all caches are synced."""
        for cache in self.caches:
            await cache.synced()


class CachedClusterView:
    """Answers the lookups of the admission webhooks from the caches, without requests."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    @property
    def denied_hosts(self) -> DeniedHosts:
        """The hosts that hubs may not connect to."""
        return self._context.options.denied_hosts

    @property
    def limits(self) -> ObjectLimits:
        """The objects that nodes may write."""
        return self._context.options.limits

    def covers(self, namespace: str) -> bool:
        """Return whether the namespace is watched, and its hubs and nodes are listed."""
        watched = self._context.options.namespaces
        is_synced = self._context.hubs.cache.has_synced and self._context.nodes.cache.has_synced
        return is_synced and (not watched or namespace in watched)

    def hub(self, key: ObjectKey) -> HubSpec | None:
        """Return the spec of a hub; None if it does not exist or cannot be decoded."""
        hub = self._context.hubs.get(key)
        return hub.spec if hub else None

    def nodes_of_hub(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        """Return the nodes with the label of a hub; None if not all of them are known."""
        return self._nodes(BY_HUB, key)

    def nodes_of_form(self, key: ObjectKey) -> Sequence[LynqNode] | None:
        """Return the nodes that were rendered from a form; None if not all of them are known."""
        return self._nodes(BY_FORM, key)

    def _nodes(self, index: str, key: ObjectKey) -> Sequence[LynqNode] | None:
        has_all = self._context.options.shard.has_hubs and self.covers(key.namespace)
        return self._context.nodes.by(index, key) if has_all else None


def _conflict_index(node: LynqNode) -> Iterator[ObjectIdentity]:
    return contested_objects(node.status)


def _hub_index(node: LynqNode) -> tuple[ObjectKey, ...]:
    hub = hub_by_label(node)
    return (hub,) if hub else ()
