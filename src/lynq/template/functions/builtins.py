"""text/template's own functions on any value: not, len, index, print, printf, println, call.

`and` and `or` are declared for their arguments only: the compiler makes them of Python's own,
which stop at the first argument that decides. The built-in `slice` is hidden by sprig's.
"""

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import sprint, sprintf, sprintln
from lynq.template.values import INTEGER_KINDS, Kind, Uint8, kind_of, to_bytes, type_name, type_of

_VALUE = "reflect.Value"


@function("and", f"func({_VALUE}, ...{_VALUE}) {_VALUE}", passes=True)
def and_(first: object, *others: object) -> object:
    """Return the first false argument, or the last."""
    return next((value for value in (first, *others[:-1]) if not value), (first, *others)[-1])


@function("or", f"func({_VALUE}, ...{_VALUE}) {_VALUE}", passes=True)
def or_(first: object, *others: object) -> object:
    """Return the first true argument, or the last."""
    return next((value for value in (first, *others[:-1]) if value), (first, *others)[-1])


@function("not", f"func({_VALUE}) bool")
def not_(value: object) -> bool:
    """Report whether a value is false: zero, empty or nil."""
    return not value


@function("len", f"func({_VALUE}) (int, error)")
def length(value: object, boxed: bool = False) -> int:  # noqa: FBT001, FBT002 - the compiler adds it
    """Return the length of a string (in bytes), list or map; Go distinguishes a nil in a map."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(to_bytes(value))
    if isinstance(value, list | dict):
        return len(value)
    if value is None:
        zero = "reflect: call of reflect.Value.Type on zero Value"
        raise FunctionError("len of nil pointer" if boxed else zero)
    raise FunctionError(f"len of type {type_name(value).removeprefix('*')}")


@function("index", f"func({_VALUE}, ...{_VALUE}) ({_VALUE}, error)", passes=True)
def index(value: object, *indexes: object) -> object:
    """Index a list, map or string by each of the keys in turn."""
    if value is None:
        raise FunctionError("index of untyped nil")
    for key in indexes:
        value = _item(value, key)
    return value


def _item(value: object, key: object) -> object:
    if value is None:
        raise FunctionError("index of nil pointer")
    if isinstance(value, dict):
        return _map_item(value, key)
    if isinstance(value, list):
        return value[_position(key, len(value), "slice")]
    if isinstance(value, str):
        data = to_bytes(value)
        return Uint8(data[_position(key, len(data), "string")])
    raise FunctionError(f"can't index item of type {type_name(value).removeprefix('*')}")


def _map_item(value: dict[str, object], key: object) -> object:
    if key is None:
        raise FunctionError("value is nil; should be of type string")
    if not isinstance(key, str):
        raise FunctionError(f"value has type {type_name(key)}; should be string")
    if key in value:
        return value[key]
    go_type = type_of(value)
    zero_is_text = (
        go_type is not None and go_type.elem is not None and go_type.elem.kind is Kind.STRING
    )
    return "" if zero_is_text else None


def _position(key: object, size: int, indexed: str) -> int:
    if key is None:
        raise FunctionError("cannot index slice/array with nil")
    if not isinstance(key, int) or kind_of(key) not in INTEGER_KINDS:
        raise FunctionError(f"cannot index slice/array with type {type_name(key)}")
    if not 0 <= key <= size:
        raise FunctionError(f"index out of range: {int(key)}")
    if key == size:
        # Go's check accepts an index equal to the length; reflect then panics.
        raise FunctionError(f"reflect: {indexed} index out of range")
    return key


@function("print", "func(...interface{}) string", needs=Needs.LIMITS)
def print_(context: Context, *values: object) -> str:
    """Print values, with a space between two that are no strings."""
    return sprint(*values, limits=context.limits)


@function("println", "func(...interface{}) string", needs=Needs.LIMITS)
def println(context: Context, *values: object) -> str:
    """Print values with spaces between them, and a newline."""
    return sprintln(*values, limits=context.limits)


@function("printf", "func(string, ...interface{}) string", needs=Needs.LIMITS)
def printf(context: Context, template: str, *values: object) -> str:
    """Print values by a format."""
    return sprintf(template, *values, limits=context.limits)


@function("call", f"func({_VALUE}, ...{_VALUE}) ({_VALUE}, error)")
def call(name: str, value: object, *_arguments: object) -> object:
    """Fail: no value in a template is a function. The compiler adds the name of the operand."""
    if value is None:
        raise FunctionError("call of nil")
    called = name or (value if isinstance(value, str) else f"<{type_name(value)} Value>")
    raise FunctionError(f"non-function {called} of type {type_name(value)}")
