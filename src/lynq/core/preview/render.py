"""Renders the nodes of rows and their objects, as the hub and the node controller do.

The installation key, the uids and the scopes of custom kinds are known to a cluster only. Random
values are drawn with a fixed key, so that they are repeatable and not those of any installation. A
kind is namespaced unless it is known to be cluster-scoped.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import LynqForm, LynqHub, LynqNode, TResource
from lynq.api.built_in_kinds import CLUSTER_KINDS, KindName
from lynq.api.installation_key import KEY_SIZE, InstallationKey
from lynq.api.naming import node_name
from lynq.api.resource import all_resources
from lynq.core.graph.build import build_graph, entries_of
from lynq.core.guard.rejections import Rejection
from lynq.core.guard.row_screening import ExistingNodes, screen_rows
from lynq.core.hub.desired_node import DesiredNode
from lynq.core.hub.row_values import RenderFailure, RowLike, RowRenderError, RowValues
from lynq.core.node.render import Renderer, RenderError
from lynq.core.node.variables import variables_of
from lynq.core.preview.generated import masked_body

_KEY: Final = InstallationKey(bytes(KEY_SIZE))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewInputs:
    """What a preview depends on."""

    hub: LynqHub
    form: LynqForm
    rows: Iterable[RowLike]
    """Active rows."""
    now: datetime
    """The time of the last change of row or form, which templates see."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The resources of the form that fail on every node: the error by id."""
    cluster_kinds: Collection[KindName] = CLUSTER_KINDS
    masks_generated: bool = False
    """Whether random values, keys, certificates and hashes are masked."""


@dataclass(frozen=True, slots=True)
class PreviewError:
    """A resource of a node, or the node itself, that cannot be rendered."""

    node: str
    resource: str
    """The id of the resource; empty if the whole node is concerned."""
    field: str
    """The field of the resource, for example `nameTemplate` or `spec.data.key`."""
    message: str
    line: int = 0
    column: int = 0
    action: str = ""
    """The position of the failing part of the template, and its text."""


@dataclass(frozen=True, slots=True)
class PreviewObject:
    """The object of a resource, without owner reference, tracking labels and hash."""

    resource: TResource
    obj: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodePreview:
    """The objects of one node, dependencies first, and what cannot be rendered."""

    name: str
    uid: str
    objects: tuple[PreviewObject, ...] = ()
    errors: tuple[PreviewError, ...] = ()
    node: LynqNode | None = None
    """The node itself; None if its row cannot be rendered."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The nodes of a form, ordered by name, and the rejected rows."""

    nodes: tuple[NodePreview, ...]
    rejections: tuple[Rejection, ...]

    @property
    def errors(self) -> list[PreviewError]:
        """What cannot be rendered."""
        return [error for node in self.nodes for error in node.errors]


def preview(inputs: PreviewInputs) -> Preview:
    """Return the nodes that the hub would create for the rows, and their objects.

    The form must be valid apart from the refused resources.
    """
    values = [RowValues.of(row) for row in inputs.rows]
    screened = screen_rows(values, [inputs.form.metadata.name], ExistingNodes({}, {}))
    nodes = [
        _node_preview(inputs, screened.rows[pair.uid]) for _, pair in sorted(screened.nodes.items())
    ]
    return Preview(tuple(nodes), screened.rejections)


def _node_preview(inputs: PreviewInputs, values: RowValues) -> NodePreview:
    desired = DesiredNode(inputs.hub, inputs.form, values, _KEY, inputs.refused)
    name = node_name(desired.pair)
    try:
        node = desired.new(inputs.now)
    except RowRenderError as error:
        return NodePreview(name, values.uid, errors=(_of_hub(name, error.failure),))
    # A node has no uid before it is created. With its name, the nodes draw different values.
    node = replace(node, metadata=replace(node.metadata, uid=name))
    results = list(_rendered(node, inputs))
    return NodePreview(
        name,
        values.uid,
        tuple(result for result in results if isinstance(result, PreviewObject)),
        tuple(result for result in results if isinstance(result, PreviewError)),
        node,
    )


def _rendered(node: LynqNode, inputs: PreviewInputs) -> Iterator[PreviewObject | PreviewError]:
    renderer = Renderer.of(node, variables_of(node), _KEY)
    templates = {resource.id: resource for resource in all_resources(inputs.form.spec)}
    resources = {resource.id: resource for resource in all_resources(node.spec)}
    for resource in (resources[name] for name in _ids(node)):
        try:
            # Raises for a resource that the hub refused, and for a function that is not allowed.
            renderer.is_slow(resource)
            namespaced = _kind_of(resource) not in inputs.cluster_kinds
            obj = renderer.render(resource, namespaced=namespaced).obj
        except RenderError as error:
            yield _of_node(node.metadata.name, error)
        else:
            if inputs.masks_generated:
                obj = masked_body(templates[resource.id].spec, obj)
            yield PreviewObject(templates[resource.id], _without_empty_metadata(obj))


def _ids(node: LynqNode) -> Sequence[str]:
    waves = build_graph(entries_of(node.spec)).waves
    return [resource_id for wave in waves for resource_id in wave]


def _kind_of(resource: TResource) -> KindName:
    version, kind = (str(resource.spec.get(name, "")) for name in ("apiVersion", "kind"))
    group, separator, _ = version.rpartition("/")
    return (group if separator else "", kind)


def _without_empty_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    kept = {
        key: value
        for key, value in obj["metadata"].items()
        if value or key not in ("labels", "annotations")
    }
    return {**obj, "metadata": kept}


def _of_hub(node: str, failure: RenderFailure) -> PreviewError:
    return PreviewError(
        node,
        failure.resource,
        failure.field,
        failure.reason,
        failure.line,
        failure.column,
        failure.action,
    )


def _of_node(node: str, error: RenderError) -> PreviewError:
    # The fields of a resource are few; any other field is one of the manifest.
    of_resource = error.field in ("", "nameTemplate", "targetNamespace", "ignoreFields", "spec")
    place = error.field if of_resource else f"spec.{error.field}"
    return PreviewError(
        node, error.resource, place, error.problem, error.line, error.column, error.action
    )
