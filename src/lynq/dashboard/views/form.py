"""One form: its templates and graph, and its preview for a row."""

import asyncio
from datetime import datetime

import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.crds import to_yaml
from lynq.api.metadata import ObjectKey
from lynq.api.resource import all_resources
from lynq.core.explain.columns import columns_by_variable
from lynq.core.graph.problems import GraphError
from lynq.core.node.variables import VariablesError, variables_of
from lynq.core.plan.masking import masked, masked_manifest
from lynq.core.preview.render import Preview, PreviewInputs, preview
from lynq.core.preview.rows import given_row, unknown_hub
from lynq.dashboard.guards import RequestRefused
from lynq.dashboard.options import MAX_UIDS
from lynq.dashboard.projection import FORMS, HUBS, NODES
from lynq.dashboard.types.common import RowValue
from lynq.dashboard.types.details import FormView, PreviewResource, PreviewView
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.views.resources import form_resources
from lynq.dashboard.visible import (
    Visible,
    condition_views,
    count,
    form_line,
    rollout_view,
)
from lynq.kube.errors import Forbidden, NotFound

_DERIVED = ("host", "hubId", "templateRef")


async def form_view(viewer: Viewer, visible: Visible, namespace: str, name: str) -> FormView:
    """Return `GET /forms/{namespace}/{name}`; raises KubeError."""
    form = await viewer.client.get(FORMS, name, namespace, into=LynqForm)
    hub = await _hub_of(viewer, form)
    nodes = [
        node
        for node in (visible.nodes() if visible.has("Node", namespace) else ())
        if node.form == name and node.namespace == namespace
    ]
    columns = columns_by_variable(hub.spec if hub else None)
    return FormView(
        summary=form_line(form),
        resources=form_resources(form.spec),
        templates={
            resource.id: to_yaml(_template(msgspec.to_builtins(resource)))
            for resource in all_resources(form.spec)
        },
        nodes=count(nodes),
        rollout=rollout_view(form),
        conditions=condition_views(form.status.conditions),
        variables=tuple(
            RowValue(variable=variable, column=column, value="")
            for variable, column in columns.items()
        ),
        uids=tuple(sorted(node.uid for node in nodes)[:MAX_UIDS]),
        paused=form.spec.paused,
    )


def _template(resource: dict[str, object]) -> dict[str, object]:
    manifest = resource.get("spec")
    return (
        {**resource, "spec": masked_manifest(manifest)} if isinstance(manifest, dict) else resource
    )


async def _hub_of(viewer: Viewer, form: LynqForm) -> LynqHub | None:
    try:
        return await viewer.client.get(
            HUBS, form.spec.hub_id, form.metadata.namespace, into=LynqHub
        )
    except (NotFound, Forbidden):
        return None


async def preview_view(
    viewer: Viewer, visible: Visible, key: ObjectKey, uid: str, now: datetime
) -> PreviewView:
    """Return `GET /forms/{namespace}/{name}/preview?uid=`; raises KubeError and RequestRefused."""
    form = await viewer.client.get(FORMS, key.name, key.namespace, into=LynqForm)
    hub = await _hub_of(viewer, form) or unknown_hub(form)
    node = await _node_of(viewer, visible, hub, key, uid)
    try:
        variables = variables_of(node)
    except VariablesError as error:
        raise RequestRefused(422, f"{error}.") from None
    row = given_row({name: text for name, text in variables.items() if name not in _DERIVED})
    inputs = PreviewInputs(hub=hub, form=form, rows=[row], now=now, masks_generated=True)
    try:
        result = await asyncio.to_thread(preview, inputs)
    except GraphError as error:
        raise RequestRefused(422, f"The form is invalid: {error}") from None
    return PreviewView(uid=node.spec.uid, resources=tuple(_resources(form, result)))


async def _node_of(
    viewer: Viewer, visible: Visible, hub: LynqHub, key: ObjectKey, uid: str
) -> LynqNode:
    """Return a node that has the row: that of the form, or of another form of the hub."""
    if not visible.has("Node", key.namespace):
        raise RequestRefused(403, f"Not allowed: grant the verb list on {NODES.name}.")
    nodes = (
        visible.projection.nodes_of_uid(key.namespace, uid)
        if uid
        else [node for node in visible.nodes() if node.namespace == key.namespace]
    )
    own = [node for node in nodes if node.hub == hub.metadata.name]
    own.sort(key=lambda node: (node.form != key.name, node.name))
    if not own:
        raise RequestRefused(404, f'No node of the hub has the uid "{uid}": choose another row.')
    return await viewer.client.get(NODES, own[0].name, key.namespace, into=LynqNode)


def _resources(form: LynqForm, result: Preview) -> list[PreviewResource]:
    results = {
        each.resource.id: PreviewResource(id=each.resource.id, result=to_yaml(masked(each.obj)))
        for node in result.nodes
        for each in node.objects
    }
    errors = {error.resource: error.message for error in result.errors}
    rejected = "; ".join(rejection.message for rejection in result.rejections)
    general = errors.get("", "") or rejected
    return [
        results.get(resource.id)
        or PreviewResource(id=resource.id, error=errors.get(resource.id, "") or general)
        for resource in all_resources(form.spec)
    ]
