"""Calls of functions and methods: arguments are counted and checked as reflect does it.

Checks that can be decided at compile time cost nothing at run time: a wrong count or constant
becomes code that fails there, a right one no code at all.
"""

import ast
from collections.abc import Callable

from lynq.template import tree
from lynq.template.compiler import codegen, expressions
from lynq.template.compiler.codegen import CallArgs, Expr, Position, Unit
from lynq.template.constants import convert
from lynq.template.errors import Failure
from lynq.template.functions.signature import ANY_NAMES, NILABLE, Function, Needs, Parameter
from lynq.template.functions.table import FUNCTIONS
from lynq.template.values import type_name

Evaluate = Callable[[Unit, tree.Node], Expr]
_LITERALS = (tree.Bool, tree.NumberLiteral, tree.String)
_SHARING = frozenset(
    {
        *("append", "push", "prepend", "concat", "rest", "initial", "reverse", "slice", "uniq"),
        *(
            "without",
            "compact",
            "list",
            "tuple",
            "chunk",
            "values",
            "pluck",
            "first",
            "last",
            "index",
        ),
        *("get", "dig", "set", "unset", "default", "coalesce", "ternary", "fromjson", "deepcopy"),
    }
)
"""Functions whose results hold no new items, only references to existing ones."""
_CLASSES = {"string": "str", "int": "int", "float64": "float", "bool": "bool"}


def function_call(
    unit: Unit,
    evaluate: Evaluate,
    node: tree.Identifier,
    command: tree.Node,
    args: CallArgs,
) -> Expr:
    """Compile the call of a function."""
    unit.at = node
    function = FUNCTIONS[node.name]
    unit.program.needs |= function.needs
    problem = _wrong_count(function, args)
    if problem is not None:
        return _failure(unit, problem, args.final)
    kept, final = _keep_final(unit, args, function)
    visible = len(unit.variables)
    operands = [
        _argument(unit, evaluate, argument, _parameter(function, index), function)
        for index, argument in enumerate(args.nodes)
    ]
    if final is not None:
        operands.append(_accept(unit, final, _parameter(function, len(operands)), function))
    _add_hidden(function, args, operands)
    # Go reports the command only if the call fails; what follows is still at the last argument.
    last, unit.at = unit.at, command
    result = expressions.call(unit, function, operands) or _call(unit, function, operands)
    unit.at = last
    if function.name in ("and", "or"):
        result = _with_skipped(unit, visible, result)
    if kept is not None:
        result = Expr(codegen.after(kept, result.code), result.type, boxed=result.boxed)
    return result


def _add_hidden(function: Function, args: CallArgs, operands: list[Expr]) -> None:
    """Add the extra arguments that two built-ins need for their errors."""
    if function.name == "call":
        called = str(args.nodes[0]) if args.nodes else ""
        operands.insert(0, Expr(codegen.constant(called), "string", literal=True))
    elif function.name == "len":
        operands.append(Expr(codegen.constant(operands[0].boxed), "bool", literal=True))


def _with_skipped(unit: Unit, visible: int, result: Expr) -> Expr:
    """Initialize a variable that `and` or `or` may skip with the one that it shadows."""
    for variable, declared in unit.variables[visible:]:
        shadowed = [expr for name, expr in unit.variables[:visible] if name == variable]
        if shadowed:
            before = codegen.bind(codegen.identifier(declared.code), shadowed[-1].code)
            result = Expr(codegen.after(before, result.code), result.type)
    return result


def method_call(  # noqa: PLR0917 - as for a function, and the receiver
    unit: Unit,
    evaluate: Evaluate,
    node: tree.Node,
    receiver: Expr,
    name: str,
    args: CallArgs,
) -> Expr:
    """Compile the call of a method; the method and its parameters are resolved at run time."""
    before = unit.at
    kept, final = _keep_final(unit, args)
    operands: list[ast.expr] = []
    positions: list[tree.Node] = []
    for argument in args.nodes:
        unit.at = argument
        if isinstance(argument, (*_LITERALS, tree.Nil)):
            operands.append(codegen.name(unit.program.put("literal", argument)))
        else:
            operands.append(evaluate(unit, argument).code)
        positions.append(unit.at)
    if final is not None:
        operands.append(final.code)
    position = unit.program.add_position(
        Position(unit.template, before, name, command=node, arguments=tuple(positions))
    )
    boxed = codegen.constant(receiver.boxed)
    called = codegen.call(
        "invoke", receiver.code, boxed, codegen.constant(name), *operands, position=position
    )
    return Expr(called if kept is None else codegen.after(kept, called))


def _wrong_count(function: Function, args: CallArgs) -> str | None:
    expected, written = len(function.parameters), len(args.nodes)
    count = written + (args.final is not None)
    if function.variadic is not None:
        if count >= expected:
            return None
        return f"wrong number of args for {function.name}: want at least {expected} got {written}"
    if count == expected:
        return None
    return f"wrong number of args for {function.name}: want {expected} got {count}"


