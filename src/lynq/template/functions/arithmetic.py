"""Arithmetic: 64-bit integers, integer sequences, and decimal fractions.

Decimals follow Go's package decimal, so that 0.1 + 0.2 is 0.3.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.casts import to_float, to_floats, to_int, to_ints
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.floats import format_float
from lynq.template.values import wrap_int64

_DIVISION_DIGITS = 16
_BEYOND_FLOATS = 400
_BITS_PER_DIGIT = math.log2(10)


class Decimal(NamedTuple):
    """The number `digits` times ten to the power of `exponent`."""

    digits: int
    exponent: int


_Operation = Callable[[Decimal, Decimal], Decimal]


@function("add1f", "func(interface{}) float64", needs=Needs.LIMITS)
def add1f(context: Context, value: object) -> float:
    """Add one."""
    return _fold(context, _add, value, 1)


@function("addf", "func(...interface{}) float64", needs=Needs.LIMITS)
def addf(context: Context, *values: object) -> float:
    """Add all."""
    return _fold(context, _add, 0.0, *values)


@function("subf", "func(interface{}, ...interface{}) float64", needs=Needs.LIMITS)
def subf(context: Context, *values: object) -> float:
    """Subtract all others from the first."""
    return _fold(context, _sub, *values)


@function("mulf", "func(interface{}, ...interface{}) float64", needs=Needs.LIMITS)
def mulf(context: Context, *values: object) -> float:
    """Multiply all."""
    return _fold(context, _mul, *values)


@function("divf", "func(interface{}, ...interface{}) float64", needs=Needs.LIMITS)
def divf(context: Context, *values: object) -> float:
    """Divide the first by all others, each time to 16 decimal places."""
    return _fold(context, _div, *values)


@function("maxf", "func(interface{}, ...interface{}) float64", needs=Needs.LIMITS)
def maxf(context: Context, *values: object) -> float:
    """Return the largest: infinity before NaN, NaN before any number, 0 before -0."""
    return reduce(_larger, to_floats(context, values))


@function("minf", "func(interface{}, ...interface{}) float64", needs=Needs.LIMITS)
def minf(context: Context, *values: object) -> float:
    """Return the smallest: minus infinity before NaN, NaN before any number, -0 before 0."""
    return -reduce(_larger, (-number for number in to_floats(context, values)))


@function("floor", "func(interface{}) float64")
def floor(value: object) -> float:
    """Round down to a whole number."""
    return _floor(to_float(value))


@function("ceil", "func(interface{}) float64")
def ceil(value: object) -> float:
    """Round up to a whole number."""
    return -_floor(-to_float(value))


@function("round", "func(interface{}, int, ...float64) float64")
def rounded(value: object, places: int, *round_on: float) -> float:
    """Round to decimal places: up from `round_on` (0.5), else down, below zero too."""
    power = _power_of_ten(places)
    scaled = power * to_float(value)
    fraction = math.modf(scaled)[0] if math.isfinite(scaled) else math.nan
    limit = round_on[0] if round_on else 0.5
    whole = -_floor(-scaled) if fraction >= limit else _floor(scaled)
    return _quotient(whole, power)


def _fold(context: Context, operation: _Operation, *values: object) -> float:
    numbers = map(_decimal, to_floats(context, values))
    result = next(numbers)
    for number in numbers:
        # A product has as many digits as its factors together, so each step takes longer.
        context.check_deadline()
        result = operation(result, number)
    return _to_float(result)


def _decimal(number: float) -> Decimal:
    if not math.isfinite(number):
        raise FunctionError(f"Cannot create a Decimal from {format_float(number)}")
    # repr writes the shortest digits that round-trip, which Go's package parses.
    mantissa, _, exponent = repr(float(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return Decimal(int(whole + fraction), int(exponent or 0) - len(fraction))


def _to_float(number: Decimal) -> float:
    # The power of ten is not computed where the result is no float64: the product of many numbers
    # may have any exponent.
    magnitude = number.digits.bit_length() / _BITS_PER_DIGIT + number.exponent
    sign = -1.0 if number.digits < 0 else 1.0
    if number.digits == 0:
        return 0.0
    if abs(magnitude) > _BEYOND_FLOATS:
        return sign * (math.inf if magnitude > 0 else 0.0)
    try:
        if number.exponent >= 0:
            return float(number.digits * _ten_to(number.exponent))
        return number.digits / _ten_to(-number.exponent)
    except OverflowError:
        return sign * math.inf


def _add(left: Decimal, right: Decimal) -> Decimal:
    exponent = min(left.exponent, right.exponent)
    return Decimal(_scaled(left, exponent) + _scaled(right, exponent), exponent)


def _sub(left: Decimal, right: Decimal) -> Decimal:
    return _add(left, Decimal(-right.digits, right.exponent))


def _mul(left: Decimal, right: Decimal) -> Decimal:
    return Decimal(left.digits * right.digits, left.exponent + right.exponent)


def _div(left: Decimal, right: Decimal) -> Decimal:
    if right.digits == 0:
        raise FunctionError("decimal division by 0")
    shift = left.exponent - right.exponent + _DIVISION_DIGITS
    over = abs(left.digits) * _ten_to(max(shift, 0))
    under = abs(right.digits) * _ten_to(max(-shift, 0))
    quotient, rest = divmod(over, under)
    quotient += 2 * rest >= under
    negative = (left.digits < 0) != (right.digits < 0)
    return Decimal(-quotient if negative else quotient, -_DIVISION_DIGITS)


def _scaled(number: Decimal, exponent: int) -> int:
    return number.digits * _ten_to(number.exponent - exponent)


def _ten_to(power: int) -> int:
    return int(10**power)


def _larger(left: float, right: float) -> float:
    if math.inf in (left, right):
        return math.inf
    if math.isnan(left) or math.isnan(right):
        return math.nan
    if left == right == 0:
        return right if math.copysign(1, left) < 0 else left
    return max(left, right)


def _floor(number: float) -> float:
    """Floor that keeps -0, infinity and NaN."""
    if not math.isfinite(number) or number == 0:
        return number
    return math.copysign(float(math.floor(number)), number)


def _power_of_ten(exponent: int) -> float:
    """Return math.Pow(10, exponent) with Go's rounding: by squares of the mantissa."""
    if abs(exponent) > _BEYOND_FLOATS:
        return math.inf if exponent > 0 else 0.0
    power, power_exponent = 1.0, 0
    square, square_exponent = math.frexp(10.0)
    left = abs(exponent)
    while left:
        if left & 1:
            power *= square
            power_exponent += square_exponent
        square *= square
        square_exponent *= 2
        if square < 0.5:  # noqa: PLR2004 - a mantissa is at least one half
            square += square
            square_exponent -= 1
        left >>= 1
    if exponent < 0:
        power, power_exponent = 1 / power, -power_exponent
    try:
        return math.ldexp(power, power_exponent)
    except OverflowError:
        return math.inf


