"""One function being generated: its variables, its cursor, and where in the template it is."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lynq.template import tree
from lynq.template.compiler import codegen
from lynq.template.compiler.program import Program


@dataclass(frozen=True, slots=True)
class Expr:
    """Code that gives a value, and what is known of the value before it runs."""

    code: ast.expr
    type: str | None = None
    """The Go type, where it is known."""
    boxed: bool = False
    """Whether Go holds the value in an interface here; its errors tell the difference."""
    literal: bool = False
    root: bool = False
    """Whether it is the root of the data: then its fields are plain subscripts."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a command is given: its arguments, and the value piped into it."""

    arguments: tuple[tree.Node, ...] = ()
    final: Expr | None = None

    def __bool__(self) -> bool:
        """Tell whether it is given anything at all."""
        return bool(self.arguments) or self.final is not None


@dataclass(slots=True)
class Unit:
    """The function that renders the root, or a defined template."""

    program: Program
    template: str
    at: tree.Node
    dot: Expr
    variables: list[tuple[str, Expr]] = field(default_factory=list)
    loops: int = 0
    _made: int = 0

    def place(self, function: str | None = None) -> int:
        """Give the number of the place where Go would say that it is."""
        return self.program.place(self.template, self.at, function)

    def fresh(self, prefix: str) -> str:
        """Give a Python name that is used nowhere else in the function."""
        self._made += 1
        return f"{prefix}{self._made}"

    def declare(self, variable: str, expr: Expr) -> str:
        """Declare a template variable: each declaration is a Python variable of its own."""
        python = self.fresh("v")
        kept = replace(expr, code=codegen.name(python), literal=False)
        if variable in self.program.survey.assigned:
            kept = Expr(codegen.name(python))
        self.variables.append((variable, kept))
        return python

    def lookup(self, variable: str) -> Expr | None:
        """Find what a template variable stands for here; one that is only assigned is none."""
        found = (expr for known, expr in reversed(self.variables) if known == variable)
        return next(found, None)

    @contextmanager
    def block(self, dot: Expr | None = None) -> Iterator[None]:
        """Open a scope, with a cursor of its own if need be."""
        visible, around = len(self.variables), self.dot
        self.dot = dot or around
        yield
        del self.variables[visible:]
        self.dot = around
