"""Finds the patterns of the source tree, and the methods that the code calls on each."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lynq

SOURCE = Path(lynq.__file__).parent
METHODS = ("search", "sub", "subn", "split", "findall", "finditer", "match", "fullmatch")


@dataclass(frozen=True, slots=True)
class Place:
    """A pattern of a module."""

    module: str
    name: str
    pattern: Any
    methods: tuple[str, ...]
    """The methods that are called on it; empty if only other functions get it."""

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of each module by its dotted name."""
    return {_dotted(path): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def places() -> list[Place]:
    """Return all patterns of all modules."""
    methods = _methods()
    return [
        Place(module, name, pattern, tuple(sorted(methods[module, name.partition("[")[0]])))
        for module, tree in modules().items()
        if any(_compilations(tree))
        for name, pattern in _patterns_of(vars(importlib.import_module(module)), tree)
    ]


def unnamed(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the uses of `re` and `re2` outside of an assignment at the top of a module."""
    named = {
        call
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for call in ast.walk(statement)
    }
    yield from (call for call in _compilations(tree) if call not in named)


def _compilations(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            home, name = ast.unparse(node.func.value), node.func.attr
            if home in {"re", "re2"} and name in {"compile", *METHODS}:
                yield node


def _patterns_of(values: Mapping[str, Any], tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Yield the patterns that a module assigns, also those inside of tuples and dicts."""
    for statement in tree.body:
        target = None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        if isinstance(target, ast.Name) and any(_compilations(ast.Module([statement], []))):
            for number, pattern in enumerate(_flat(values[target.id])):
                yield f"{target.id}[{number}]" if number else target.id, pattern


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, re.Pattern) or hasattr(value, "programsize"):
        yield value
    elif isinstance(value, Mapping):
        yield from _flat(tuple(value.values()))
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            yield from _flat(item)


def _methods() -> dict[tuple[str, str], set[str]]:
    """Return the methods that are called on each global, also where it is imported."""
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, tree in modules().items():
        nodes = list(ast.walk(tree))
        homes = {
            alias.name: node.module or ""
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = ast.unparse(node.value).partition("[")[0]
                methods[homes.get(name, module), name].add(node.attr)
    return methods
