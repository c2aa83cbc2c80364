"""Functions that Python's own operators do exactly: no call, the same result.

Each one gives None where it does not apply, and the function itself is called then.
"""

import ast
import re
from collections.abc import Callable

from lynq.template.compiler import codegen
from lynq.template.compiler.unit import Expr, Unit
from lynq.template.functions.signature import Function

_SIMPLE_FORMAT = re.compile(r"(%[svd])")
_PRINTERS = {"%s": "show_text", "%v": "show", "%d": "show_number"}
_MOST_PIECES = 8


def call(unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Give a function's result without calling it, if that can be done."""
    known = _INLINED.get(function.name)
    return known(unit, function, arguments) if known is not None else None


def _logic(_unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Make `and` and `or` of Python's: both stop at the first argument that decides."""
    types = {value.type for value in arguments}
    joined = codegen.first_false if function.name == "and" else codegen.first_true
    result = joined(*(value.code for value in arguments))
    return Expr(result, types.pop() if len(types) == 1 else None)


def _not(_unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    return Expr(codegen.negate(arguments[0].code), "bool")


def _equal(unit: Unit, function: Function, arguments: list[Expr]) -> Expr | None:
    """Compare with a string constant: only strings equal one, and only they may be compared."""
    if len(arguments) != len(("left", "right")):
        return None
    value, text = arguments if arguments[1].literal else arguments[::-1]
    if value.literal or not text.literal or text.type != "string":
        return None
    compare = codegen.equal if function.name == "eq" else codegen.unequal
    if value.type == "string":
        return Expr(compare(value.code, text.code), "bool")
    kept = codegen.name(unit.fresh("t"))
    in_order = [kept if each is value else text.code for each in arguments]
    slow = codegen.call(function.name, *in_order, place=unit.place(function.name))
    test = codegen.is_class(codegen.keep(codegen.identifier(kept), value.code), "str")
    return Expr(codegen.choose(test, compare(kept, text.code), slow), "bool")


def _default(_unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    """Take the given value if it is true; what is empty to sprig is false to Python."""
    if len(arguments) != len(("fallback", "given")) or not arguments[0].literal:
        return None
    fallback, given = arguments
    same = fallback.type if fallback.type == given.type else None
    return Expr(codegen.first_true(given.code, fallback.code), same, boxed=True)


def _printf(unit: Unit, _function: Function, arguments: list[Expr]) -> Expr | None:
    """Join the pieces of a format that has nothing but `%s`, `%v` and `%d`."""
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
    return Expr(codegen.call("join", codegen.pair(*printed)), "string")


def _print(unit: Unit, verb: str, value: Expr) -> ast.expr:
    if value.type == "string" and verb != "%d":
        return value.code
    place = unit.place("printf")
    if value.type is not None or verb == "%d":
        return codegen.call(_PRINTERS[verb], value.code, place=place)
    kept = unit.fresh("t")
    return codegen.choose(
        codegen.is_class(codegen.keep(kept, value.code), "str"),
        codegen.name(kept),
        codegen.call(_PRINTERS[verb], codegen.name(kept), place=place),
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
