"""Hypothesis strategies for documents of a schema, and the defaulting of the API server."""

import re
from datetime import UTC
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
Document = dict[str, Any]
Json = Any

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
_BODIES = st.dictionaries(
    _TEXT, st.recursive(_TEXT | st.integers() | st.booleans() | st.none(), st.lists), max_size=3
)


def documents(schema: Schema) -> st.SearchStrategy[Any]:
    """Return documents that the API server accepts for a schema without CEL rules."""
    match schema:
        case {"x-kubernetes-preserve-unknown-fields": True}:
            return _BODIES
        case {"type": "object", "properties": properties}:
            return _objects(properties, schema.get("required", []))
        case {"type": "object", "additionalProperties": values}:
            return st.dictionaries(_TEXT, documents(values), max_size=2)
        case {"type": "array", "items": items}:
            return st.lists(documents(items), max_size=1)
    return _scalars(schema)


def _scalars(schema: Schema) -> st.SearchStrategy[str | int | bool]:
    match schema:
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "string"}:
            return _strings(schema)
        case {"type": "integer"}:
            return st.integers(schema.get("minimum", 0), schema.get("maximum", 2**31 - 1))
        case {"type": "boolean"}:
            return st.booleans()
    raise AssertionError(f"what is {schema}?")


def _objects(properties: dict[str, Schema], required: list[str]) -> st.SearchStrategy[Document]:
    parts = {name: documents(schema) for name, schema in properties.items()}
    return st.fixed_dictionaries(
        {name: parts[name] for name in required},
        optional={name: part for name, part in parts.items() if name not in required},
    )


def _strings(schema: Schema) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.datetimes(timezones=st.just(UTC)).map(lambda time: time.isoformat())
    if pattern := schema.get("pattern"):
        # Python's $ also matches before a closing line feed; the API server's does not.
        longest = schema.get("maxLength", 1024)
        return st.from_regex(re.compile(pattern)).filter(
            lambda text: text == text.strip()[:longest]
        )
    return _TEXT.filter(lambda text: len(text) >= schema.get("minLength", 0))


def defaulted(document: Json, schema: Schema) -> Json:
    """Apply the defaults at every level, as the API server does."""
    match document, schema:
        case dict(), {"properties": properties}:
            defaults = {
                name: part["default"] for name, part in properties.items() if "default" in part
            }
            return {
                name: defaulted(value, properties.get(name, {}))
                for name, value in (defaults | document).items()
            }
        case list(), {"items": items}:
            return [defaulted(item, items) for item in document]
    return document
