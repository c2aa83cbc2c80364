"""One hub: its source, its forms, its rows, rejected rows and held deletions."""

from collections.abc import Iterable

from lynq.api import LynqHub, LynqNode
from lynq.api.conditions import find_condition
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_HUB, LABEL_UID
from lynq.api.naming import is_label_value
from lynq.api.reasons import ConditionType
from lynq.core.explain.columns import columns_by_variable
from lynq.core.guard.approval_request import held_nodes
from lynq.dashboard import query
from lynq.dashboard.node_entry import NodeEntry
from lynq.dashboard.options import MAX_HELD
from lynq.dashboard.projection import HUBS, NODES
from lynq.dashboard.types.common import RowValue
from lynq.dashboard.types.details import (
    HeldNode,
    HeldView,
    HubView,
    RejectedRowView,
    RowPage,
    RowView,
)
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.views.fleet_page import active_rows, form_cells
from lynq.dashboard.views.tenant import row_values
from lynq.dashboard.visible import Visible, condition_views, hub_line, node_line

_SHOWN = ("host", "port", "database", "table", "path", "tls")
_MAX_ROWS = 100
_UIDS_PER_REQUEST = 50


async def hub_view(viewer: Viewer, visible: Visible, namespace: str, name: str) -> HubView:
    """Return `GET /hubs/{namespace}/{name}`; raises KubeError."""
    hub = await viewer.client.get(HUBS, name, namespace, into=LynqHub)
    status = hub.status
    rejected = status.rejected_rows
    return HubView(
        summary=hub_line(hub),
        source=_source(hub),
        push=_push(hub),
        mappings=tuple(
            RowValue(variable=variable, column=column, value="")
            for variable, column in columns_by_variable(hub.spec).items()
            if variable != "host"
        ),
        conditions=condition_views(status.conditions),
        forms=tuple(form_cells(visible, visible.nodes()).get((namespace, name), ())),
        rows=active_rows(hub),
        rejected=tuple(
            RejectedRowView(uid=row.uid, reason=row.reason, message=row.message)
            for row in (rejected.rows if rejected else ())
        ),
        rejected_count=rejected.count if rejected else 0,
        held=_held(hub, visible),
        last_sync=status.last_sync_time,
        paused=hub.spec.paused,
    )


def _source(hub: LynqHub) -> dict[str, str]:
    source = hub.spec.source
    block = source.block
    named = {name: getattr(block, name, None) for name in _SHOWN}
    return {
        "type": str(source.type),
        **{
            name: str(value)
            for name, value in named.items()
            if isinstance(value, str | int) and value
        },
        "syncInterval": source.sync_interval,
        "changes": str(source.changes),
    }


def _push(hub: LynqHub) -> str:
    condition = find_condition(hub.status.conditions, ConditionType.PUSH_CONNECTED)
    if str(hub.spec.source.changes) != "Push":
        return ""
    if condition is None:
        return "Not connected yet"
    return "Connected" if condition.status == "True" else f"Not connected: {condition.message}"


def _held(hub: LynqHub, visible: Visible) -> HeldView | None:
    held = hub.status.held_deletions
    if held is None:
        return None
    condition = find_condition(hub.status.conditions, ConditionType.DELETION_HELD)
    key = hub.metadata.key
    nodes = {
        node.name: node
        for node in (visible.nodes() if visible.has("Node", key.namespace) else ())
        if (node.namespace, node.hub) == key
    }
    live = [name for name, node in nodes.items() if node.state != "Deleting"]
    return HeldView(
        count=held.count,
        digest=held.digest,
        message=condition.message if condition else "",
        nodes=tuple(
            HeldNode(name=name, uid=nodes[name].uid if name in nodes else "")
            for name in held_nodes(hub, live)[:MAX_HELD]
        ),
    )


async def row_page(
    viewer: Viewer, visible: Visible, key: ObjectKey, *, text: str, after: str, size: int
) -> RowPage:
    """Return `GET /hubs/{namespace}/{name}/rows`; raises KubeError.

    The rows are those of the hub's nodes: the dashboard has no access to the database.
    """
    hub = await viewer.client.get(HUBS, key.name, key.namespace, into=LynqHub)
    by_uid = _by_uid(visible.nodes(), key, text.lower())
    page = query.page(by_uid, lambda uid: (uid,), after, min(size, _MAX_ROWS))
    nodes = await _read_nodes(viewer, key, page.items)
    forms = [form for form in visible.forms() if form.spec.hub_id == key.name]
    return RowPage(
        items=tuple(
            RowView(
                uid=uid,
                values={each.variable: each.value for each in row_values(nodes[uid], hub, forms)}
                if uid in nodes
                else {},
                nodes=tuple(map(node_line, sorted(by_uid[uid], key=lambda node: node.name))),
            )
            for uid in page.items
        ),
        total=len(by_uid),
        next=page.next,
    )


def _by_uid(nodes: Iterable[NodeEntry], hub: ObjectKey, text: str) -> dict[str, list[NodeEntry]]:
    """Return the nodes of a hub by uid, if the uid contains a text in lower case."""
    by_uid: dict[str, list[NodeEntry]] = {}
    for node in nodes:
        if (node.namespace, node.hub) == hub and text in node.uid.lower():
            by_uid.setdefault(node.uid, []).append(node)
    return by_uid


async def _read_nodes(viewer: Viewer, key: ObjectKey, uids: tuple[str, ...]) -> dict[str, LynqNode]:
    """Return one node of each row, read with the rights of the viewer."""
    nodes: dict[str, LynqNode] = {}
    for start in range(0, len(uids), _UIDS_PER_REQUEST):
        # An edited node can have a uid that is none, which would be an invalid selector.
        part = ",".join(filter(is_label_value, uids[start : start + _UIDS_PER_REQUEST]))
        if not part:
            continue
        labels = f"{LABEL_HUB}={key.name},{LABEL_UID} in ({part})"
        listed = await viewer.client.list(NODES, key.namespace, into=LynqNode, labels=labels)
        nodes |= {node.spec.uid: node for node in listed}
    return nodes
