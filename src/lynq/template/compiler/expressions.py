"""Pipelines, commands and operands as Python expressions, evaluated in Go's order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lynq.template import tree
from lynq.template.compiler import calls, codegen
from lynq.template.compiler.unit import Expr, Given, Unit
from lynq.template.constants import ideal
from lynq.template.errors import Failure
from lynq.template.values import type_name

_NOTHING: Final = Given()


def pipeline(unit: Unit, pipe: tree.Pipe) -> Expr:
    """Evaluate a pipeline; its variables take the result."""
    value = commands(unit, pipe)
    for variable in pipe.variables:
        value = _store(unit, variable.names[0], value, assigns=pipe.assigns)
    return value


def commands(unit: Unit, pipe: tree.Pipe) -> Expr:
    """Evaluate a pipeline's commands, each given the value of the one before."""
    unit.at = pipe
    value: Expr | None = None
    for each in pipe.commands:
        value = replace(_command(unit, each, value), boxed=False)
    if value is None:
        raise AssertionError("the parser lets no empty pipeline through")
    return value


def _store(unit: Unit, variable: str, value: Expr, *, assigns: bool) -> Expr:
    if not assigns:
        python = unit.declare(variable, value)
        return replace(value, code=codegen.keep(python, value.code), literal=False)
    known = unit.lookup(variable)
    if known is None:
        return failure(unit, f"undefined variable: {variable}", value)
    return replace(
        value, code=codegen.keep(codegen.identifier(known.code), value.code), literal=False
    )


def operand(unit: Unit, node: tree.Node, given: Given = _NOTHING) -> Expr:
    """Evaluate an operand that is no constant; only some can be given anything."""
    if isinstance(node, tree.Field):
        unit.at = node
        return _fields(unit, node, unit.dot, node.names, given)
    if isinstance(node, tree.Variable):
        return _variable(unit, node, given)
    if isinstance(node, tree.Chain):
        return _chain(unit, node, given)
    if isinstance(node, tree.Identifier):
        return calls.function_call(unit, operand, node, node, given)
    if isinstance(node, tree.Pipe):
        return pipeline(unit, node)
    if unit.dot.root:
        unit.program.wants_root = True
    return unit.dot


def _command(unit: Unit, command: tree.Command, final: Expr | None) -> Expr:
    first = command.args[0]
    given = Given(tuple(command.args[1:]), final)
    if isinstance(first, tree.Identifier):
        return calls.function_call(unit, operand, first, command, given)
    if isinstance(first, tree.Field | tree.Variable | tree.Chain):
        return operand(unit, first, given)
    if not isinstance(first, tree.Pipe):
        unit.at = first
    if given:
        return _not_a_function(unit, first, final)
    if isinstance(first, tree.Nil):
        return failure(unit, "nil is not a command")
    if isinstance(first, tree.Bool | tree.NumberLiteral | tree.String):
        return _ideal(unit, first)
    return operand(unit, first)


def _ideal(unit: Unit, node: tree.Bool | tree.NumberLiteral | tree.String) -> Expr:
    try:
        value = ideal(node)
    except Failure as error:
        return failure(unit, error.message)
    return Expr(codegen.constant(value), type_name(value), literal=True)


def failure(unit: Unit, message: str, evaluated: Expr | None = None) -> Expr:
    """Fail with a message, once what is before it has been evaluated."""
    before = () if evaluated is None else (evaluated.code,)
    return Expr(codegen.call("fail", codegen.constant(message), *before, place=unit.place()))


def _not_a_function(unit: Unit, node: tree.Node, final: Expr | None) -> Expr:
    return failure(unit, f"can't give argument to non-function {node}", final)


def _variable(unit: Unit, node: tree.Variable, given: Given) -> Expr:
    unit.at = node
    value = unit.lookup(node.names[0])
    if value is None:
        return failure(unit, f"undefined variable: {node.names[0]}", given.final)
    if len(node.names) > 1:
        return _fields(unit, node, value, node.names[1:], given)
    if given:
        return _not_a_function(unit, node, given.final)
    if value.root:
        unit.program.wants_root = True
    return value


def _chain(unit: Unit, node: tree.Chain, given: Given) -> Expr:
    unit.at = node
    if isinstance(node.base, tree.Nil):
        return failure(unit, f"indirection through explicit nil in {node}")
    unit.at = node.base
    return _fields(unit, node, operand(unit, node.base), node.names, given)


def _fields(unit: Unit, node: tree.Node, value: Expr, names: Sequence[str], given: Given) -> Expr:
    """Follow fields; the last one, if it is a method, gets what is given."""
    followed = list(names[:-1] if given else names)
    if value.root and followed:
        taken = codegen.subscript(value.code, followed.pop(0), place=unit.place())
        value = Expr(taken, boxed=True)
    if followed:
        keys = [codegen.constant(name) for name in followed]
        place = unit.place(followed[-1])
        taken = codegen.call("chain", value.code, codegen.constant(value.boxed), *keys, place=place)
        value = Expr(taken, boxed=True)
    if not given:
        return value
    if value.root:
        return failure(unit, f"{names[-1]} is not a method but has arguments", given.final)
    return calls.method_call(unit, operand, node, value, names[-1], given)