def _quotient(over: float, under: float) -> float:
    if under == 0:
        return math.nan if over == 0 or math.isnan(over) else math.copysign(math.inf, over)
    return over / under


@function("add", "func(...interface{}) int64", needs=Needs.LIMITS)
def add(context: Context, *values: object) -> int:
    """Add all."""
    return wrap_int64(sum(to_ints(context, values)))


@function("add1", "func(interface{}) int64")
def add1(value: object) -> int:
    """Add one."""
    return wrap_int64(to_int(value) + 1)


@function("sub", "func(interface{}, interface{}) int64")
def sub(left: object, right: object) -> int:
    """Subtract the second from the first."""
    return wrap_int64(to_int(left) - to_int(right))


@function("mul", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
def mul(context: Context, *values: object) -> int:
    """Multiply all."""
    product = 1
    for number in to_ints(context, values):
        product = wrap_int64(product * number)
    return product


@function("div", "func(interface{}, interface{}) int64")
def div(left: object, right: object) -> int:
    """Divide, truncating toward zero."""
    return wrap_int64(_divide(to_int(left), to_int(right))[0])


@function("mod", "func(interface{}, interface{}) int64")
def mod(left: object, right: object) -> int:
    """Return the remainder of a division; it has the sign of the dividend."""
    return _divide(to_int(left), to_int(right))[1]


@function("max", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
@function("biggest", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
def largest(context: Context, *values: object) -> int:
    """Return the largest."""
    return max(to_ints(context, values))


@function("min", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
def smallest(context: Context, *values: object) -> int:
    """Return the smallest."""
    return min(to_ints(context, values))


@function("until", "func(int) []int", needs=Needs.LIMITS)
def until(context: Context, count: int) -> list[int]:
    """List the integers from 0 to `count`, exclusive; a negative count lists downward."""
    return until_step(context, 0, count, -1 if count < 0 else 1)


@function("untilStep", "func(int, int, int) []int", needs=Needs.LIMITS)
def until_step(context: Context, start: int, stop: int, step: int) -> list[int]:
    """List the integers by `step`; a step of 0 or away from `stop` lists nothing."""
    if step == 0 or (stop < start) != (step < 0):
        return []
    numbers = range(start, stop, step)
    # Not len(), which fails for lengths over 64 bits.
    context.limits.check_items(abs(stop - start) // abs(step))
    return list(numbers)


@function("seq", "func(...int) string", needs=Needs.LIMITS)
def seq(context: Context, *numbers: int) -> str:
    """List integers like the shell command: by end, start and end, or start, step and end."""
    match numbers:
        case (end,):
            return _sequence(context, 1, 1 if end >= 1 else -1, end)
        case (start, end):
            return _sequence(context, start, 1 if end >= start else -1, end)
        case (start, step, end):
            return _sequence(context, start, step, end)
        case _:
            return ""


def _sequence(context: Context, start: int, step: int, end: int) -> str:
    if end < start and step > 0:
        return ""
    beyond = wrap_int64(end + (1 if end >= start else -1))
    texts = list(map(str, until_step(context, start, beyond, step)))
    context.limits.check_text(sum(map(len, texts)) + len(texts))
    return " ".join(texts)


def _divide(left: int, right: int) -> tuple[int, int]:
    """Divide, truncating toward zero as Go does; Python rounds toward minus infinity."""
    if right == 0:
        raise FunctionError("runtime error: integer divide by zero")
    quotient, rest = divmod(abs(left), abs(right))
    negative = (left < 0) != (right < 0)
    return -quotient if negative else quotient, -rest if left < 0 else rest
