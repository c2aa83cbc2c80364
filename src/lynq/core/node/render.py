"""Renders one resource of a node: from its entry in the spec to the desired object.

Each template is rendered exactly once. nameTemplate, labelsTemplate and annotationsTemplate of a
node were rendered by the hub and contain values of the row, so they are taken as they are. The
manifest and targetNamespace are still templates, and are rendered here.

A rendered name is checked before it becomes part of a request path. The API server validates names
by kind; only names that cannot be sent at all are rejected here, such as one with a `/`, which
would address another object. No error contains a value of the row, not even a rejected name: such a
name is no name of an object.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from lynq.api import CreationPolicy, LynqNode, TResource
from lynq.api.installation_key import NO_KEY, KeyState
from lynq.api.names import (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_FORCE_RECONCILE,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_TEMPLATE_GENERATION,
)
from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, is_namespace_name
from lynq.api.nesting import depth_checked
from lynq.api.text import printable
from lynq.api.wire import EPOCH, parse_rfc3339, unix_nanoseconds
from lynq.core.node.objects import ObjectRef
from lynq.core.node.ownership import merged_annotations, merged_labels, without_server_fields
from lynq.core.randomness import node_random
from lynq.core.render_journal import RenderEntry, digest, skipped
from lynq.template import (
    Deadline,
    Environment,
    Needs,
    TemplateError,
    called_functions,
    failing_variable,
    is_slow,
    redacted_message,
    render,
    render_object,
)

_OUTLINE: Final = ("apiVersion", "kind", "metadata")
_NOT_IN_A_PATH: Final = re.compile(r"[/%\s]")
_INPUTS: Final = (
    ANNOTATION_ACTIVATE,
    ANNOTATION_EXTRA,
    ANNOTATION_HOST_OR_URL,
    ANNOTATION_REFUSED_RESOURCES,
    ANNOTATION_ROLLOUT_UPDATE_START,
    ANNOTATION_TEMPLATE_GENERATION,
    ANNOTATION_FORCE_RECONCILE,
)
"""The annotations that a render depends on, and the one that requests to repeat it."""


class RenderError(Exception):
    """One resource cannot be rendered; the other resources are not affected."""

    def __init__(
        self,
        resource: str,
        field: str,
        problem: str,
        *,
        line: int = 0,
        variable: str = "",
        column: int = 0,
        action: str = "",
    ) -> None:
        self.resource = resource
        """The id of the resource."""
        self.field = field
        """The field of the resource or its manifest; "" if the problem names it."""
        self.line = line
        """Line of the template, counted from 1; 0 if the error has no line."""
        self.variable = variable
        """The variable that the template fails on; "" if unknown."""
        self.column = column
        """Bytes of the line before the failing part of the template."""
        self.action = action
        """The failing part of the template, as Go prints it; "" if unknown."""
        self.problem = problem
        """Why the resource cannot be rendered."""
        location = f"{field}, line {line}" if line else field
        where = f"{location}: " if location else ""
        super().__init__(f'"{resource}" could not be rendered: {where}{problem}')


class Rendered(Struct, frozen=True):
    """A rendered object, without owner reference, tracking labels and hash."""

    ref: ObjectRef
    obj: dict[str, Any]


class Renderer(Struct, frozen=True):
    """Renders the resources of one node."""

    namespace: str
    variables: Mapping[str, str]
    environment: Environment
    refused: Mapping[str, str] = field(default_factory=dict)
    """The resources that the hub refused: the error by id."""

    @classmethod
    def of(cls, node: LynqNode, variables: Mapping[str, str], key: KeyState = NO_KEY) -> "Renderer":
        """Return the renderer of a node; time and random numbers are the same in every render.

        Time is the last change of the node. Without the key, templates with random values fail.
        """
        environment = Environment(_changed_at(node), node_random(node, key))
        return cls(node.metadata.namespace, variables, environment, _refused(node))

    def within(self, deadline: Deadline) -> "Renderer":
        """Return the renderer whose renders share this deadline."""
        return replace(self, environment=replace(self.environment, deadline=deadline))

    def render(self, resource: TResource, *, namespaced: bool, with_body: bool = True) -> Rendered:
        """Return the desired object; raises RenderError. `namespaced` is the scope of the kind.

        Without body only apiVersion, kind and metadata are rendered. That identifies an object that
        was created once, without its keys and certificates being generated in every reconcile.
        """
        # The deadline is shared: many slow templates have the same time as one.
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
        _merge_labels_and_annotations(resource, metadata)
        obj = {**body, "metadata": metadata}
        ref = ObjectRef(
            required_string(resource.id, obj, "apiVersion"),
            required_string(resource.id, obj, "kind"),
            metadata.get("namespace", ""),
            metadata["name"],
        )
        return Rendered(ref, obj)

    def is_slow(self, resource: TResource, *, with_body: bool = True) -> bool:
        """Return whether a render calls slow functions; raises RenderError if it may not.

        Admission denies such a form, but it may have been stored before.
        """
        if resource.id in self.refused:
            raise RenderError(resource.id, "", self.refused[resource.id])
        target = resource.target_namespace
        if target and (names := called_functions(target, Needs.SLOW)):
            problem = f"{', '.join(names)} is too slow here; call it in the manifest only"
            raise RenderError(resource.id, "targetNamespace", problem)
        manifest = _manifest(resource, with_body=with_body)
        if not is_slow(manifest):
            return False
        names = called_functions(manifest, Needs.ENTROPY)
        if names and resource.creation_policy is not CreationPolicy.ONCE:
            problem = (
                f"{', '.join(names)} gives another value in every render, so the object would be "
                "applied again and again; set creationPolicy: Once in the form"
            )
            raise RenderError(resource.id, "spec", problem)
        return True

    def _body(
        self, resource_id: str, manifest: dict[str, Any], environment: Environment
    ) -> dict[str, Any]:
        try:
            return render_object(manifest, self.variables, environment)
        except TemplateError as error:
            raise template_error(resource_id, error, error.field or "spec") from None

    def _namespace(self, resource: TResource, environment: Environment) -> str:
        if not resource.target_namespace:
            return self.namespace
        field = "targetNamespace"
        try:
            text = render(resource.target_namespace, self.variables, environment.at(field))
        except TemplateError as error:
            raise template_error(resource.id, error, field) from None
        return check_namespace(resource.id, text)


class JournalEntries(Struct, frozen=True):
    """The entries of a node in the journal of renders."""

    node: LynqNode
    inputs: bytes

    @classmethod
    def of(cls, node: LynqNode) -> "JournalEntries":
        """Return the entries of a node as it is now."""
        metadata = node.metadata
        annotations = (metadata.annotations.get(name, "") for name in _INPUTS)
        return cls(node, digest(metadata.uid, str(metadata.generation), *annotations))

    def entry(self, resource_id: str, *, with_body: bool) -> RenderEntry:
        """Return the entry of a resource, or of its metadata only."""
        metadata, part = self.node.metadata, "body" if with_body else "metadata"
        subject = digest("node", metadata.namespace, metadata.name, resource_id, part)
        return RenderEntry(subject, self.inputs)

    def skipped(self, resource_id: str) -> RenderError:
        """Return the error of a resource whose render has killed the process."""
        return RenderError(resource_id, "", skipped(f"lynq reconcile {self.node.metadata.name}"))


def template_error(resource_id: str, error: TemplateError, field: str) -> RenderError:
    """Return the RenderError of a template that failed, without values of the row."""
    variable = failing_variable(error)
    if error.missing_key is not None:
        problem = (
            f'there is no variable "{printable(variable)}"; '
            "map it in the hub's extraValueMappings, or correct the template"
        )
    else:
        problem = redacted_message(error)
    return RenderError(
        resource_id,
        field,
        problem,
        line=error.line,
        variable=variable,
        column=error.column,
        action=error.action or "",
    )


def check_name(resource_id: str, name: object) -> str:
    """Return the object's name; raises RenderError if it cannot be part of a path."""
    if not isinstance(name, str) or not name:
        raise RenderError(
            resource_id, "nameTemplate", "the name is empty; set nameTemplate or metadata.name"
        )
    if len(name) > NAME_LIMIT:
        problem = f"has {len(name)} characters, more than {NAME_LIMIT}; use trunc63"
    elif name in {".", ".."} or _NOT_IN_A_PATH.search(name):
        problem = 'contains "/", "%" or white space, or is "." or ".."'
    elif not name.isprintable():
        problem = "contains unprintable characters"
    else:
        return name
    raise RenderError(resource_id, "nameTemplate", f"the rendered name {problem}")


