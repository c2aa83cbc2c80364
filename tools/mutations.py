# ruff: noqa: INP001 - imported by mutants.py, which is a script
"""Small wrong changes of a function: the mutation operators of `make mutants`.

An operator replaces one node of a syntax tree by another one of a type that Python accepts there.
Each mutant differs from the source in one place. Messages are not mutated: texts of strings, lines
of the log, and the arguments of exceptions.

| operator | example |
|---|---|
| comparison | `a == b` → `a != b`, `a < b` → `a <= b`, `a in b` → `a not in b` |
| condition | `if a` → `if not a`; the condition of a comprehension is dropped |
| logic | `a and b` → `a or b`, `not a` → `a`; an operand is dropped |
| arithmetic | `a + b` → `a - b`, `a | b` → `a & b`, `a - b` → `a` |
| constant | `True` → `False`, `1` → `2` |
| call | `any` → `all`, `min` → `max`; a call whose result is unused is dropped |
| result | `return a` → `return None` |
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Key = tuple[str, str]
"""A unit and a change: what identifies a mutant across edits of other lines."""


@dataclass(frozen=True)
class Unit:
    """A function or method of a module: what is mutated and replaced as a whole."""

    module: str
    qualname: str
    function: Function

    def __str__(self) -> str:
        """Return the module and the qualified name."""
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True)
class Mutant:
    """A unit with one change."""

    unit: Unit
    line: int
    change: str
    """The smallest expression or statement that contains the change, before and after."""
    function: Function
    """The mutated function."""

    @property
    def key(self) -> Key:
        """The key of the mutant."""
        return str(self.unit), self.change


def units_of(module: str, tree: ast.Module) -> list[Unit]:
    """Return the functions of a module and the methods of its classes."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    places: list[tuple[str, ast.Module | ast.ClassDef]] = [
        ("", tree),
        *((f"{node.name}.", node) for node in classes),
    ]
    return [
        Unit(module, f"{prefix}{node.name}", node)
        for prefix, place in places
        for node in place.body
        if isinstance(node, Function)
    ]


def mutants_of(unit: Unit) -> Iterator[Mutant]:
    """Yield every mutant of a unit; equal changes of several places are numbered."""
    places: Counter[str] = Counter()
    for index, node in enumerate(_mutable_nodes(unit.function)):
        for replacement in _replacements(node):
            function = copy.deepcopy(unit.function)
            target = _mutable_nodes(function)[index]
            _replace(function, target, replacement)
            change = f"{_text(node)} -> {_text(replacement)}"
            places[change] += 1
            if places[change] > 1:
                change += f" ({places[change]})"
            yield Mutant(unit, getattr(node, "lineno", unit.function.lineno), change, function)


def _mutable_nodes(function: Function) -> list[ast.AST]:
    """Return the nodes of the body in a fixed order, without docstring, annotations and raises."""
    body: Iterable[ast.stmt] = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = function.body[1:]
    return [node for statement in body for node in _walk(statement)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise | ast.JoinedStr) or _is_logged(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_logged(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("_log")))):
            return True
        case _:
            return False


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    yield from _operator_changes(node)
    yield from _condition_changes(node)
    yield from _value_changes(node)


def _operator_changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=operators):
            for index, operator in enumerate(operators):
                changed = _COMPARISONS[type(operator)]()
                yield _with(node, ops=[*operators[:index], changed, *operators[index + 1 :]])
        case ast.BoolOp(op=operator, values=values):
            yield _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
            for index in range(len(values)):
                rest = [value for place, value in enumerate(values) if place != index]
                yield rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            yield _with(node, op=_ARITHMETIC[type(operator)]())
            if isinstance(operator, ast.Sub):
                yield node.left


def _condition_changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp) and not _is_negation(test):
                yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *_] as conditions):
            for index in range(len(conditions)):
                yield _with(node, ifs=conditions[:index] + conditions[index + 1 :])
        case ast.match_case(guard=ast.expr() as guard):
            yield _with(node, guard=ast.UnaryOp(ast.Not(), guard))


def _value_changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            yield _with(node, func=ast.Name(_CALLS[name], ast.Load()))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value):
            if not (isinstance(value, ast.Constant) and value.value in (None, False)):
                yield _with(node, value=ast.Constant(None))


def _is_negation(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _replace(root: ast.AST, target: ast.AST, replacement: ast.AST) -> None:
    """Replace one node below a root."""
    for parent in ast.walk(root):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, ast.copy_location(replacement, target))
            elif isinstance(value, list):
                for index, child in enumerate(value):
                    if child is target:
                        value[index] = ast.copy_location(replacement, target)


def _text(node: ast.AST) -> str:
    """Return the source of a node; of a statement with a body only its head."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return f"if {ast.unparse(test)}"
        case ast.match_case(guard=ast.expr() as guard):
            return f"case if {ast.unparse(guard)}"
        case ast.comprehension():
            return ast.unparse(node).strip()
        case _:
            return " ".join(ast.unparse(node).split())
