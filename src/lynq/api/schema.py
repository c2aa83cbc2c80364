"""Generates the structural OpenAPI schema of a CRD from a struct.

Structural means: every level has a type, without references and nullable fields. The schema is
built from msgspec's type information, so the API server and `msgspec.json.decode` apply the same
limits. Descriptions are the string literals under the fields. Python keeps no docstrings of
attributes (and none at all under -OO), so they are parsed from the source of the class.
"""

import ast
import re
from enum import Enum
from functools import cache, singledispatch
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import Any, Final, cast

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from lynq.api.wire import Wire

_BLANK_LINES: Final = re.compile(r"\n\s*\n")


@cache
def attribute_docs(cls: type) -> dict[str, str]:
    """Return the description of each attribute of a class, including inherited ones."""
    docs: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        if ancestor.__module__.startswith("lynq."):
            docs.update(_own_attribute_docs(ancestor))
    return docs


def class_doc(cls: type) -> str:
    """Return the description of a class."""
    return unwrap(ast.get_docstring(_definition(cls)) or "")


def unwrap(text: str) -> str:
    """Join the lines of each paragraph: kubectl wraps them to the width of the terminal."""
    paragraphs = _BLANK_LINES.split(cleandoc(text))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _own_attribute_docs(cls: type) -> dict[str, str]:
    return {
        name: unwrap(text)
        for statement, successor in pairwise(_definition(cls).body)
        if (name := _assigned_name(statement)) and (text := _literal_string(successor))
    }


@cache
def _definition(cls: type) -> ast.ClassDef:
    (definition,) = ast.parse(dedent(getsource(cls))).body
    return cast("ast.ClassDef", definition)


def _assigned_name(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


def _literal_string(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return None


Schema = dict[str, Any]


def structural_schema(struct: type[Wire]) -> Schema:
    """Return the schema of a struct, with its docstring as description."""
    return {"description": class_doc(struct)} | _schema(inspect.type_info(struct))


@singledispatch
def _schema(of: inspect.Type) -> Schema:
    raise TypeError(f"no structural schema for {of}")


@_schema.register
def _with_markers(of: inspect.Metadata) -> Schema:
    return _schema(of.type) | (of.extra_json_schema or {})


@_schema.register
def _optional(of: inspect.UnionType) -> Schema:
    return _schema(_without_none(of))


@_schema.register
def _boolean(_: inspect.BoolType) -> Schema:
    return {"type": "boolean"}


@_schema.register
def _integer(of: inspect.IntType) -> Schema:
    return {"type": "integer"} | _present(minimum=of.ge, maximum=of.le)


@_schema.register
def _string(of: inspect.StrType) -> Schema:
    limits = _present(minLength=of.min_length, maxLength=of.max_length, pattern=of.pattern)
    return {"type": "string"} | limits


@_schema.register
def _choice(of: inspect.EnumType) -> Schema:
    return {"type": "string", "enum": [member.value for member in of.cls]}


@_schema.register
def _time(_: inspect.DateTimeType) -> Schema:
    return {"type": "string", "format": "date-time"}


@_schema.register
def _map(of: inspect.DictType) -> Schema:
    if isinstance(of.value_type, inspect.AnyType):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": _schema(of.value_type)}


@_schema.register
def _array(of: inspect.VarTupleType) -> Schema:
    items = _schema(of.item_type)
    if isinstance(of.item_type, inspect.StructType):
        items = {"description": class_doc(of.item_type.cls)} | items
    return {"type": "array", **_present(maxItems=of.max_length), "items": items}


@_schema.register
def _object(of: inspect.StructType) -> Schema:
    owner = cast("type[Wire]", of.cls)
    return {
        "type": "object",
        **_present(**{"x-kubernetes-map-type": owner.map_type}),
        **_present(required=[field.encode_name for field in of.fields if field.required]),
        "properties": {field.encode_name: _property(owner, field) for field in of.fields},
        **_present(**{"x-kubernetes-validations": [rule.as_schema() for rule in owner.cel_rules]}),
    }


def _property(owner: type[Wire], field: inspect.Field) -> Schema:
    schema = _schema(field.type)
    described = {"description": _description(owner, field)}
    return described | _default(field) | _list_key(owner, schema) | schema


def _description(owner: type[Wire], field: inspect.Field) -> str:
    description = attribute_docs(owner)[field.name]
    of = _without_none(field.type)
    return (
        f"{description}\n\n{_choices(of.cls)}" if isinstance(of, inspect.EnumType) else description
    )


def _choices(of: type[Enum]) -> str:
    return "\n".join(f"- {member.value}: {attribute_docs(of)[member.name]}" for member in of)


def _without_none(of: inspect.Type) -> inspect.Type:
    # `| None` means optional and not `nullable`: null values are not encoded.
    if not isinstance(of, inspect.UnionType):
        return of
    (only,) = (member for member in of.types if not isinstance(member, inspect.NoneType))
    return only


def _default(field: inspect.Field) -> Schema:
    """Return the CRD default of a field, unless it is empty."""
    if field.default is NODEFAULT or isinstance(field.default, Struct) or not field.default:
        return {}
    return {"default": msgspec.to_builtins(field.default)}


def _list_key(owner: type[Wire], schema: Schema) -> Schema:
    of_objects = schema["type"] == "array" and schema["items"]["type"] == "object"
    if not (of_objects and owner.lists_keyed_by):
        return {}
    return {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [owner.lists_keyed_by],
    }


def _present(**parts: object) -> Schema:
    return {name: part for name, part in parts.items() if part not in (None, [])}
