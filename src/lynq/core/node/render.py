"""Render one resource of a node: from its entry in the spec to the object that is wanted.

Each template text is rendered exactly once. nameTemplate, labelsTemplate and annotationsTemplate
of a node hold what the hub made of them, values of the row among it, and are taken as they are.
The manifest and targetNamespace are still templates, and become text here.

Check the names that came out of templates, before they become part of a path.

The API server judges names by their kind and says what it wants. What is refused here could not
even be asked: a `/` would lead to another object.

Why a resource could not be rendered: resource, field, line and variable named.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lynq.api import LynqNode, TResource
from lynq.api.names import ANNOTATION_ROLLOUT_UPDATE_START
from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, is_subdomain
from lynq.api.text import printable
from lynq.api.wire import parse_rfc3339
from lynq.core.node.objects import ObjectRef
from lynq.core.node.ownership import merged_annotations, merged_labels, without_server_fields
from lynq.template import Environment, ErrorKind, SeededRandom, TemplateError, render, render_object

_FIELD: Final = re.compile(r"(?<![\w)\]])\$?\.(\w+)")


class RenderError(Exception):
    """One resource cannot be rendered; the others go on."""

    def __init__(
        self, resource: str, field: str, problem: str, *, line: int = 0, variable: str = ""
    ) -> None:
        self.resource = resource
        """The id of the entry."""
        self.field = field
        """Where in the entry or its manifest."""
        self.line = line
        """Counted from 1 within the template; 0 if it is not about a line."""
        self.variable = variable
        """The variable to look at; "" if none is known."""
        place = f"{field}, line {line}" if line else field
        super().__init__(f'"{resource}" could not be rendered: {place}: {problem}')


def template_failed(resource: str, error: TemplateError, field: str, kind: str) -> RenderError:
    """Tell of a template that failed.

    What a function says can quote its argument. In a Secret that is what nobody may read, so only
    the place is told there. A template that does not parse quotes the form and no row.
    """
    missing = error.missing_key
    variable = _variable(error) if missing is None else missing
    if missing is not None:
        problem = (
            f'there is no variable "{printable(variable)}"; '
            "map it in the hub's extraValueMappings, or correct the template"
        )
    elif kind == "Secret" and error.kind is not ErrorKind.PARSE:
        problem = _place_only(error)
    else:
        problem = f"{error.message}{f' (at {error.action})' if error.action else ''}"
    return RenderError(resource, field, problem, line=error.line, variable=variable)


def _variable(error: TemplateError) -> str:
    found = _FIELD.search(error.action or "")
    return found[1] if found else ""


def _place_only(error: TemplateError) -> str:
    at = f" at {error.action}" if error.action else ""
    return f"the template failed{at}; details of a Secret are not shown"


def check_name(this: str, name: object) -> str:
    """Return the object's name; raises RenderError if no path can hold it."""
    if not isinstance(name, str) or not name:
        raise RenderError(
            this, "nameTemplate", "the object has no name; give nameTemplate or metadata.name"
        )
    if len(name) > NAME_LIMIT:
        wrong = f"has {len(name)} characters, {NAME_LIMIT} at most are possible; use trunc63"
    elif name in {".", ".."} or any(char in "/%" or char.isspace() for char in name):
        wrong = "cannot be a name"
    elif not name.isprintable():
        wrong = "holds characters that cannot be printed"
    else:
        return name
    raise RenderError(this, "nameTemplate", f'"{printable(name)}" {wrong}')


def check_namespace(this: str, namespace: str) -> str:
    """Return the namespace; raises RenderError if none can have this name."""
    if len(namespace) <= LABEL_LIMIT and "." not in namespace and is_subdomain(namespace):
        return namespace
    raise RenderError(
        this,
        "targetNamespace",
        f'"{printable(namespace)}" cannot be a namespace: at most {LABEL_LIMIT} characters of '
        "a–z, 0–9 and -, not - at either end",
    )


def text_at(this: str, obj: Mapping[str, Any], key: str) -> str:
    """Return a text that every manifest must have."""
    value = obj.get(key)
    if isinstance(value, str) and value:
        return value
    raise RenderError(this, key, "the manifest needs it, as a text")


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
        chance = SeededRandom(node.metadata.uid.encode())
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
