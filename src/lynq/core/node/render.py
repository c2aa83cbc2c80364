"""Render one resource of a node: from its entry in the spec to the object that is wanted.

Each template text is rendered exactly once. nameTemplate, labelsTemplate and annotationsTemplate
of a node hold what the hub made of them, values of the row among it, and are taken as they are.
The manifest and targetNamespace are still templates, and become text here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lynq.api import LynqNode, TResource
from lynq.api.names import ANNOTATION_ROLLOUT_UPDATE_START
from lynq.api.wire import parse_rfc3339
from lynq.core.node.naming import check_name, check_namespace, text_at
from lynq.core.node.object_ref import ObjectRef
from lynq.core.node.refusals import RenderError, template_failed
from lynq.core.node.reserved import merged_annotations, merged_labels, without_server_fields
from lynq.template import Chance, Environment, TemplateError, render, render_object

_OUTLINE: Final = ("apiVersion", "kind", "metadata")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rendered:
    """An object as its form and row want it, not yet tied to its node."""

    ref: ObjectRef
    obj: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Renderer:
    """What all resources of one node are rendered with."""

    namespace: str
    variables: Mapping[str, str]
    environment: Environment

    @classmethod
    def of(cls, node: LynqNode, variables: Mapping[str, str]) -> "Renderer":
        """Return the node's renderer: its time is the last change, its chance the node's own."""
        chance = Chance(node.metadata.uid.encode())
        return cls(node.metadata.namespace, variables, Environment(_changed_at(node), chance))

    def render(self, resource: TResource, *, namespaced: bool, with_body: bool = True) -> Rendered:
        """Return the wanted object; raises RenderError. The caller knows the kind's scope.

        Without body it is what it is and where: enough for an object that was written once, whose
        keys and certificates nobody wants to make anew in every pass.
        """
        # The deadline is shared: a bomb has the same time in many strings as in one.
        environment = self.environment.at(resource.id).within_one_deadline()
        manifest = _manifest(resource, with_body=with_body)
        body = self._body(resource.id, manifest, environment)
        metadata = dict(_mapping(resource.id, body, "metadata"))
        metadata["name"] = check_name(
            resource.id, resource.name_template or metadata.get("name") or ""
        )
        metadata.pop("namespace", None)
        if namespaced:
            metadata["namespace"] = self._namespace(resource, environment)
        _mark(resource, metadata)
        obj = {**body, "metadata": metadata}
        ref = ObjectRef(
            text_at(resource.id, obj, "apiVersion"),
            text_at(resource.id, obj, "kind"),
            metadata.get("namespace", ""),
            metadata["name"],
        )
        return Rendered(ref, obj)

    def _body(
        self, this: str, manifest: dict[str, Any], environment: Environment
    ) -> dict[str, Any]:
        try:
            return render_object(manifest, self.variables, environment)
        except TemplateError as error:
            kind = str(manifest.get("kind", ""))
            raise template_failed(this, error, error.field or "spec", kind) from None

    def _namespace(self, resource: TResource, environment: Environment) -> str:
        if not resource.target_namespace:
            return self.namespace
        field = "targetNamespace"
        try:
            text = render(resource.target_namespace, self.variables, environment.at(field))
        except TemplateError as error:
            raise template_failed(resource.id, error, field, "") from None
        return check_namespace(resource.id, text)


def _changed_at(node: LynqNode) -> int:
    """Return the node's time in nanoseconds: the hub's last write, or else its creation."""
    stamp = node.metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, "")
    since = (parse_rfc3339(stamp) or node.metadata.creation_timestamp or _EPOCH) - _EPOCH
    return since // timedelta(microseconds=1) * 1000


def _manifest(resource: TResource, *, with_body: bool) -> dict[str, Any]:
    """Return the manifest without what the entry says better: nothing unused is rendered."""
    manifest = resource.spec
    if not with_body:
        manifest = {key: manifest[key] for key in _OUTLINE if key in manifest}
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return manifest
    replaced = {"namespace", "name"} if resource.name_template else {"namespace"}
    kept = {key: value for key, value in metadata.items() if key not in replaced}
    return {**manifest, "metadata": without_server_fields(kept)}


def _mark(resource: TResource, metadata: dict[str, Any]) -> None:
    labels = _mapping(resource.id, metadata, "labels", inside="metadata.")
    annotations = _mapping(resource.id, metadata, "annotations", inside="metadata.")
    metadata["labels"] = merged_labels(labels, resource.labels_template)
    metadata["annotations"] = merged_annotations(annotations, resource.annotations_template)


def _mapping(this: str, within: Mapping[str, Any], key: str, inside: str = "") -> dict[str, Any]:
    value = within.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RenderError(this, f"{inside}{key}", "it must be an object")
    return value
