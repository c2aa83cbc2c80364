"""Everything of one uid: its nodes, why they are not ready, its row, and what happened."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.node_metadata import is_paused
from lynq.api.text import one_line
from lynq.api.wire import parse_rfc3339
from lynq.core.explain.columns import columns_by_variable, hidden_variables
from lynq.core.explain.model import Cause, entry_of
from lynq.core.explain.node import explain_node
from lynq.core.explain.row import explain_row
from lynq.core.explain.summary import summary_of
from lynq.core.node.variables import VariablesError, variables_of
from lynq.core.plan.masking import HIDDEN
from lynq.dashboard.guards import RequestRefused
from lynq.dashboard.options import MAX_TENANT_NODES, MAX_TIMELINE
from lynq.dashboard.projection import NODES
from lynq.dashboard.types.common import CauseView, OriginView, RowValue
from lynq.dashboard.types.details import TenantNode, TenantView, TimelineEntry
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.views.resources import node_resources
from lynq.dashboard.visible import Visible, condition_views, line
from lynq.inspection.evidence import EvidenceReader, event_time
from lynq.kube import Client, Discovery
from lynq.kube.errors import Forbidden, NotFound
from lynq.kube.resource import EVENTS

_MAX_NAMES: Final = 24
"""Objects whose events are read."""
_MAX_MESSAGE: Final = 500
_DERIVED: Final = frozenset({"host", "hubId", "templateRef"})
"""Variables that are no columns of the row."""


async def tenant_view(
    viewer: Viewer, visible: Visible, discovery: Discovery, namespace: str, uid: str
) -> TenantView:
    """Return `GET /tenants/{namespace}/{uid}`; raises KubeError and RequestRefused."""
    if not visible.has("Node", namespace):
        raise RequestRefused(403, f"Not allowed: grant the verb list on {NODES.name}.")
    entries = visible.projection.nodes_of_uid(namespace, uid)[:MAX_TENANT_NODES]
    nodes = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        try:
            node = await viewer.client.get(NODES, entry.name, namespace, into=LynqNode)
            nodes.append(node)
        except NotFound:
            continue
    if not nodes:
        raise RequestRefused(404, _absence(visible, namespace, uid))
    reader = EvidenceReader(viewer.client, discovery)
    explained = [await _explained(reader, node) for node in nodes]
    timeline = await _timeline(reader, nodes)
    return TenantView(
        uid=uid,
        namespace=namespace,
        nodes=tuple(node for node, _, _ in explained),
        row=row_values(
            nodes[0],
            next((hub for _, hub, _ in explained if hub), None),
            [form for _, _, form in explained if form],
        ),
        timeline=timeline,
        denials=tuple(reader.denials),
    )


def _absence(visible: Visible, namespace: str, uid: str) -> str:
    hubs = [hub for hub in visible.hubs() if hub.metadata.namespace == namespace]
    forms = [form for form in visible.forms() if form.metadata.namespace == namespace]
    explanation = explain_row(uid, hubs, forms)
    if explanation is None:
        return f'No node has the uid "{uid}" in the namespace "{namespace}".'
    cause = explanation.causes[0]
    return f'The row "{uid}" has no node: {cause.subject}: {cause.message}'


async def _explained(
    reader: EvidenceReader, node: LynqNode
) -> tuple[TenantNode, LynqHub | None, LynqForm | None]:
    hub, form = await reader.hub_of(node), await reader.form_of(node)
    explanation = explain_node(node, hub, form, await reader.read(node))
    view = TenantNode(
        summary=line(
            "Node",
            summary_of(node, explanation),
            since=explanation.since,
            created=node.metadata.creation_timestamp,
        ),
        causes=tuple(map(cause_view, explanation.causes)),
        notes=tuple(map(cause_view, explanation.notes)),
        resources=node_resources(node.spec, node.status.resources),
        conditions=condition_views(node.status.conditions),
        paused=is_paused(node),
    )
    return view, hub, form


async def first_cause(reader: EvidenceReader, namespace: str, name: str) -> Cause | None:
    """Return the first cause of a node with live evidence; None if there is none."""
    node = await reader.client.get(NODES, name, namespace, into=LynqNode)
    evidence = replace(await reader.read(node), is_form_unread=True)
    explanation = explain_node(node, None, None, evidence)
    return explanation.causes[0] if explanation.causes else None


def cause_view(cause: Cause) -> CauseView:
    """Return a cause for a page."""
    return CauseView(
        kind=cause.kind,
        subject=cause.subject,
        resource_id=cause.id,
        message=cause.message,
        since=cause.since,
        origins=tuple(
            OriginView(
                field=origin.field,
                variable=origin.variable,
                column=origin.column,
                value=origin.value,
            )
            for origin in cause.origins
        ),
        details=cause.details,
        waiting=cause.waiting,
        next_steps=cause.next_steps,
        documentation=entry_of(cause.kind),
    )


def row_values(node: LynqNode, hub: LynqHub | None, forms: list[LynqForm]) -> tuple[RowValue, ...]:
    """Return the row as a node has it; what a Secret reads is hidden."""
    try:
        variables = variables_of(node)
    except VariablesError:
        return ()
    columns = columns_by_variable(hub.spec if hub else None)
    hidden = hidden_variables(forms)
    return tuple(
        RowValue(
            variable=name,
            column=columns.get(name, ""),
            value=HIDDEN if name in hidden else value,
        )
        for name, value in variables.items()
        if name not in _DERIVED and (name in columns or name != "hostOrUrl")
    )


async def _timeline(reader: EvidenceReader, nodes: list[LynqNode]) -> tuple[TimelineEntry, ...]:
    entries = [entry for node in nodes for entry in _transitions(node)]
    names = dict.fromkeys(node.metadata.name for node in nodes)
    names |= dict.fromkeys(each.name for node in nodes for each in node.status.resources)
    namespace = nodes[0].metadata.namespace
    wanted = [name for name in names if name][:_MAX_NAMES]
    try:
        listed = await asyncio.gather(*(_events(reader.client, namespace, name) for name in wanted))
    except Forbidden as error:
        reader.denials[f"Events are not read: {error.missing_right or error}"] = None
    else:
        entries += [entry for events in listed for entry in events]
    entries.sort(key=lambda entry: entry.at, reverse=True)
    return tuple(entries[:MAX_TIMELINE])


def _transitions(node: LynqNode) -> Iterator[TimelineEntry]:
    for condition in node.status.conditions:
        is_good = condition.status == ("False" if condition.type in _BAD else "True")
        yield TimelineEntry(
            at=condition.last_transition_time,
            type="Normal" if is_good or condition.type not in _WARNING else "Warning",
            reason=f"{condition.type}={condition.status}",
            message=one_line(condition.message or condition.reason, _MAX_MESSAGE),
            subject=f"LynqNode/{node.metadata.name}",
        )


_BAD: Final = frozenset({"Conflicted", "Degraded"})
_WARNING: Final = frozenset({"Ready", "Conflicted", "Degraded"})


async def _events(client: Client, namespace: str, name: str) -> list[TimelineEntry]:
    listed = await client.list(EVENTS, namespace, fields=f"involvedObject.name={name}")
    return list(event_entries(listed.items))


def event_entries(events: Iterable[dict[str, Any]]) -> Iterator[TimelineEntry]:
    """Yield events as entries of a timeline."""
    for event in events:
        involved = event.get("involvedObject") or {}
        series = event.get("series") or {}
        yield TimelineEntry(
            at=parse_rfc3339(event_time(event)) or datetime.fromtimestamp(0, UTC),
            type="Warning" if event.get("type") == "Warning" else "Normal",
            reason=str(event.get("reason") or ""),
            message=one_line(str(event.get("message") or ""), _MAX_MESSAGE),
            subject=f"{involved.get('kind', '')}/{involved.get('name', '')}",
            count=series.get("count") or event.get("count") or 1,
        )
