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
from types import ModuleType
from typing import TypeVar

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.parameters import Parameter, adapt_result, parse_signature

__all__ = ["Context", "Function", "FunctionError", "Needs", "declared_in", "function", "method"]

_F = TypeVar("_F", bound=Callable[..., object])
_DECLARED = "_template_functions"


class Needs(Flag):
    """What a function takes besides its arguments, or costs besides a moment."""

    NOTHING = 0
    CLOCK = auto()
    """The render's `now`."""
    CHANCE = auto()
    """The render's repeatable randomness."""
    LIMITS = auto()
    """The limits, to refuse a value before it is built."""
    ENTROPY = auto()
    """Randomness that cannot be repeated: allowed only in resources that are created once."""
    SLOW = auto()
    """So much time that it is rendered off the event loop."""


_CONTEXT = Needs.CLOCK | Needs.CHANCE | Needs.LIMITS


@dataclass(frozen=True, slots=True)
class Function:
    """A function as templates see it."""

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
    """Declare a template function; several declarations of one body are several names for it.

    With `Needs.CLOCK`, `CHANCE` or `LIMITS` the body gets the render's `Context` first.
    """

    def declare(body: _F) -> _F:
        known: tuple[Function, ...] = getattr(body, _DECLARED, ())
        made = _make(name, signature, body, needs=needs, passes=passes)
        setattr(body, _DECLARED, (*known, made))
        return body

    return declare


def method(name: str, signature: str, body: Callable[..., object]) -> tuple[str, Function]:
    """Declare a method of an `Object`, for its `methods`: the body gets the receiver first."""
    return name, _make(name, signature, body)


def declared_in(module: ModuleType) -> Mapping[str, Function]:
    """List what a module declares."""
    found: dict[str, Function] = {}
    for value in vars(module).values():
        for each in getattr(value, _DECLARED, ()):
            found[each.name] = each
    return found


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
