"""Puts generated functions together and compiles them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

from lynq.template import tree
from lynq.template.analysis import analyze, walk
from lynq.template.compiler import codegen, statements
from lynq.template.compiler.codegen import Expr, Position, Program, Unit
from lynq.template.functions.signature import Needs
from lynq.template.runtime import NAMES
from lynq.template.stream import ROOT_NAME

FILE_NAME = "<template>"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A template compiled to a Python function, with its properties."""

    main: Callable[..., object]
    positions: tuple[Position, ...]
    functions: frozenset[str]
    needs: Needs
    wants_root: bool
    wants_budget: bool


def build(template: tree.Template) -> Compiled:
    """Compile a parsed template."""
    program, module = _module(template)
    names = program.names
    exec(_compile(module), names)  # noqa: S102 - built from constants only, see `code`
    main: Callable[..., object] = names["main"]  # type: ignore[assignment]  # defined just now
    return Compiled(
        main,
        tuple(program.positions),
        frozenset(program.survey.functions),
        program.needs,
        wants_root=program.wants_root,
        wants_budget=program.wants_budget,
    )


def explain(template: tree.Template) -> str:
    """Return the generated code as Python source, for debugging and tests."""
    _, module = _module(template)
    return ast.unparse(module)


def _module(template: tree.Template) -> tuple[Program, ast.Module]:
    defined = {name: f"template{number}" for number, name in enumerate(template.defined)}
    defined[ROOT_NAME] = "root"
    program = Program(analyze(template), defined, {"__builtins__": {}, **NAMES})
    functions = [_main(program, template.body)]
    called = _called(template)
    functions += [
        _defined(program, name, body)
        for name, body in {**template.defined, ROOT_NAME: template.body}.items()
        if name in called
    ]
    return program, ast.Module(functions, [])


def _called(template: tree.Template) -> set[str]:
    bodies = (template.body, *template.defined.values())
    return {node.name for body in bodies for node in walk(body) if isinstance(node, tree.Call)}


def _main(program: Program, body: list[tree.Node]) -> ast.stmt:
    """Render the root: `d` is the data, `c` the context, `w` writes output."""
    unit, lines = _start(program, ROOT_NAME, body, root=True)
    if statements.is_straight(body):
        lines.append(codegen.return_(statements.text(unit, body)))
        return codegen.define("main", ("d", "c"), lines)
    program.wants_budget = True
    context = codegen.name("c")
    finish = "finish_marked" if program.marks else "finish"
    lines += [
        codegen.assign("w", codegen.call("begin", context)),
        *statements.statements(unit, body),
        codegen.return_(codegen.call(finish, context, position=unit.position())),
    ]
    return codegen.define("main", ("d", "c"), lines)


def _defined(program: Program, name: str, body: list[tree.Node]) -> ast.stmt:
    unit, lines = _start(program, name, body, root=False)
    lines += statements.statements(unit, body)
    return codegen.define(program.defined[name], ("d", "c", "w"), lines)


def _start(
    program: Program, name: str, body: list[tree.Node], *, root: bool
) -> tuple[Unit, list[ast.stmt]]:
    """Start a function: dot is its parameter, and `$` equals dot until it is assigned."""
    dot = Expr(codegen.name("d"), root=root)
    unit = Unit(program, name, body[0] if body else tree.Text(0, ""), dot)
    if "$" not in program.survey.assigned:
        unit.variables.append(("$", dot))
        return unit, []
    program.wants_root = True
    return unit, [codegen.assign(unit.declare("$", dot), codegen.name("d"))]


def _compile(module: ast.Module) -> CodeType:
    return compile(module, FILE_NAME, "exec", dont_inherit=True)
