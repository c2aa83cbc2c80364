"""JSON schemas of the three kinds, for editors: completion, descriptions and errors while typing.

They are the schemas of the CRDs without the keywords of Kubernetes. Unknown fields are errors, as
they are for kubectl.
"""

from typing import Any, Final

from lynq.api.crds import CustomKind, definition
from lynq.api.names import API_VERSION
from lynq.api.schema import Schema

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_KUBERNETES: Final = "x-kubernetes-"
_FORMATS: Final = frozenset({"int32", "int64"})
_METADATA: Final[Schema] = {
    "type": "object",
    "description": "Standard metadata of Kubernetes.",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "Name of the object."},
        "namespace": {"type": "string", "description": "Namespace of the object."},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def editor_schema(kind: CustomKind) -> Schema:
    """Return the JSON schema of one kind."""
    names = definition(kind)["spec"]["names"]
    root = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema = _converted(root)
    identity = {
        "apiVersion": {**root["properties"]["apiVersion"], "const": API_VERSION},
        "kind": {**root["properties"]["kind"], "const": names["kind"]},
        "metadata": _METADATA,
    }
    return {
        "$schema": DRAFT,
        "title": names["kind"],
        **schema,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {**schema["properties"], **identity},
    }


def _converted(schema: Schema) -> Schema:
    converted: dict[str, Any] = {
        name: value
        for name, value in schema.items()
        if not name.startswith(_KUBERNETES) and not (name == "format" and value in _FORMATS)
    }
    if "properties" in schema:
        properties = schema["properties"].items()
        converted["properties"] = {name: _converted(value) for name, value in properties}
        converted.setdefault("additionalProperties", False)
    if "items" in schema:
        converted["items"] = _converted(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        converted["additionalProperties"] = _converted(schema["additionalProperties"])
    return converted
