"""Builds Python syntax trees: the few shapes that generated code is made of.

A line number in generated code is not a line of any source. It is the number of a place in the
template, so that Python's own traceback says where a template failed, at no cost while it runs.
"""

import ast
from typing import Final, TypedDict


class _Place(TypedDict):
    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


NOWHERE: Final[_Place] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
"""Where nothing can fail."""
_LOAD: Final = ast.Load()
_STORE: Final = ast.Store()


def name(identifier: str) -> ast.expr:
    """Read a name."""
    return ast.Name(identifier, _LOAD, **NOWHERE)


def identifier(expression: ast.expr) -> str:
    """Give the name that an expression reads."""
    return expression.id if isinstance(expression, ast.Name) else ""


def constant(value: str | float | bool | None) -> ast.expr:  # noqa: FBT001 - any constant
    """Give a constant: the only way by which anything of a template enters the code."""
    return ast.Constant(value, **NOWHERE)


def call(function: str, *arguments: ast.expr, place: int = 0) -> ast.expr:
    """Call a function by name."""
    return ast.Call(name(function), list(arguments), [], **_at(place))


def subscript(value: ast.expr, key: str, *, place: int) -> ast.expr:
    """Take a key of a mapping."""
    return ast.Subscript(value, constant(key), _LOAD, **_at(place))


def keep(identifier: str, value: ast.expr) -> ast.expr:
    """Give a value, and keep it under a name: `(name := value)`."""
    return ast.NamedExpr(target(identifier), value, **NOWHERE)


def after(first: ast.expr, result: ast.expr) -> ast.expr:
    """Evaluate one thing, then give the other: `(first, result)[1]`."""
    return ast.Subscript(pair(first, result), constant(1), _LOAD, **NOWHERE)


def pair(*values: ast.expr) -> ast.expr:
    """Make a tuple."""
    return ast.Tuple(list(values), _LOAD, **NOWHERE)


def choose(test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """Evaluate one of two: `yes if test else no`."""
    return ast.IfExp(test, yes, no, **NOWHERE)


def negate(value: ast.expr) -> ast.expr:
    """Give Python's `not`, whose truth is Go's."""
    return ast.UnaryOp(ast.Not(), value, **NOWHERE)


def first_true(*values: ast.expr) -> ast.expr:
    """Give the first true value, or the last: Python's `or`."""
    return ast.BoolOp(ast.Or(), list(values), **NOWHERE) if len(values) > 1 else values[0]


def first_false(*values: ast.expr) -> ast.expr:
    """Give the first false value, or the last: Python's `and`."""
    return ast.BoolOp(ast.And(), list(values), **NOWHERE) if len(values) > 1 else values[0]


def equal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Compare by `==`."""
    return ast.Compare(left, [ast.Eq()], [right], **NOWHERE)


def unequal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Compare by `!=`."""
    return ast.Compare(left, [ast.NotEq()], [right], **NOWHERE)


def is_class(value: ast.expr, class_name: str) -> ast.expr:
    """Test for exactly one Python class: `type(value) is class_name`."""
    return ast.Compare(call("type", value), [ast.Is()], [name(class_name)], **NOWHERE)


def target(identifier: str) -> ast.Name:
    """Write a name."""
    return ast.Name(identifier, _STORE, **NOWHERE)


def assign(identifier: str, value: ast.expr) -> ast.stmt:
    """Assign to a name."""
    return ast.Assign([target(identifier)], value, **NOWHERE)


def run(value: ast.expr) -> ast.stmt:
    """Evaluate for what it does."""
    return ast.Expr(value, **NOWHERE)


def give(value: ast.expr) -> ast.stmt:
    """Return a value."""
    return ast.Return(value, **NOWHERE)


def branch(test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> ast.stmt:
    """Do one of two things."""
    return ast.If(test, yes or [ast.Pass(**NOWHERE)], no, **NOWHERE)


def loop(index: str, element: str, items: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    """Go through pairs."""
    both = ast.Tuple([target(index), target(element)], _STORE, **NOWHERE)
    return ast.For(both, items, body, [], **NOWHERE)


def define(identifier: str, parameters: tuple[str, ...], body: list[ast.stmt]) -> ast.stmt:
    """Define a function."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(each, **NOWHERE) for each in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.FunctionDef(identifier, arguments, body or [ast.Pass(**NOWHERE)], [], **NOWHERE)


def _at(place: int) -> _Place:
    if not place:
        return NOWHERE
    return {"lineno": place, "col_offset": 0, "end_lineno": place, "end_col_offset": 0}
