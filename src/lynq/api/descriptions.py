"""Descriptions: the string literal under a field, as text for `kubectl explain`.

Python keeps no docstrings of attributes (and under -OO none at all), so they are read from the
source of the class. Editors show the same strings, which is why they are not in a table.
"""

import ast
import inspect
import re
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import cast


@cache
def attribute_docs(cls: type) -> dict[str, str]:
    """Find the description of each attribute of a class, its bases included."""
    docs: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        if ancestor.__module__.startswith("lynq."):
            docs.update(_own_attribute_docs(ancestor))
    return docs


def class_doc(cls: type) -> str:
    """Find the description of a class itself."""
    return unwrap(ast.get_docstring(_definition(cls)) or "")


def unwrap(text: str) -> str:
    """Make each paragraph one line: how wide a line is, the reader's terminal decides."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _own_attribute_docs(cls: type) -> dict[str, str]:
    return {
        name: unwrap(text)
        for statement, successor in pairwise(_definition(cls).body)
        if (name := _assigned_name(statement)) and (text := _literal_string(successor))
    }


@cache
def _definition(cls: type) -> ast.ClassDef:
    (definition,) = ast.parse(dedent(inspect.getsource(cls))).body
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
