"""One live object: its YAML, and where it differs from what is desired."""

import json
from typing import Any

from lynq.api import LynqNode
from lynq.api.crds import to_yaml
from lynq.api.installation_key import KeyState, MissingKey
from lynq.api.metadata import ObjectKey
from lynq.api.resource import all_resources
from lynq.controllers.installation_key import KEY_SECRET, read_key
from lynq.core.explain.columns import hidden_variables
from lynq.core.node.objects import ObjectRef, ref_of
from lynq.core.node.variables import VariablesError
from lynq.core.plan.masking import masked
from lynq.dashboard.options import MAX_OBJECT
from lynq.dashboard.projection import NODES, Projection
from lynq.dashboard.types.details import FieldDifference, ObjectView
from lynq.dashboard.viewers import Viewer
from lynq.inspection.comparison import Comparison, NodeComparison
from lynq.inspection.evidence import EvidenceReader
from lynq.kube import Client, Discovery
from lynq.kube.errors import KubeError


async def object_view(
    viewer: Viewer,
    projection: Projection,
    discovery: Discovery,
    ref: ObjectRef,
    node: ObjectKey | None,
    *,
    operator_namespace: str,
) -> ObjectView:
    """Return `GET /objects`; raises KubeError."""
    resource = await discovery.resource(ref.api_version, ref.kind)
    live = await viewer.client.get(resource, ref.name, ref.namespace or None)
    shown = masked_live(live, projection)
    fields = shown["metadata"].pop("managedFields", None)
    view = ObjectView(
        yaml=_cut(to_yaml(shown)), managed_fields=_cut(to_yaml(fields)) if fields else ""
    )
    if node is None:
        return view
    result = await _compared(viewer, discovery, ref, node, operator_namespace)
    if result is None or result.error:
        problem = result.error if result else "The node does not desire this object."
        return ObjectView(
            yaml=view.yaml, managed_fields=view.managed_fields, differences=None, problem=problem
        )
    return ObjectView(
        yaml=view.yaml,
        managed_fields=view.managed_fields,
        differences=tuple(_difference(drift) for drift in result.drifts),
        problem=result.note,
    )


def masked_live(live: dict[str, Any], projection: Projection) -> dict[str, Any]:
    """Return a live object that may be shown."""
    hidden: frozenset[str] = frozenset()
    if live.get("kind") == LynqNode.definition.kind:
        namespace = live["metadata"].get("namespace", "")
        hub = (live["metadata"].get("labels") or {}).get("lynq.sh/hub", "")
        hidden = hidden_variables(
            [
                form
                for form in projection.forms()
                if form.metadata.namespace == namespace and form.spec.hub_id == hub
            ]
        )
    return masked(live, hidden)


async def installation_key_of(client: Client, namespace: str) -> KeyState:
    """Return the key, or why it cannot be read: then templates with random values fail."""
    try:
        return await read_key(client, namespace, KEY_SECRET)
    except KubeError as error:
        return MissingKey(f"the installation key cannot be read: {error}")


async def _compared(
    viewer: Viewer, discovery: Discovery, ref: ObjectRef, key: ObjectKey, operator_namespace: str
) -> Comparison | None:
    """Compare an object with what its node desires, as the viewer; None if no resource is it."""
    node = await viewer.client.get(NODES, key.name, key.namespace, into=LynqNode)
    ids = {entry.id for entry in node.status.resources if ref_of(entry).identity == ref.identity}
    resource = next((each for each in all_resources(node.spec) if each.id in ids), None)
    if resource is None:
        return None
    reader = EvidenceReader(viewer.client, discovery)
    secret = await installation_key_of(viewer.client, operator_namespace)
    try:
        comparison = await NodeComparison.of(reader, node, secret)
    except VariablesError as error:
        return Comparison(str(ref), error=f"{error}.")
    return await comparison.compare(resource)


def _difference(drift: Any) -> FieldDifference:  # noqa: ANN401
    change = drift.change
    return FieldDifference(
        path=change.path,
        live=_value(change.before),
        desired=_value(change.after),
        manager=", ".join(drift.managers),
    )


def _value(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_OBJECT else f"{text[:MAX_OBJECT]}\n# Cut: too long.\n"
