"""Constants of a module or members of an enum, by the comment that heads their section."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from inspect import getsource
from itertools import groupby, pairwise
from textwrap import dedent
from types import ModuleType
from typing import cast

from lynq.api.schema import unwrap


@dataclass(frozen=True, slots=True)
class Declaration:
    """A constant with its meaning."""

    section: str
    name: str
    value: str
    meaning: str


def members(enum: type[StrEnum]) -> list[Declaration]:
    """Return the members of an enum."""
    source = dedent(getsource(enum))
    body = cast("ast.ClassDef", ast.parse(source).body[0]).body
    found = list(_declarations(source, body, enum))
    missing = {member.name for member in enum} - {member.name for member in found}
    if missing:
        raise ValueError(f"members of {enum.__name__} without a meaning: {sorted(missing)}")
    return found


def constants(module: ModuleType) -> list[Declaration]:
    """Return the constants of a module."""
    source = getsource(module)
    return list(_declarations(source, ast.parse(source).body, module))


def by_section(declarations: list[Declaration]) -> dict[str, list[Declaration]]:
    """Return the declarations of each section."""
    grouped = groupby(declarations, key=lambda declaration: declaration.section)
    return {section: list(group) for section, group in grouped}


def _declarations(
    source: str, body: list[ast.stmt], owner: ModuleType | type[StrEnum]
) -> Iterator[Declaration]:
    lines = source.splitlines()
    section, start = "", 0
    for statement, successor in pairwise(body):
        match statement, successor:
            case (
                (ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)])),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                comments = [line.strip() for line in lines[start : statement.lineno - 1]]
                headings = [line for line in comments if line.startswith("# ")]
                section = headings[-1].removeprefix("# ").rstrip(".") if headings else section
                start = statement.lineno
                yield Declaration(section, name, str(getattr(owner, name)), unwrap(text))
