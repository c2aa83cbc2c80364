"""The API of LynqHub, LynqForm and LynqNode: every field of the CRDs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lynq.api.crds import build
from reference.markdown import anchor, block, code, page, table

Schema = dict[str, Any]


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and content of one page per kind."""
    for crd in build():
        kind = crd["spec"]["names"]["kind"]
        yield f"api-{kind.lower()}.md", _page(crd)


def _page(crd: Schema) -> str:
    names = crd["spec"]["names"]
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    columns = table(
        ("column", "value", "shown"),
        (
            (
                column["name"],
                code(column["jsonPath"]),
                "with `-o wide`" if "priority" in column else "always",
            )
            for column in version["additionalPrinterColumns"]
        ),
    )
    head = block(f"apiVersion: {crd['spec']['group']}/{version['name']}\nkind: {names['kind']}")
    short = ", ".join(code(name) for name in (names["plural"], *names["shortNames"]))
    return page(
        names["kind"],
        schema["description"],
        head,
        f"Names for kubectl: {short}. The kind is namespaced.",
        *_sections(schema),
        "## Columns of kubectl get",
        columns,
    )


def _sections(schema: Schema) -> Iterator[str]:
    for part in ("spec", "status"):
        yield f"## {part}"
        objects = dict(_objects(part, schema["properties"][part]))
        paths: dict[str, list[str]] = {}
        for path, found in objects.items():
            paths.setdefault(_identity(found), []).append(path)
        sections = {path: same[0] for same in paths.values() for path in same}
        for same in paths.values():
            yield from _section(same, objects[same[0]], sections, is_root=same[0] == part)


def _identity(schema: Schema) -> str:
    return json.dumps(schema | {"description": ""}, sort_keys=True)


def _section(
    paths: list[str], schema: Schema, sections: Mapping[str, str], *, is_root: bool
) -> Iterator[str]:
    if not is_root:
        yield f"### {paths[0]}"
    if len(paths) > 1:
        others = ", ".join(code(path) for path in paths[1:])
        yield f"The fields are the same in {others}."
    if text := schema.get("description", ""):
        yield text
    if rules := schema.get("x-kubernetes-validations"):
        yield "Rules:\n\n" + "\n".join(f"- {rule['message']}" for rule in rules)
    required = schema.get("required", [])
    yield table(
        ("field", "type", "description"),
        (
            (
                code(name) + ("\n**required**" if name in required else ""),
                _type(field, f"{paths[0]}.{name}", sections),
                _description(field),
            )
            for name, field in schema["properties"].items()
        ),
    )


def _objects(path: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield every object with fields, by its path."""
    if "properties" in schema:
        yield path, schema
        for name, field in schema["properties"].items():
            yield from _objects(f"{path}.{name}", field)
    elif schema["type"] == "array":
        yield from _objects(f"{path}[]", schema["items"])
    elif isinstance(values := schema.get("additionalProperties"), dict):
        yield from _objects(f"{path}.*", values)


def _type(schema: Schema, path: str, sections: Mapping[str, str]) -> str:
    limits = [
        f"{title} {code(str(schema[key]))}"
        for key, title in (
            ("minimum", "min"),
            ("maximum", "max"),
            ("minLength", "min length"),
            ("maxLength", "max length"),
            ("maxItems", "max items"),
            ("format", "format"),
            ("pattern", "pattern"),
        )
        if key in schema
    ]
    name = _type_name(schema)
    for of_object in (path, f"{path}[]", f"{path}.*"):
        if of_object in sections:
            name = f"[{name}](#{anchor(sections[of_object])})"
    return "\n".join([name, *limits])


def _type_name(schema: Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(code(choice) for choice in schema["enum"])
    if schema["type"] == "array":
        return f"list of {_type_name(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"map of {_type_name(values)}"
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return "any object"
    return str(schema["type"])


def _description(schema: Schema) -> str:
    text = str(schema.get("description", "")).replace("\n- ", "\n• ").replace("<", "&lt;")
    if "default" in schema and "Defaults to" not in text:
        text += f"\nDefault: {code(json.dumps(schema['default']).strip(chr(34)))}"
    return text