def _parameter(function: Function, index: int) -> Parameter:
    if index < len(function.parameters) or function.variadic is None:
        return function.parameters[index]
    return function.variadic


def _keep_final(
    unit: Unit, args: CallArgs, function: Function | None = None
) -> tuple[ast.expr | None, Expr | None]:
    """Evaluate the piped value before the arguments, as Go does, where the order is observable."""
    final = args.final
    if final is None or final.literal:
        return None, final
    # `and` and `or` may skip the piped value, but Go evaluates it before the call.
    if (
        function is not None
        and function.name not in ("and", "or")
        and all(
            _cannot_fail(argument, _parameter(function, index))
            for index, argument in enumerate(args.nodes)
        )
    ):
        return None, final
    name = unit.fresh("t")
    return codegen.bind(name, final.code), Expr(codegen.name(name), final.type, boxed=final.boxed)


def _cannot_fail(node: tree.Node, parameter: Parameter) -> bool:
    """Report whether an argument needs no evaluation and is assignable to the parameter."""
    if isinstance(node, tree.Dot):
        return parameter.name in ANY_NAMES
    if isinstance(node, tree.Nil):
        return parameter.kind in NILABLE
    if not isinstance(node, _LITERALS):
        return False
    try:
        convert(node, parameter)
    except Failure:
        return False
    return True


def _argument(
    unit: Unit, evaluate: Evaluate, node: tree.Node, parameter: Parameter, function: Function
) -> Expr:
    unit.at = node
    if isinstance(node, tree.Nil):
        if parameter.kind not in NILABLE:
            return _failure(unit, f"cannot assign nil to {parameter.name}")
        return _accept(unit, Expr(codegen.constant(None)), parameter, function)
    if not isinstance(node, _LITERALS):
        return _accept(unit, evaluate(unit, node), parameter, function)
    try:
        value = convert(node, parameter)
    except Failure as error:
        return _failure(unit, error.message)
    return Expr(codegen.constant(value), type_name(value), literal=True)


def _accept(unit: Unit, value: Expr, parameter: Parameter, function: Function) -> Expr:
    """Check a value against a parameter, unless its static type is assignable."""
    if parameter.name in ANY_NAMES:
        return _unmarked(unit, value) if not function.passes else value
    if value.type == parameter.name:
        return _unmarked(unit, value) if value.type == "bool" else value
    put = codegen.name(unit.program.put("parameter", parameter))
    boxed = codegen.constant(value.boxed)
    if value.type is not None or parameter.name not in _CLASSES:
        checked = codegen.call("accept", put, value.code, boxed, position=unit.position())
        return Expr(checked, parameter.name)
    kept = unit.fresh("t")
    checked = codegen.conditional(
        codegen.is_class(codegen.bind(kept, value.code), _CLASSES[parameter.name]),
        codegen.name(kept),
        codegen.call("accept", put, codegen.name(kept), boxed, position=unit.position()),
    )
    return Expr(checked, parameter.name)


def _unmarked(unit: Unit, value: Expr) -> Expr:
    """Convert a `TypedBool` to a plain bool, where one can occur."""
    if "bool" not in unit.program.survey.functions or value.literal:
        return value
    if value.type not in (None, "bool"):
        return value
    return Expr(codegen.call("plain", value.code), value.type, boxed=value.boxed)


def _meter(function: Function) -> str:
    """Return the meter of a function's result: new items, new texts, or references to items."""
    if function.result == "[]string":
        return "meter_texts"
    return "meter_shared" if function.name.removeprefix("must").lower() in _SHARING else "meter"


def _call(unit: Unit, function: Function, operands: list[Expr]) -> Expr:
    arguments = [value.code for value in operands]
    if function.wants_context:
        unit.program.wants_budget |= function.needs not in Needs.LIMITS
        arguments.insert(0, codegen.name("c"))
    put = unit.program.put("function", function.body)
    position = unit.position(function.name)
    if function.needs & Needs.SLOW:
        unit.program.wants_budget = True
        called = codegen.call(
            "slow", codegen.name("c"), codegen.name(put), *arguments, position=position
        )
    else:
        called = codegen.call(put, *arguments, position=position)
    if unit.program.metered:
        unit.program.wants_budget = True
        called = codegen.call(_meter(function), codegen.name("c"), called, position=position)
    dynamic = function.result in ANY_NAMES
    return Expr(called, None if dynamic else function.result, boxed=dynamic)


def _failure(unit: Unit, message: str, evaluated: Expr | None = None) -> Expr:
    before = () if evaluated is None else (evaluated.code,)
    return Expr(codegen.call("fail", codegen.constant(message), *before, position=unit.position()))