def check_namespace(resource_id: str, namespace: str) -> str:
    """Return the namespace; raises RenderError if it is not a valid one."""
    if is_namespace_name(namespace):
        return namespace
    raise RenderError(
        resource_id,
        "targetNamespace",
        f"the rendered text is not a valid namespace: it has {len(namespace)} characters; "
        f"required are 1 to {LABEL_LIMIT} of a–z, 0–9 and -, not - at either end",
    )


def required_string(resource_id: str, obj: Mapping[str, Any], key: str) -> str:
    """Return a string that every manifest must have; raises RenderError."""
    value = obj.get(key)
    if isinstance(value, str) and value:
        return value
    raise RenderError(resource_id, key, "required: the manifest must have it as a string")


def _changed_at(node: LynqNode) -> int:
    """Return the time of the node in nanoseconds: the hub's last write, or else its creation."""
    stamp = node.metadata.annotations.get(ANNOTATION_ROLLOUT_UPDATE_START, "")
    return unix_nanoseconds(parse_rfc3339(stamp) or node.metadata.creation_timestamp or EPOCH)


def _refused(node: LynqNode) -> Mapping[str, str]:
    text = node.metadata.annotations.get(ANNOTATION_REFUSED_RESOURCES, "{}")
    try:
        return msgspec.json.decode(depth_checked(text), type=dict[str, str])
    except msgspec.DecodeError:
        # Edited by hand; the hub restores it.
        return {}


def _manifest(resource: TResource, *, with_body: bool) -> dict[str, Any]:
    """Return the manifest without the fields that the resource overrides: they are not rendered."""
    manifest = resource.spec
    if not with_body:
        manifest = {key: manifest[key] for key in _OUTLINE if key in manifest}
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return manifest
    overridden = {"namespace", "name"} if resource.name_template else {"namespace"}
    rendered = {key: value for key, value in metadata.items() if key not in overridden}
    return {**manifest, "metadata": without_server_fields(rendered)}


def _merge_labels_and_annotations(resource: TResource, metadata: dict[str, Any]) -> None:
    labels = _mapping(resource.id, metadata, "labels", parent="metadata.")
    annotations = _mapping(resource.id, metadata, "annotations", parent="metadata.")
    metadata["labels"] = merged_labels(labels, resource.labels_template)
    metadata["annotations"] = merged_annotations(annotations, resource.annotations_template)


def _mapping(
    resource_id: str, obj: Mapping[str, Any], key: str, parent: str = ""
) -> dict[str, Any]:
    value = obj.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RenderError(resource_id, f"{parent}{key}", "must be an object")
    return value
