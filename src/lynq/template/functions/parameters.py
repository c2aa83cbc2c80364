"""Go's parameter types: what may be passed for one, as reflect's assignability has it."""

from collections.abc import Callable
from functools import lru_cache, wraps

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
# Defined types that are no structs: a constant may be passed for them.
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
    **{name: made for name, made in _INTEGERS.items() if made is not int},
}


ANY_NAMES = frozenset({"interface {}", "reflect.Value"})


class Parameter:
    """One parameter of a Go function."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = _kind(name)

    def accept(self, value: object, *, boxed: bool = False) -> object:
        """Give the value as this parameter takes it, or fail as Go's `validateType` does.

        `boxed` says that Go would hold the value in an interface: its nil has a type there.
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
    """Read `func(int, ...string) (string, error)`: parameters, variadic one, first result."""
    inside, _, results = signature.removeprefix("func(").partition(")")
    names = [_canonical(part) for part in inside.split(",") if part.strip()]
    variadic = None
    if names and names[-1].startswith("..."):
        variadic = _parameter(_canonical(names.pop().removeprefix("...")))
    result = _canonical(results.strip().strip("()").split(",")[0])
    return tuple(_parameter(name) for name in names), variadic, result


def adapt_result(result: str, body: Callable[..., object]) -> Callable[..., object]:
    """Let a body answer with plain Python values where its Go type is a subclass of them."""
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
