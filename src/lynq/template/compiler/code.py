"""Builds Python syntax trees: the few shapes that generated code is made of.

A line number in generated code is not a line of any source. It is the number of a place in the
template, so that Python's own traceback says where a template failed, at no cost while it runs.
"""

import ast


def name(identifier: str) -> ast.expr:
    """Read a name."""
    return ast.Name(identifier, ast.Load())


def identifier(expression: ast.expr) -> str:
    """Give the name that an expression reads."""
    return expression.id if isinstance(expression, ast.Name) else ""


def constant(value: str | float | bool | None) -> ast.expr:  # noqa: FBT001 - any constant
    """Give a constant: the only way by which anything of a template enters the code."""
    return ast.Constant(value)


def call(function: str, *arguments: ast.expr, place: int = 0) -> ast.expr:
    """Call a function by name."""
    return _at(ast.Call(name(function), list(arguments), []), place)


def subscript(value: ast.expr, key: str, *, place: int) -> ast.expr:
    """Take a key of a mapping."""
    return _at(ast.Subscript(value, ast.Constant(key), ast.Load()), place)


def keep(identifier: str, value: ast.expr) -> ast.expr:
    """Give a value, and keep it under a name: `(name := value)`."""
    return ast.NamedExpr(ast.Name(identifier, ast.Store()), value)


def after(first: ast.expr, result: ast.expr) -> ast.expr:
    """Evaluate one thing, then give the other: `(first, result)[1]`."""
    return ast.Subscript(pair(first, result), ast.Constant(1), ast.Load())


def pair(*values: ast.expr) -> ast.expr:
    """Make a tuple."""
    return ast.Tuple(list(values), ast.Load())


def choose(test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """Evaluate one of two: `yes if test else no`."""
    return ast.IfExp(test, yes, no)


def negate(value: ast.expr) -> ast.expr:
    """Give Python's `not`, whose truth is Go's."""
    return ast.UnaryOp(ast.Not(), value)


def first_true(*values: ast.expr) -> ast.expr:
    """Give the first true value, or the last: Python's `or`."""
    return ast.BoolOp(ast.Or(), list(values)) if len(values) > 1 else values[0]


def first_false(*values: ast.expr) -> ast.expr:
    """Give the first false value, or the last: Python's `and`."""
    return ast.BoolOp(ast.And(), list(values)) if len(values) > 1 else values[0]


def equal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Compare by `==`."""
    return ast.Compare(left, [ast.Eq()], [right])


def unequal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Compare by `!=`."""
    return ast.Compare(left, [ast.NotEq()], [right])


def is_class(value: ast.expr, class_name: str) -> ast.expr:
    """Test for exactly one Python class: `type(value) is class_name`."""
    return ast.Compare(call("type", value), [ast.Is()], [name(class_name)])


def assign(identifiers: tuple[str, ...], value: ast.expr) -> ast.stmt:
    """Assign to a name, or take a pair apart into names."""
    targets: list[ast.expr] = [ast.Name(each, ast.Store()) for each in identifiers]
    target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
    return ast.Assign([target], value)


def define(identifier: str, parameters: tuple[str, ...], body: list[ast.stmt]) -> ast.stmt:
    """Define a function."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(each) for each in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.FunctionDef(identifier, arguments, body or [ast.Pass()], [])


def _at(expression: ast.expr, place: int) -> ast.expr:
    if place:
        expression.lineno = expression.end_lineno = place
        expression.col_offset = expression.end_col_offset = 0
    return expression
