"""Builds Python syntax trees: the few shapes that generated code consists of, and its scopes.

A line number in generated code is the index of a position in the template, not a source line. So
Python's traceback locates a failure in the template, at no cost while it runs.
"""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypedDict

from lynq.template import tree
from lynq.template.analysis import Survey
from lynq.template.functions.signature import Needs


class _Location(TypedDict):
    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


NOWHERE: Final[_Location] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
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


def call(function: str, *arguments: ast.expr, position: int = 0) -> ast.expr:
    """Call a function by name."""
    return ast.Call(name(function), list(arguments), [], **_at(position))


def subscript(value: ast.expr, key: str, *, position: int) -> ast.expr:
    """Take a key of a mapping."""
    return ast.Subscript(value, constant(key), _LOAD, **_at(position))


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
        args=[ast.arg(parameter, **NOWHERE) for parameter in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.FunctionDef(identifier, arguments, body or [ast.Pass(**NOWHERE)], [], **NOWHERE)


def _at(position: int) -> _Location:
    if not position:
        return NOWHERE
    return {"lineno": position, "col_offset": 0, "end_lineno": position, "end_col_offset": 0}


# So few calls cannot take long: a template with more, or with loops, is metered call by call.
_FEW_CALLS = 8


@dataclass(frozen=True, slots=True)
class Position:
    """Where generated code stands for something: a node, and the function that is called there."""

    template: str
    node: tree.Node
    function: str | None = None
    command: tree.Node | None = None
    """Where Go is once a method fails, rather than the call of it."""
    arguments: tuple[tree.Node, ...] = ()
    """Where Go is once it has evaluated each argument of a method."""


@dataclass(slots=True)
class Program:
    """The code of one template while it is being written."""

    survey: Survey
    defined: Mapping[str, str]
    """The Python names of the templates that the source defines."""
    names: dict[str, object]
    """The generated code's globals."""
    positions: list[Position] = field(default_factory=list)
    needs: Needs = Needs.NOTHING
    wants_root: bool = False
    """Whether the root of the data is used as a value, not only by its fields."""
    _names_by_id: dict[int, str] = field(default_factory=dict)
    wants_budget: bool = False
    """Whether a render needs a context of its own, because it spends something of it."""

    @property
    def metered(self) -> bool:
        """Whether each call is charged for what it makes."""
        return self.survey.repeats or self.survey.calls > _FEW_CALLS

    @property
    def prints_much(self) -> bool:
        """Whether each value that is printed is charged, too."""
        return self.survey.repeats or self.survey.actions > _FEW_CALLS

    @property
    def marks(self) -> bool:
        """Whether values of `int`, `float` or `bool` can occur."""
        return not self.survey.functions.isdisjoint({"int", "float", "bool"})

    def put(self, prefix: str, value: object) -> str:
        """Give a name to an object that generated code uses."""
        global_name = self._names_by_id.get(id(value))
        if global_name is None:
            global_name = self._names_by_id[id(value)] = f"{prefix}_{len(self.names)}"
            self.names[global_name] = value
        return global_name

    def position(self, template: str, node: tree.Node, function: str | None = None) -> int:
        """Give the line number that stands for a node and the function called there."""
        return self.add_position(Position(template, node, function))

    def add_position(self, position: Position) -> int:
        """Give the line number that stands for a position."""
        self.positions.append(position)
        return len(self.positions)


@dataclass(frozen=True, slots=True)
class Expr:
    """Code that gives a value, and what is known of the value before it runs."""

    code: ast.expr
    type: str | None = None
    """The Go type, where it is known."""
    boxed: bool = False
    """Whether Go holds the value in an interface here; its errors differ."""
    literal: bool = False
    root: bool = False
    """Whether it is the root of the data: then its fields are plain subscripts."""


@dataclass(frozen=True, slots=True)
class CallArgs:
    """What a command is given: its arguments, and the value piped into it."""

    nodes: tuple[tree.Node, ...] = ()
    final: Expr | None = None

    def __bool__(self) -> bool:
        """Tell whether it is given anything at all."""
        return bool(self.nodes) or self.final is not None


@dataclass(slots=True)
class Unit:
    """The function that renders the root, or a defined template."""

    program: Program
    template: str
    at: tree.Node
    dot: Expr
    variables: list[tuple[str, Expr]] = field(default_factory=list)
    loops: int = 0
    _fresh_names: int = 0

    def position(self, function: str | None = None) -> int:
        """Give the number of the position where Go would say that it is."""
        return self.program.position(self.template, self.at, function)

    def fresh(self, prefix: str) -> str:
        """Give a Python name that is used nowhere else in the function."""
        self._fresh_names += 1
        return f"{prefix}{self._fresh_names}"

    def declare(self, variable: str, expr: Expr) -> str:
        """Declare a template variable: each declaration is a Python variable of its own."""
        python = self.fresh("v")
        kept = replace(expr, code=name(python), literal=False)
        if variable in self.program.survey.assigned:
            kept = Expr(name(python))
        self.variables.append((variable, kept))
        return python

    def lookup(self, variable: str) -> Expr | None:
        """Find what a template variable stands for here; one that is only assigned is none."""
        matches = (expr for declared, expr in reversed(self.variables) if declared == variable)
        return next(matches, None)

    @contextmanager
    def block(self, dot: Expr | None = None) -> Iterator[None]:
        """Open a scope, with a cursor of its own if need be."""
        visible, around = len(self.variables), self.dot
        self.dot = dot or around
        yield
        del self.variables[visible:]
        self.dot = around
