"""The executed lines that a change of a source concerns.

A changed function concerns the tests that execute a changed statement of it, and for an inserted
one, the statement before or after it or what encloses these. A new function or class concerns none:
its users have changed, too. Any other code, such as a constant, a field or a new method, takes
effect at import; it concerns the tests that execute a function of the module, or of a module that
imports it. Comments, docstrings and imports concern none.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import chain
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""The fields with the statements below a statement."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What differs between two versions of a module."""

    lines: frozenset[int]
    """Lines of functions in the old version."""
    at_import: bool
    """Whether code differs that runs when the module is imported."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A simple statement, or the part of a compound one that is before its blocks."""

    lines: range
    text: str
    enclosing: "tuple[_Statement, ...]"


@cache
def source_change(old: str, new: str) -> SourceChange:
    """Compare two versions of a module."""
    old_tree, new_tree = _parse(old), _parse(new)
    new_functions = dict(_functions(new_tree))
    lines: set[int] = set()
    for name, function in _functions(old_tree):
        other = new_functions.get(name)
        if other is None or _signature(function) != _signature(other):
            lines.update(range(function.lineno, _end(function) + 1))
        elif ast.dump(function) != ast.dump(other):
            lines.update(_changed_lines(function, other))
    before, after = _at_import(old_tree), _at_import(new_tree)
    return SourceChange(frozenset(lines), any(after.get(key) != before[key] for key in before))


def _parse(text: str) -> ast.Module:
    """Parse a module without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            # A string that stands alone also describes the field above it.
            node.body = [statement for statement in node.body if not _is_text(statement)]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _functions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield the functions and methods; functions inside them belong to them."""
    for node in tree.body:
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _signature(function: Function) -> list[str]:
    return [ast.dump(node) for node in (function.args, *function.decorator_list)]


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _changed_lines(function: Function, other: Function) -> Iterator[int]:
    before, after = list(_statements(function.body)), list(_statements(other.body))
    matcher = SequenceMatcher(None, _texts(before), _texts(after), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        concerned = before[start:end] if tag != "equal" else []
        if tag == "insert":
            neighbors = before[max(start - 1, 0) : start + 1]
            concerned = [each for near in neighbors for each in (near, *near.enclosing)]
        yield from chain.from_iterable(statement.lines for statement in concerned)


def _texts(statements: Sequence[_Statement]) -> list[tuple[str, int]]:
    return [(statement.text, len(statement.enclosing)) for statement in statements]


def _statements(
    nodes: Sequence[ast.AST], enclosing: tuple[_Statement, ...] = ()
) -> Iterator[_Statement]:
    """Yield the statements in their order, with those that enclose them."""
    for node in nodes:
        blocks = {name: getattr(node, name) for name in _BLOCKS if getattr(node, name, None)}
        inner = list(chain.from_iterable(blocks.values()))
        start = getattr(node, "lineno", 0) or inner[0].lineno
        end = inner[0].lineno - 1 if inner else getattr(node, "end_lineno", start)
        alone = type(node)(**{**vars(node), **{name: [] for name in blocks}})
        statement = _Statement(range(start, max(start, end) + 1), ast.dump(alone), enclosing)
        yield statement
        yield from _statements(inner, (*enclosing, statement))


def _at_import(tree: ast.Module) -> dict[str, str]:
    """Return the code that takes effect at import, by the class in which it stands."""
    return {name: "\n".join(code) for name, code in _import_code(tree, "")}


def _import_code(tree: ast.Module | ast.ClassDef, name: str) -> Iterator[tuple[str, list[str]]]:
    code = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _import_code(node, f"{name}.{node.name}")
        elif isinstance(node, Function):
            # A new method can replace that of a base class.
            code += [node.name] if isinstance(tree, ast.ClassDef) else []
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            code.append(ast.dump(node))
    if isinstance(tree, ast.ClassDef):
        code += [ast.dump(node) for node in (*tree.bases, *tree.keywords, *tree.decorator_list)]
    yield name, code
