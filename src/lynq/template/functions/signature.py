"""Declares template functions: a Go signature says which arguments a call may have.

    @function("trunc", "func(int, string) string")
    def trunc(length: int, text: str) -> str: ...

Count and types of the arguments are checked from the signature as reflect does it, so a function's
body gets what it asks for and checks nothing again. Its result is given the Go type that the
signature names: a plain `int`, `list` or `dict` is enough for `int64`, `[]string` or
`map[string]string`, and None for a nil slice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache, wraps
from types import ModuleType
from typing import TypeVar

from lynq.template.errors import Failure
from lynq.template.values import (
    ANY_MAP,
    Int32,
    Int64,
    Ints,
    Kind,
    Lists,
    NilList,
    NilMap,
    NilStrings,
    StringMap,
    Strings,
    TypedBool,
    Uint,
    Uint8,
    Uint32,
    Uint64,
    Variables,
    type_of,
)

_INTEGERS: dict[str, type[int]] = {
    "int": int,
    "int32": Int32,
    "int64": Int64,
    "uint": Uint,
    "uint8": Uint8,
    "uint32": Uint32,
    "uint64": Uint64,
}
NILABLE = frozenset({Kind.SLICE, Kind.MAP, Kind.POINTER, Kind.INTERFACE})
"""Kinds for which the constant nil may be passed."""
# Defined types that are not structs: constants are assignable to them.
_NAMED: dict[str, Kind] = {"time.Duration": Kind.INT64}
_NIL_OF: dict[str, Callable[[], object]] = {
    "[]interface {}": NilList,
    "[]string": NilStrings,
    "map[string]interface {}": NilMap,
}
_RESULTS: dict[str, Callable[[object], object]] = {
    "[]string": Strings,  # type: ignore[dict-item]
    "[]int": Ints,  # type: ignore[dict-item]
    "[][]interface {}": Lists,  # type: ignore[dict-item]
    "map[string]string": StringMap,  # type: ignore[dict-item]
    "float64": float,  # type: ignore[dict-item]
    **{name: cls for name, cls in _INTEGERS.items() if cls is not int},
}


ANY_NAMES = frozenset({"interface {}", "reflect.Value"})


class Parameter:
    """One parameter of a Go function."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = _kind(name)

    def accept(self, value: object, *, boxed: bool = False) -> object:
        """Return the value as the parameter's type, or fail as Go's `validateType` does.

        `boxed` means that Go holds the value in an interface, where its nil has a type.
        """
        if self.name in ANY_NAMES:
            return bool(value) if type(value) is TypedBool else value
        go_type = type_of(value)
        if go_type is None:
            return self._nil(boxed=boxed)
        if go_type.name == self.name:
            return bool(value) if type(value) is TypedBool else value
        if type(value) is Variables and self.name == ANY_MAP.name:
            return value
        raise Failure(f"wrong type for value; expected {self.name}; got {go_type.name}")

    def _nil(self, *, boxed: bool) -> object:
        if boxed:
            raise Failure(f"wrong type for value; expected {self.name}; got interface {{}}")
        if self.name in _NIL_OF:
            return _NIL_OF[self.name]()
        if self.kind is Kind.POINTER:
            return None
        raise Failure(f"invalid value; expected {self.name}")


@lru_cache(maxsize=64)
def _parameter(name: str) -> Parameter:
    return Parameter(name)


def parse_signature(signature: str) -> tuple[tuple[Parameter, ...], Parameter | None, str]:
    """Parse `func(int, ...string) (string, error)`: parameters, variadic one, first result."""
    inside, _, results = signature.removeprefix("func(").partition(")")
    names = [_canonical(part) for part in inside.split(",") if part.strip()]
    variadic = None
    if names and names[-1].startswith("..."):
        variadic = _parameter(_canonical(names.pop().removeprefix("...")))
    result = _canonical(results.strip().strip("()").split(",")[0])
    return tuple(_parameter(name) for name in names), variadic, result


def adapt_result(result: str, body: Callable[..., object]) -> Callable[..., object]:
    """Convert the plain Python values that a body returns to the class of its Go result type."""
    make = _RESULTS.get(result)
    if make is None and result not in _NIL_OF:
        return body

    @wraps(body)
    def adapted(*args: object) -> object:
        value = body(*args)
        if value is None and result in _NIL_OF:
            return _NIL_OF[result]()
        if make is None or (type_of(value) or ANY_MAP).name == result:
            return value
        return make(value)

    return adapted


def _canonical(name: str) -> str:
    return name.strip().replace("interface{}", "interface {}").replace("any", "interface {}")


def _kind(name: str) -> Kind:
    if name.startswith("[]"):
        return Kind.SLICE
    if name.startswith("map["):
        return Kind.MAP
    if name.startswith("*"):
        return Kind.POINTER
    if name in ANY_NAMES:
        return Kind.INTERFACE
    if name in _NAMED:
        return _NAMED[name]
    return Kind(name) if name in set(Kind) else Kind.STRUCT


_F = TypeVar("_F", bound=Callable[..., object])
_DECLARED = "_template_functions"


class Needs(Flag):
    """The inputs of a function besides its arguments, and its cost."""

    NOTHING = 0
    CLOCK = auto()
    """The render's `now`."""
    RANDOM = auto()
    """The render's repeatable randomness."""
    LIMITS = auto()
    """The limits, to fail before a value is built."""
    ENTROPY = auto()
    """Randomness that cannot be repeated: allowed only in resources that are created once."""
    SLOW = auto()
    """So much time that it is rendered off the event loop."""


_CONTEXT = Needs.CLOCK | Needs.RANDOM | Needs.LIMITS


@dataclass(frozen=True, slots=True)
class Function:
    """A function that templates can call."""

    name: str
    parameters: tuple[Parameter, ...]
    variadic: Parameter | None
    result: str
    body: Callable[..., object]
    needs: Needs = Needs.NOTHING
    passes: bool = False
    """Whether it hands out one of its arguments, mark of `int`, `float` and `bool` included."""

    @property
    def wants_context(self) -> bool:
        """Whether the body takes the render's context as its first argument."""
        return bool(self.needs & _CONTEXT)


def function(
    name: str, signature: str, *, needs: Needs = Needs.NOTHING, passes: bool = False
) -> Callable[[_F], _F]:
    """Declare a template function; repeated on one body, it declares aliases.

    With `Needs.CLOCK`, `RANDOM` or `LIMITS` the body's first argument is the render's `Context`.
    """

    def declare(body: _F) -> _F:
        aliases: tuple[Function, ...] = getattr(body, _DECLARED, ())
        declared = _make(name, signature, body, needs=needs, passes=passes)
        setattr(body, _DECLARED, (*aliases, declared))
        return body

    return declare


def method(name: str, signature: str, body: Callable[..., object]) -> tuple[str, Function]:
    """Declare a method of an `Object`, for its `methods`; the body receives the object first."""
    return name, _make(name, signature, body)


def declared_in(module: ModuleType) -> Mapping[str, Function]:
    """Return the functions that a module declares."""
    functions: dict[str, Function] = {}
    for value in vars(module).values():
        for declared in getattr(value, _DECLARED, ()):
            functions[declared.name] = declared
    return functions


def _make(
    name: str,
    signature: str,
    body: Callable[..., object],
    *,
    needs: Needs = Needs.NOTHING,
    passes: bool = False,
) -> Function:
    parameters, variadic, result = parse_signature(signature)
    return Function(
        name, parameters, variadic, result, adapt_result(result, body), needs=needs, passes=passes
    )
