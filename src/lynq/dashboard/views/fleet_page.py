"""The fleet: hubs and their forms, and how long rows take to become ready."""

from collections import defaultdict
from datetime import datetime

from lynq.api import LynqHub
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.types.common import FormCell
from lynq.dashboard.types.lists import FleetView, HubRow
from lynq.dashboard.visible import Visible, count, form_cell, hub_line

FormKey = tuple[str, str]
"""Namespace and name."""


def fleet_view(visible: Visible, now: datetime) -> FleetView:
    """Return `GET /fleet`."""
    nodes = visible.nodes()
    forms = form_cells(visible, nodes)
    namespaces = visible.node_scope.namespaces
    if visible.namespace:
        wanted = frozenset({visible.namespace})
        namespaces = wanted if namespaces is None else namespaces & wanted
    return FleetView(
        hubs=tuple(_row(hub, forms.get(hub.metadata.key, [])) for hub in visible.hubs()),
        nodes=count(nodes),
        latency=tuple(visible.projection.latency.points(now, namespaces)),
        denials=visible.denials,
    )


def form_cells(visible: Visible, nodes: list[NodeEntry]) -> dict[FormKey, list[FormCell]]:
    """Return the forms by namespace and name of their hub."""
    by_form: dict[FormKey, list[NodeEntry]] = defaultdict(list)
    for node in nodes:
        by_form[node.namespace, node.form].append(node)
    cells: dict[FormKey, list[FormCell]] = defaultdict(list)
    for form in visible.forms():
        namespace = form.metadata.namespace
        cell = form_cell(form, by_form.get((namespace, form.metadata.name), ()))
        cells[namespace, form.spec.hub_id].append(cell)
    return cells


def active_rows(hub: LynqHub) -> int:
    """Return the number of active rows of the last read."""
    return hub.status.desired // max(1, hub.status.referencing_templates)


def _row(hub: LynqHub, forms: list[FormCell]) -> HubRow:
    status = hub.status
    return HubRow(
        hub=hub_line(hub),
        forms=tuple(forms),
        rows=active_rows(hub),
        rejected=status.rejected_rows.count if status.rejected_rows else 0,
        held=status.held_deletions.count if status.held_deletions else 0,
        last_sync=status.last_sync_time,
    )
