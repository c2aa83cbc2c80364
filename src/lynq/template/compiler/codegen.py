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
"""The location of code that cannot fail."""
_LOAD: Final = ast.Load()
_STORE: Final = ast.Store()


def name(identifier: str) -> ast.expr:
    """Build the read of a name."""
    return ast.Name(identifier, _LOAD, **NOWHERE)


def identifier(expression: ast.expr) -> str:
    """Return the name that an expression reads."""
    return expression.id if isinstance(expression, ast.Name) else ""


def constant(value: str | float | bool | None) -> ast.expr:  # noqa: FBT001 - any constant
    """Build a constant, the only form in which template text enters the code."""
    return ast.Constant(value, **NOWHERE)


def call(function: str, *arguments: ast.expr, position: int = 0) -> ast.expr:
    """Build the call of a function by name."""
    return ast.Call(name(function), list(arguments), [], **_at(position))


def subscript(value: ast.expr, key: str, *, position: int) -> ast.expr:
    """Build `value[key]`."""
    return ast.Subscript(value, constant(key), _LOAD, **_at(position))


def bind(identifier: str, value: ast.expr) -> ast.expr:
    """Build `(name := value)`."""
    return ast.NamedExpr(target(identifier), value, **NOWHERE)


def after(first: ast.expr, result: ast.expr) -> ast.expr:
    """Build `(first, result)[1]`: evaluate both, return the second."""
    return ast.Subscript(tuple_(first, result), constant(1), _LOAD, **NOWHERE)


def tuple_(*values: ast.expr) -> ast.expr:
    """Build a tuple."""
    return ast.Tuple(list(values), _LOAD, **NOWHERE)


def conditional(test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """Build `yes if test else no`."""
    return ast.IfExp(test, yes, no, **NOWHERE)


def negate(value: ast.expr) -> ast.expr:
    """Build `not value`; Python's truth of these values is Go's."""
    return ast.UnaryOp(ast.Not(), value, **NOWHERE)


def first_true(*values: ast.expr) -> ast.expr:
    """Build Python's `or`: the first true value, or the last."""
    return ast.BoolOp(ast.Or(), list(values), **NOWHERE) if len(values) > 1 else values[0]


def first_false(*values: ast.expr) -> ast.expr:
    """Build Python's `and`: the first false value, or the last."""
    return ast.BoolOp(ast.And(), list(values), **NOWHERE) if len(values) > 1 else values[0]


def equal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Build `left == right`."""
    return ast.Compare(left, [ast.Eq()], [right], **NOWHERE)


def unequal(left: ast.expr, right: ast.expr) -> ast.expr:
    """Build `left != right`."""
    return ast.Compare(left, [ast.NotEq()], [right], **NOWHERE)


def is_class(value: ast.expr, class_name: str) -> ast.expr:
    """Build `type(value) is class_name`, which excludes subclasses."""
    return ast.Compare(call("type", value), [ast.Is()], [name(class_name)], **NOWHERE)


def target(identifier: str) -> ast.Name:
    """Build the target of an assignment."""
    return ast.Name(identifier, _STORE, **NOWHERE)


def assign(identifier: str, value: ast.expr) -> ast.stmt:
    """Build an assignment to a name."""
    return ast.Assign([target(identifier)], value, **NOWHERE)


def run(value: ast.expr) -> ast.stmt:
    """Build an expression statement."""
    return ast.Expr(value, **NOWHERE)


def return_(value: ast.expr) -> ast.stmt:
    """Build a `return` statement."""
    return ast.Return(value, **NOWHERE)


def branch(test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> ast.stmt:
    """Build an `if` statement."""
    return ast.If(test, yes or [ast.Pass(**NOWHERE)], no, **NOWHERE)


def loop(index: str, element: str, items: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    """Build a `for` loop over pairs."""
    both = ast.Tuple([target(index), target(element)], _STORE, **NOWHERE)
    return ast.For(both, items, body, [], **NOWHERE)


def define(identifier: str, parameters: tuple[str, ...], body: list[ast.stmt]) -> ast.stmt:
    """Build a function definition."""
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


# So few calls cannot take long. In a template with more calls, or with loops, each is metered.
_FEW_CALLS = 8


@dataclass(frozen=True, slots=True)
class Position:
    """The position that a line of generated code maps to: a node and the function called there."""

    template: str
    node: tree.Node
    function: str | None = None
    command: tree.Node | None = None
    """The node that Go reports if the method itself fails."""
    arguments: tuple[tree.Node, ...] = ()
    """The node that Go reports after it has evaluated each argument of a method."""


@dataclass(slots=True)
class Program:
    """The code of one template during compilation."""

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
    """Whether a render needs its own context, because it uses a budget."""

    @property
    def metered(self) -> bool:
        """Whether the result of each call is charged to the memory limit."""
        return self.survey.repeats or self.survey.calls > _FEW_CALLS

    @property
    def prints_much(self) -> bool:
        """Whether each printed value is charged to the memory limit."""
        return self.survey.repeats or self.survey.actions > _FEW_CALLS

    @property
    def marks(self) -> bool:
        """Whether values of `int`, `float` or `bool` can occur."""
        return not self.survey.functions.isdisjoint({"int", "float", "bool"})

    def put(self, prefix: str, value: object) -> str:
        """Add an object to the globals of the generated code, and return its name."""
        global_name = self._names_by_id.get(id(value))
        if global_name is None:
            global_name = self._names_by_id[id(value)] = f"{prefix}_{len(self.names)}"
            self.names[global_name] = value
        return global_name

    def position(self, template: str, node: tree.Node, function: str | None = None) -> int:
        """Return the line number that maps to a node and the function called there."""
        return self.add_position(Position(template, node, function))

    def add_position(self, position: Position) -> int:
        """Add a position, and return the line number that maps to it."""
        self.positions.append(position)
        return len(self.positions)


@dataclass(frozen=True, slots=True)
class Expr:
    """The code of a value, and the properties of the value known at compile time."""

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
    """The argument nodes of a command, and the value piped into it."""

    nodes: tuple[tree.Node, ...] = ()
    final: Expr | None = None

    def __bool__(self) -> bool:
        """Report whether there is an argument or a piped value."""
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
        """Return the line number that maps to the node that Go would report."""
        return self.program.position(self.template, self.at, function)

    def fresh(self, prefix: str) -> str:
        """Return a Python name that is unique in the function."""
        self._fresh_names += 1
        return f"{prefix}{self._fresh_names}"

    def declare(self, variable: str, expr: Expr) -> str:
        """Declare a template variable; each declaration is a new Python variable."""
        python = self.fresh("v")
        kept = replace(expr, code=name(python), literal=False)
        if variable in self.program.survey.assigned:
            kept = Expr(name(python))
        self.variables.append((variable, kept))
        return python

    def lookup(self, variable: str) -> Expr | None:
        """Return the innermost declaration of a template variable, or None."""
        matches = (expr for declared, expr in reversed(self.variables) if declared == variable)
        return next(matches, None)

    @contextmanager
    def block(self, dot: Expr | None = None) -> Iterator[None]:
        """Open a scope, with a new dot if one is passed."""
        visible, around = len(self.variables), self.dot
        self.dot = dot or around
        yield
        del self.variables[visible:]
        self.dot = around
