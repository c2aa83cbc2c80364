"""What generated code calls: fields, checked arguments, output, loops, other templates."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, repeat
from time import monotonic
from typing import NoReturn

from lynq.template.constants import Literal, convert
from lynq.template.environment import Context
from lynq.template.errors import Failure, LimitError
from lynq.template.functions.comparison import eq, ne
from lynq.template.functions.signature import NILABLE, Function, Parameter
from lynq.template.gofmt.printf import show, sprintf
from lynq.template.tree import Nil, Node
from lynq.template.values import (
    ANY,
    INTEGER_KINDS,
    Kind,
    Object,
    TypedBool,
    TypedFloat,
    TypedInt,
    kind_of,
    sorted_keys,
    type_name,
    type_of,
)

MARKED = frozenset({TypedInt, TypedFloat, TypedBool})
_join = "".join


def fail(message: str, *_evaluated: object) -> NoReturn:
    """Fail at Go's position; the arguments have been evaluated before."""
    raise Failure(message)


def plain(value: object) -> object:
    """Return the plain bool of a `TypedBool`, and any other value itself."""
    return bool(value) if type(value) is TypedBool else value


def accept(parameter: Parameter, value: object, boxed: bool) -> object:  # noqa: FBT001 - generated
    """Check an argument whose type is unknown at compile time."""
    return parameter.accept(value, boxed=boxed)


# Fields and methods.


def chain(value: object, boxed: bool, *names: str) -> object:  # noqa: FBT001 - generated
    """Follow fields: keys of maps, fields of structs, methods without arguments."""
    for name in names:
        value, boxed = _field(value, boxed, name)
    return value


def invoke(
    value: object,
    boxed: bool,  # noqa: FBT001 - generated
    name: str,
    *arguments: object,
) -> object:
    """Call a method with arguments."""
    if isinstance(value, dict):
        raise Failure(f"{name} is not a method but has arguments")
    if isinstance(value, Object):
        if name in value.methods:
            return _call_method(value.methods[name], value, arguments)
        if name in value.fields():
            raise Failure(f"{name} has arguments but cannot be invoked as function")
    return _field(value, boxed, name)


def _field(value: object, boxed: bool, name: str) -> tuple[object, bool]:  # noqa: FBT001
    if isinstance(value, dict):
        if name not in value:
            raise Failure(f'map has no entry for key "{name}"')
        go_type = type_of(value)
        return value[name], go_type is not None and go_type.elem == ANY
    if value is None:
        if boxed:
            raise Failure(f"nil pointer evaluating interface {{}}.{name}")
        raise Failure(f'nil data; no entry for key "{name}"')
    if isinstance(value, Object):
        if name in value.methods:
            return _call_method(value.methods[name], value, ()), False
        fields = value.fields()
        if name in fields:
            return fields[name], False
        if name in value.field_errors:
            raise Failure(value.field_errors[name])
    type_text = "interface {}" if boxed else type_name(value)
    raise Failure(f"can't evaluate field {name} in type {type_text}")


def _call_method(method: Function, receiver: Object, arguments: tuple[object, ...]) -> object:
    parameters = method.parameters
    if method.variadic is not None:
        missing = len(parameters) - len(arguments)
        if missing > 0:
            raise Failure(
                f"wrong number of args for {method.name}: "
                f"want at least {len(parameters)} got {len(arguments)}"
            )
        parameters += (method.variadic,) * -missing
    elif len(arguments) != len(parameters):
        raise Failure(
            f"wrong number of args for {method.name}: want {len(parameters)} got {len(arguments)}"
        )
    accepted = [_argument(*item) for item in zip(parameters, arguments, count(), strict=False)]
    return method.body(receiver, *accepted)


def _argument(parameter: Parameter, value: object, number: int) -> object:
    try:
        return _accepted(parameter, value)
    except Failure as error:
        error.argument = number
        raise


def _accepted(parameter: Parameter, value: object) -> object:
    if isinstance(value, Nil):
        if parameter.kind not in NILABLE:
            raise Failure(f"cannot assign nil to {parameter.name}")
        return parameter.accept(None)
    if isinstance(value, Node):
        literal: Literal = value  # type: ignore[assignment]  # the compiler passes no other node
        return convert(literal, parameter)
    return parameter.accept(value)


# Output.


def top(context: Context, value: object) -> str:
    """Print the value of an action, where nil is `<no value>`."""
    return "<no value>" if value is None else show(value, context.limits)


def top_marked(context: Context, value: object) -> object:
    """Print the value of an action, but keep the results of `int`, `float` and `bool`."""
    return value if type(value) in MARKED else top(context, value)


def join_marked(pieces: Iterable[object]) -> object:
    """Join pieces; a typed value is kept if it is the only piece."""
    nonempty = [piece for piece in pieces if not isinstance(piece, str) or piece]
    if len(nonempty) == 1:
        return nonempty[0]
    return _join([piece if isinstance(piece, str) else show(piece) for piece in nonempty])


def show_text(value: object) -> str:
    """Print for `%s`."""
    return sprintf("%s", value)


def show_number(value: object) -> str:
    """Print for `%d`."""
    return sprintf("%d", value)


# Loops and calls.


def over(value: object, variables: int) -> Iterator[tuple[object, object]] | None:
    """Return index and element of each iteration; None for no iterations."""
    if isinstance(value, dict):
        return iter([(key, value[key]) for key in sorted_keys(value)]) if value else None
    if isinstance(value, list):
        return iter(list(enumerate(value))) if value else None
    if value is None:
        return None
    kind = kind_of(value)
    if isinstance(value, int) and kind in INTEGER_KINDS and not isinstance(value, Object):
        if variables > 1:
            raise Failure(f"can't use {int(value)} to iterate over more than one variable")
        numbers = range(value) if kind is Kind.INT else map(type(value), range(value))
        return zip(repeat(None), numbers, strict=False) if value > 0 else None
    raise Failure(f"range can't iterate over {show(value)}")


def run(
    context: Context,
    template: Callable[[object, Context, Callable[[object], None]], None],
    dot: object,
    write: Callable[[object], None],
) -> None:
    """Render a nested template."""
    context.enter()
    template(dot, context, write)
    context.depth -= 1


def slow(context: Context, function: Callable[..., object], *arguments: object) -> object:
    """Call a slow function; the deadline is extended by its time."""
    context.slow_call()
    started = monotonic()
    result = function(*arguments)
    context.deadline.extend(monotonic() - started)
    return result


def begin(context: Context) -> Callable[[object], None]:
    """Start collecting output."""
    return context.out.append


def finish(context: Context) -> str:
    """Join the collected output."""
    context.compact()
    return _join([piece for piece in context.out if isinstance(piece, str)])


def finish_marked(context: Context) -> object:
    """Join the collected output; a typed value is kept if it is the only piece."""
    return join_marked(context.out)


def checked_join(context: Context, pieces: tuple[str, ...]) -> str:
    """Join many pieces after checking their total size."""
    limit = context.limits.output
    if sum(map(len, pieces)) > limit:
        raise LimitError(f"output of more than {limit} bytes")
    return _join(pieces)


NAMES: Mapping[str, object] = {
    "type": type,
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "join": _join,
    **{
        function.__name__: function
        for function in (
            *(fail, plain, accept, chain, invoke, top, top_marked, join_marked, show, show_text),
            *(show_number, over, run, slow, begin, finish, finish_marked, checked_join, eq, ne),
        )
    },
    "count_iteration": Context.count_iteration,
    "meter": Context.meter,
    "meter_shared": Context.meter_shared,
    "meter_texts": Context.meter_texts,
}
