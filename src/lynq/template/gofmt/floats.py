"""strconv.FormatFloat, and the numbers and escapes of encoding/json."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

_MANTISSA_BITS: Final = 52
_BIAS: Final = 1023
_SHORTEST_EXPONENT: Final = 6


def format_float(number: float, verb: str = "g", precision: int = -1) -> str:
    """Format a number; the precision -1 means the fewest digits that parse to the same value."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    return sign + _NOTATIONS[verb](abs(number), precision)


def _digits(number: float, count: int) -> tuple[str, int]:
    """Return the digits, rounded to `count` (or the fewest), and the position of the point."""
    text = f"{number:.{count - 1}e}" if count > 0 else f"{number!r}"
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return digits, point if digits else 0


def _exponential(number: float, precision: int) -> str:
    if precision >= 0:
        return f"{number:.{precision}e}"
    digits, point = _digits(number, 0)
    return _join_exponent(digits, point)


def _join_exponent(digits: str, point: int) -> str:
    exponent = point - 1 if digits else 0
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{digits[:1] or '0'}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _fixed(number: float, precision: int) -> str:
    if precision >= 0:
        return f"{number:.{precision}f}"
    return _join_fixed(*_digits(number, 0))


def _join_fixed(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits if digits else "0"
    whole = digits[:point].ljust(point, "0")
    return whole + ("." + digits[point:] if digits[point:] else "")


def _general(number: float, precision: int) -> str:
    shortest = precision < 0
    digits, point = _digits(number, 0 if shortest else max(precision, 1))
    threshold = max(precision, 1)
    if threshold > len(digits) >= point:
        threshold = len(digits)
    if shortest:
        threshold = _SHORTEST_EXPONENT
    exponent = point - 1
    if exponent < -4 or exponent >= threshold:  # noqa: PLR2004 - as in C's printf
        return _join_exponent(digits, point)
    return _join_fixed(digits, point)


def _binary(number: float, _precision: int) -> str:
    mantissa, exponent = _split(number)
    return f"{mantissa}p{exponent - _MANTISSA_BITS:+d}"


def _hexadecimal(number: float, precision: int) -> str:
    """`0x1.8p+01`: the mantissa normalised, rounded half to even."""
    mantissa, exponent = _split(number)
    if mantissa:
        while not mantissa >> _MANTISSA_BITS:
            mantissa <<= 1
            exponent -= 1
    else:
        exponent = 0
    digits_in_mantissa = _MANTISSA_BITS // 4
    if 0 <= precision < digits_in_mantissa:
        shift = (digits_in_mantissa - precision) * 4
        low = mantissa & ((1 << shift) - 1)
        mantissa >>= shift
        half = 1 << (shift - 1)
        mantissa += low > half or (low == half and mantissa & 1 == 1)
        mantissa <<= shift
        if mantissa >> (_MANTISSA_BITS + 1):
            mantissa >>= 1
            exponent += 1
    fraction = f"{mantissa & ((1 << _MANTISSA_BITS) - 1):0{digits_in_mantissa}x}"
    fraction = fraction.rstrip("0") if precision < 0 else fraction[:precision].ljust(precision, "0")
    point = "." + fraction if fraction else ""
    return (
        f"0x{mantissa >> _MANTISSA_BITS}{point}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    )


def _split(number: float) -> tuple[int, int]:
    """Return mantissa and exponent as in the IEEE 754 encoding."""
    fraction, exponent = math.frexp(number)
    if number == 0:
        return 0, 1 - _BIAS
    exponent -= 1
    if exponent < 1 - _BIAS:
        return int(math.ldexp(number, _MANTISSA_BITS + _BIAS - 1)), 1 - _BIAS
    return int(math.ldexp(fraction, _MANTISSA_BITS + 1)), exponent


_NOTATIONS: Final[Mapping[str, Callable[[float, int], str]]] = {
    "e": _exponential,
    "E": lambda number, precision: _exponential(number, precision).upper(),
    "f": _fixed,
    "F": _fixed,
    "g": _general,
    "G": lambda number, precision: _general(number, precision).upper(),
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda number, precision: _hexadecimal(number, precision).upper(),
}


_LARGE, _SMALL = 1e21, 1e-6
_PADDED_EXPONENT: Final = re.compile(r"e-0([0-9])\Z")
_SURROGATES: Final = range(0xD800, 0xE000)
_ESCAPED: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def go_escaped(text: str) -> str:
    """Escape the further characters that Go escapes; they occur only inside JSON strings."""
    return _ESCAPED.sub(_escape, text)


def go_number(number: float) -> str:
    """Format a finite number in Go's shortest form; the exponent has no leading zero."""
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        return format_float(number, "f")
    return _PADDED_EXPONENT.sub(r"e-\1", format_float(number, "e"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if code in _SURROGATES else f"\\u{code:04x}"
