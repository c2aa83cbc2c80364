"""Pipelines, commands and operands as Python expressions, evaluated in Go's order.

Functions that a Python operator implements exactly are inlined. An inliner returns None where it
does not apply; the function is called then.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lynq.template import tree
from lynq.template.compiler import calls, codegen
from lynq.template.compiler.codegen import CallArgs, Expr, Unit
from lynq.template.constants import ideal
from lynq.template.errors import Failure
from lynq.template.functions.signature import Function
from lynq.template.values import type_name

_NOTHING: Final = CallArgs()


def pipeline(unit: Unit, pipe: tree.Pipe) -> Expr:
    """Compile a pipeline, including the assignment to its variables."""
    value = commands(unit, pipe)
    for variable in pipe.variables:
        value = _store(unit, variable.names[0], value, assigns=pipe.assigns)
    return value


def commands(unit: Unit, pipe: tree.Pipe) -> Expr:
    """Compile a pipeline's commands; each receives the value of the previous one."""
    unit.at = pipe
    value: Expr | None = None
    for command in pipe.commands:
        value = replace(_command(unit, command, value), boxed=False)
    if value is None:
        raise AssertionError("the parser rejects empty pipelines")
    return value


def _store(unit: Unit, variable: str, value: Expr, *, assigns: bool) -> Expr:
    if not assigns:
        python = unit.declare(variable, value)
        return replace(value, code=codegen.bind(python, value.code), literal=False)
    declared = unit.lookup(variable)
    if declared is None:
        return failure(unit, f"undefined variable: {variable}", value)
    return replace(
        value, code=codegen.bind(codegen.identifier(declared.code), value.code), literal=False
    )


def operand(unit: Unit, node: tree.Node, args: CallArgs = _NOTHING) -> Expr:
    """Compile an operand that is not a constant; only some kinds accept arguments."""
    if isinstance(node, tree.Field):
        unit.at = node
        return _fields(unit, node, unit.dot, node.names, args)
    if isinstance(node, tree.Variable):
        return _variable(unit, node, args)
    if isinstance(node, tree.Chain):
        return _chain(unit, node, args)
    if isinstance(node, tree.Identifier):
        return calls.function_call(unit, operand, node, node, args)
    if isinstance(node, tree.Pipe):
        return pipeline(unit, node)
    if unit.dot.root:
        unit.program.wants_root = True
    return unit.dot


def _command(unit: Unit, command: tree.Command, final: Expr | None) -> Expr:
    first = command.args[0]
    args = CallArgs(tuple(command.args[1:]), final)
    if isinstance(first, tree.Identifier):
        return calls.function_call(unit, operand, first, command, args)
    if isinstance(first, tree.Field | tree.Variable | tree.Chain):
        return operand(unit, first, args)
    if not isinstance(first, tree.Pipe):
        unit.at = first
    if args:
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
    """Compile a failure that occurs after `evaluated` has been evaluated."""
    before = () if evaluated is None else (evaluated.code,)
    return Expr(codegen.call("fail", codegen.constant(message), *before, position=unit.position()))


def _not_a_function(unit: Unit, node: tree.Node, final: Expr | None) -> Expr:
    return failure(unit, f"can't give argument to non-function {node}", final)


def _variable(unit: Unit, node: tree.Variable, args: CallArgs) -> Expr:
    unit.at = node
    value = unit.lookup(node.names[0])
    if value is None:
        return failure(unit, f"undefined variable: {node.names[0]}", args.final)
    if len(node.names) > 1:
        return _fields(unit, node, value, node.names[1:], args)
    if args:
        return _not_a_function(unit, node, args.final)
    if value.root:
        unit.program.wants_root = True
    return value


def _chain(unit: Unit, node: tree.Chain, args: CallArgs) -> Expr:
    unit.at = node
    if isinstance(node.base, tree.Nil):
        return failure(unit, f"indirection through explicit nil in {node}")
    unit.at = node.base
    return _fields(unit, node, operand(unit, node.base), node.names, args)


