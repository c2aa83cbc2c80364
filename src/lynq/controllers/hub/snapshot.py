"""The nodes that a hub is planned with: its own, and the names of the others in its namespace.

A plan of all rows is made in a thread. It uses what the caches have at one moment: the objects are
immutable, and only references are copied on the event loop.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from lynq.api import LynqHub, LynqNode
from lynq.api.naming import NodePair
from lynq.api.node_metadata import (
    hub_by_label,
    is_controlled_by_hub,
    is_controlled_by_other_hub,
    pair_or_spec,
)
from lynq.controllers.context import BY_HUB, ControllerContext
from lynq.controllers.decoding import Unreadable
from lynq.core.hub.plan import PlanInputs
from lynq.core.node.origin import is_lost_node_of

NamedNodes: TypeAlias = list[tuple[str, LynqNode | Unreadable]]
"""The nodes of a namespace with their names."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a plan of all rows is made from, as the caches had it at one moment."""

    planned: PlanInputs
    """The inputs without nodes."""
    nodes: NamedNodes
    forms: frozenset[str]
    workloads_ready: Mapping[str, bool]

    def inputs(self) -> PlanInputs:
        """Return the inputs with all nodes; takes long enough to do it in a thread."""
        nodes, other_nodes = divided(self.planned.hub, self.forms, self.nodes)
        return replace(
            self.planned,
            nodes=nodes,
            other_nodes=other_nodes,
            workloads_ready=lambda node: self.workloads_ready.get(node.metadata.name, True),
        )


def hub_nodes(
    context: ControllerContext, hub: LynqHub
) -> tuple[list[LynqNode], dict[str, NodePair]]:
    """Return the hub's nodes, and the names of the namespace's other nodes.

    Labels are edited by hand. A node that lost its label is the hub's if the hub controls it; a
    node that another hub controls is not, whatever its label. The pair of an unreadable node is
    unknown: the applier does not touch it.
    """
    nodes = namespace_nodes(context, hub.metadata.namespace)
    return divided(hub, form_names(context, hub), nodes)


def namespace_nodes(context: ControllerContext, namespace: str) -> NamedNodes:
    """Return the nodes of a namespace."""
    return [(key.name, node) for key, node in context.nodes.cache.items() if key[0] == namespace]


def form_names(context: ControllerContext, hub: LynqHub) -> frozenset[str]:
    """Return the names of a hub's forms."""
    return frozenset(form.metadata.name for form in context.forms.by(BY_HUB, hub.metadata.key))


def divided(
    hub: LynqHub, forms: frozenset[str], named: Iterable[tuple[str, LynqNode | Unreadable]]
) -> tuple[list[LynqNode], dict[str, NodePair]]:
    """Return those nodes that are the hub's, and the names of the others."""
    key = hub.metadata.key
    nodes: list[LynqNode] = []
    other_nodes: dict[str, NodePair] = {}
    for name, node in named:
        if isinstance(node, Unreadable):
            continue
        is_labeled = hub_by_label(node) == key and not is_controlled_by_other_hub(node, hub)
        if is_labeled or is_controlled_by_hub(node, hub) or is_lost_node_of(node, forms):
            nodes.append(node)
        else:
            other_nodes[name] = pair_or_spec(node)
    return nodes, other_nodes
