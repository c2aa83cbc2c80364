"""The generated schemas are structural, complete and documented."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from lynq.api.crds import build

CRDS = {crd["spec"]["names"]["kind"]: crd for crd in build()}


def schema_of(kind: str) -> dict[str, Any]:
    (version,) = CRDS[kind]["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def walk(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every level of a schema with its path, as in kubectl explain."""
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from walk(part, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from walk(schema[inner], f"{path}[]")


LEVELS = [level for kind in CRDS for level in walk(schema_of(kind), kind)]
FIELDS = [(path, schema) for path, schema in LEVELS if not path.endswith(("[]", ".metadata"))]


def test_every_level_is_structural() -> None:
    for path, schema in LEVELS:
        assert schema["type"] in {"object", "array", "string", "integer", "boolean"}, path
        assert not schema.keys() & {"$ref", "nullable", "anyOf", "oneOf", "title"}, path
        assert (schema["type"] == "array") == ("items" in schema), path


def test_every_integer_has_a_format() -> None:
    for path, schema in LEVELS:
        if schema["type"] == "integer":
            assert schema["format"] in {"int32", "int64"}, path


def test_every_field_has_a_description() -> None:
    for path, schema in FIELDS:
        first, *choices = schema["description"].split("\n\n- ")
        assert first[0].isupper(), path
        assert first.endswith("."), path
        assert bool(choices) == ("enum" in schema), path


def test_descriptions_name_the_default() -> None:
    for path, schema in FIELDS:
        summary = schema["description"].partition("\n")[0]
        default = schema.get("default")
        if default and default is not True:
            assert f"Defaults to {default}" in summary, path


def test_enum_descriptions_explain_each_value() -> None:
    for path, schema in FIELDS:
        for value in schema.get("enum", ()):
            assert f"\n- {value}: " in schema["description"], path


def test_defaults_satisfy_the_schema() -> None:
    for path, schema in LEVELS:
        match schema:
            case {"default": value, "enum": values}:
                assert value in values, path
            case {"default": value, "type": "integer"}:
                assert schema.get("minimum", value) <= value <= schema.get("maximum", value), path


def test_list_map_keys_are_required_or_defaulted() -> None:
    for path, schema in LEVELS:
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            items = schema["items"]
            assert key in items["required"] or "default" in items["properties"][key], path


def test_status_has_no_defaults() -> None:
    assert not [path for path, schema in FIELDS if ".status." in path and "default" in schema]


def test_node_status_is_atomic() -> None:
    # Otherwise managedFields list each field of each condition, at every status write.
    (status,) = (schema for path, schema in FIELDS if path == "LynqNode.status")
    assert status["x-kubernetes-map-type"] == "atomic"


@pytest.mark.parametrize("kind", CRDS)
def test_crds_fit_into_the_client_side_apply_annotation(kind: str) -> None:
    # kubectl apply stores a copy in an annotation, and annotations are limited to 256 KiB.
    assert len(msgspec.json.encode(CRDS[kind])) < 128 * 1024


LISTS = [
    "serviceAccounts",
    "deployments",
    "statefulSets",
    "daemonSets",
    "services",
    "ingresses",
    "configMaps",
    "secrets",
    "persistentVolumeClaims",
    "jobs",
    "cronJobs",
    "podDisruptionBudgets",
    "networkPolicies",
    "horizontalPodAutoscalers",
    "namespaces",
    "manifests",
]


@pytest.mark.parametrize("kind", ["LynqForm", "LynqNode"])
def test_resource_lists_share_one_schema_in_canonical_order(kind: str) -> None:
    properties = schema_of(kind)["properties"]["spec"]["properties"]
    lists = [
        name
        for name, part in properties.items()
        if "id" in part.get("items", {}).get("properties", {})
    ]
    assert lists == LISTS
    assert len({msgspec.json.encode(properties[name]["items"]) for name in lists}) == 1


def test_resource_ids_are_list_map_keys_of_forms_only() -> None:
    keys = {
        kind: schema_of(kind)["properties"]["spec"]["properties"]["jobs"].get(
            "x-kubernetes-list-map-keys"
        )
        for kind in ("LynqForm", "LynqNode")
    }
    assert keys == {"LynqForm": ["id"], "LynqNode": None}