def _fields(unit: Unit, node: tree.Node, value: Expr, names: Sequence[str], args: CallArgs) -> Expr:
    """Compile a chain of fields; the last one, if it is a method, receives the arguments."""
    fields = list(names[:-1] if args else names)
    if value.root and fields:
        code = codegen.subscript(value.code, fields.pop(0), position=unit.position())
        value = Expr(code, boxed=True)
    if fields:
        keys = [codegen.constant(name) for name in fields]
        position = unit.position(fields[-1])
        code = codegen.call(
            "chain", value.code, codegen.constant(value.boxed), *keys, position=position
        )
        value = Expr(code, boxed=True)
    if not args:
        return value
    if value.root:
        return failure(unit, f"{names[-1]} is not a method but has arguments", args.final)
    return calls.method_call(unit, operand, node, value, names[-1], args)


_SIMPLE_FORMAT = re.compile(r"(%[svd])")
_PRINTERS = {"%s": "show_text", "%v": "show", "%d": "show_number"}
_MOST_PIECES = 8


def call(unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Return inline code for a function, or None if it must be called."""
    inline = _INLINED.get(function.name)
    return inline(unit, function, arguments) if inline is not None else None


def _logic(_unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Inline `and` and `or` as Python's; both short-circuit."""
    types = {value.type for value in arguments}
    joined = codegen.first_false if function.name == "and" else codegen.first_true
    result = joined(*(value.code for value in arguments))
    return Expr(result, types.pop() if len(types) == 1 else None)


def _not(_unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    return Expr(codegen.negate(arguments[0].code), "bool")


def _equal(unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Inline the comparison with a string constant; any type but string takes the call."""
    if len(arguments) != len(("left", "right")):
        return None
    value, text = arguments if arguments[1].literal else arguments[::-1]
    if value.literal or not text.literal or text.type != "string":
        return None
    compare = codegen.equal if function.name == "eq" else codegen.unequal
    if value.type == "string":
        return Expr(compare(value.code, text.code), "bool")
    kept = codegen.name(unit.fresh("t"))
    in_order = [kept if argument is value else text.code for argument in arguments]
    slow = codegen.call(function.name, *in_order, position=unit.position(function.name))
    test = codegen.is_class(codegen.bind(codegen.identifier(kept), value.code), "str")
    return Expr(codegen.conditional(test, compare(kept, text.code), slow), "bool")


def _default(_unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    """Inline `default`: the values that sprig calls empty are false in Python."""
    if len(arguments) != len(("fallback", "value")) or not arguments[0].literal:
        return None
    fallback, value = arguments
    same = fallback.type if fallback.type == value.type else None
    return Expr(codegen.first_true(value.code, fallback.code), same, boxed=True)


def _printf(unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    """Inline a format that has no verbs but `%s`, `%v` and `%d`."""
    template = getattr(arguments[0].code, "value", None)
    if not arguments[0].literal or not isinstance(template, str) or unit.program.metered:
        return None
    pieces = [piece for piece in _SIMPLE_FORMAT.split(template) if piece]
    verbs = [piece for piece in pieces if piece in _PRINTERS]
    if len(verbs) != len(arguments) - 1 or len(pieces) > _MOST_PIECES:
        return None
    if any("%" in piece for piece in pieces if piece not in _PRINTERS):
        return None
    values = iter(arguments[1:])
    printed = [
        _print(unit, piece, next(values)) if piece in _PRINTERS else codegen.constant(piece)
        for piece in pieces
    ]
    return Expr(codegen.call("join", codegen.tuple_(*printed)), "string")


def _print(unit: Unit, verb: str, value: Expr) -> ast.expr:
    if value.type == "string" and verb != "%d":
        return value.code
    position = unit.position("printf")
    if value.type is not None or verb == "%d":
        return codegen.call(_PRINTERS[verb], value.code, position=position)
    kept = unit.fresh("t")
    return codegen.conditional(
        codegen.is_class(codegen.bind(kept, value.code), "str"),
        codegen.name(kept),
        codegen.call(_PRINTERS[verb], codegen.name(kept), position=position),
    )


_INLINED: dict[str, Callable[[Unit, Function, list[Expr]], Expr | None]] = {
    "and": _logic,
    "or": _logic,
    "not": _not,
    "eq": _equal,
    "ne": _equal,
    "default": _default,
    "printf": _printf,
}
