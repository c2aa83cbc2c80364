"""Integer arithmetic in 64 bits, and sequences of integers."""

from lynq.template.context import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.casts import to_int, to_ints
from lynq.template.functions.signature import Needs, function
from lynq.template.values import wrap_int64


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
    """Take the second from the first."""
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
    """Divide, and cut the fraction off."""
    return wrap_int64(_divide(to_int(left), to_int(right))[0])


@function("mod", "func(interface{}, interface{}) int64")
def mod(left: object, right: object) -> int:
    """Give what remains of a division; it has the sign of the first."""
    return _divide(to_int(left), to_int(right))[1]


@function("max", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
@function("biggest", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
def largest(context: Context, *values: object) -> int:
    """Give the largest."""
    return max(to_ints(context, values))


@function("min", "func(interface{}, ...interface{}) int64", needs=Needs.LIMITS)
def smallest(context: Context, *values: object) -> int:
    """Give the smallest."""
    return min(to_ints(context, values))


@function("until", "func(int) []int", needs=Needs.LIMITS)
def until(context: Context, count: int) -> list[int]:
    """Count from 0 up to, or down to, the number before this one."""
    return until_step(context, 0, count, -1 if count < 0 else 1)


@function("untilStep", "func(int, int, int) []int", needs=Needs.LIMITS)
def until_step(context: Context, start: int, stop: int, step: int) -> list[int]:
    """Count in steps; a step that leads away from the stop, or nowhere, gives nothing."""
    if step == 0 or (stop < start) != (step < 0):
        return []
    numbers = range(start, stop, step)
    # Not len(): it refuses what does not fit into 64 bits.
    context.limits.check_items(abs(stop - start) // abs(step))
    return list(numbers)


@function("seq", "func(...int) string", needs=Needs.LIMITS)
def seq(context: Context, *numbers: int) -> str:
    """Count as the shell's seq does: the end, start and end, or start, step and end."""
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
    """Divide towards zero, as Go does; Python divides towards minus infinity."""
    if right == 0:
        raise FunctionError("runtime error: integer divide by zero")
    quotient, rest = divmod(abs(left), abs(right))
    negative = (left < 0) != (right < 0)
    return -quotient if negative else quotient, -rest if left < 0 else rest
