"""Descriptions: the string literal under a field, as text for `kubectl explain`.

Python keeps no docstrings of attributes, so they are read from the source of the class. Editors
show the same strings, which is why they are not hidden in a decorator or a table.
"""

import ast
import inspect
import re
from functools import cache
from itertools import pairwise
from textwrap import dedent


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
    return unwrap(cls.__doc__ or "")


def unwrap(text: str) -> str:
    """Make each paragraph one line: how wide a line is, the reader's terminal decides."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _own_attribute_docs(cls: type) -> dict[str, str]:
    (definition,) = ast.parse(dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 - for the type checker
    return {
        name: unwrap(text)
        for statement, successor in pairwise(definition.body)
        if (name := _assigned_name(statement)) and (text := _literal_string(successor))
    }


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
