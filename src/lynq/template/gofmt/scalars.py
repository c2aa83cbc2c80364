"""fmt's verbs for bool, integers, floats and strings, with flags, width and precision."""

from dataclasses import dataclass
from typing import Final

from lynq.template.gofmt.floats import format_float
from lynq.template.gofmt.quoting import can_backquote, is_print, quote, quote_rune, rune_text
from lynq.template.values import from_bytes, to_bytes


@dataclass(slots=True)
class Flags:
    """The flags, width and precision between `%` and the verb."""

    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    plus_v: bool = False
    sharp_v: bool = False
    width: int | None = None
    precision: int | None = None

    def for_verb(self, verb: str) -> None:
        """Convert the flags of `%+v` and `%#v` to plusV and sharpV, as Go does."""
        if verb in "vw":
            self.sharp_v, self.sharp = self.sharp, False
            self.plus_v, self.plus = self.plus, False

    def pad(self, text: str, *, zero: bool | None = None) -> str:
        """Pad to the width, which counts characters; zeros pad only on the left."""
        if not self.width:
            return text
        missing = self.width - count_runes(text)
        if self.minus:
            return text + self._filler(missing, zero=zero)
        return self._filler(missing, zero=zero) + text

    def truncate(self, text: str) -> str:
        """Truncate to the precision, which counts characters."""
        if self.precision is None or len(text) <= self.precision:
            return text
        return _whole(text)[: self.precision]

    def _filler(self, size: int, *, zero: bool | None) -> str:
        zeros = self.zero if zero is None else zero
        return ("0" if zeros and not self.minus else " ") * size


def count_runes(text: str) -> int:
    """Count a text's characters; an invalid byte counts as one."""
    return len(_whole(text))


def _whole(text: str) -> str:
    """Combine adjacent bytes that together encode a character."""
    return text if text.isascii() else from_bytes(to_bytes(text))


_BASES: Final = {"d": 10, "v": 10, "b": 2, "o": 8, "O": 8, "x": 16, "X": 16}
_SPECS: Final = {2: "b", 8: "o", 10: "d", 16: "x"}
_PREFIXES: Final = {2: "0b", 16: "0x"}
_UNSIGNED: Final = 1 << 64
_MAX_RUNE: Final = 0x10FFFF
_FLOAT_DEFAULTS: Final = {"f": 6, "F": 6, "e": 6, "E": 6}


def format_bool(value: bool, verb: str, flags: Flags) -> str | None:  # noqa: FBT001 - it is the value
    """Format a bool: `%t` and `%v`."""
    return flags.pad("true" if value else "false") if verb in "tv" else None


def format_integer(value: int, verb: str, flags: Flags, *, signed: bool) -> str | None:
    """Format an integer."""
    if verb in _BASES:
        if verb == "v" and flags.sharp_v and not signed:
            return flags.pad(_digits(value, "x", flags, sharp=True), zero=False)
        return _number(value, verb, flags)
    code = value % _UNSIGNED
    if verb == "c":
        return flags.pad(rune_text(code))
    if verb == "q":
        return flags.pad(quote_rune(code, ascii_only=flags.plus))
    if verb == "U":
        return flags.pad(_unicode(code, flags), zero=False)
    return None


def _number(value: int, verb: str, flags: Flags) -> str:
    if flags.precision == 0 and value == 0:
        return " " * (flags.width or 0)
    return flags.pad(_digits(value, verb, flags, sharp=flags.sharp), zero=False)


def _digits(value: int, verb: str, flags: Flags, *, sharp: bool) -> str:
    base = _BASES[verb]
    digits = format(abs(value), _SPECS[base])
    digits = digits.rjust(_wanted_digits(value, flags), "0")
    if sharp:
        digits = _PREFIXES.get(base, "" if base != 8 or digits[0] == "0" else "0") + digits  # noqa: PLR2004
    if verb == "X":
        digits = digits.upper()
    if verb == "O":
        digits = "0o" + digits
    return _sign(value, flags) + digits


def _wanted_digits(value: int, flags: Flags) -> int:
    """Return the number of digits: the precision, or the width if it is padded with zeros."""
    if flags.precision is not None:
        return flags.precision
    if not flags.zero or flags.minus or not flags.width:
        return 0
    return flags.width - len(_sign(value, flags))


def _sign(value: int, flags: Flags) -> str:
    if value < 0:
        return "-"
    return "+" if flags.plus else " " if flags.space else ""


def _unicode(code: int, flags: Flags) -> str:
    text = f"U+{code:0{max(flags.precision or 0, 4)}X}"
    if flags.sharp and code <= _MAX_RUNE and is_print(chr(code)):
        return f"{text} '{chr(code)}'"
    return text


def format_float64(value: float, verb: str, flags: Flags) -> str | None:
    """Format a float64."""
    if verb not in "vbgGxXfFeE":
        return None
    notation = {"v": "g", "F": "f"}.get(verb, verb)
    default = _FLOAT_DEFAULTS.get(verb, -1)
    precision = default if flags.precision is None else flags.precision
    text = format_float(value, notation, precision)
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("+", text)
    if flags.space and sign == "+" and not flags.plus:
        sign = " "
    if digits in ("Inf", "NaN"):
        bare = digits == "NaN" and not flags.space and not flags.plus
        return flags.pad(digits if bare else sign + digits, zero=False)
    if flags.sharp and notation != "b":
        digits = _sharp(digits, notation, precision)
    if sign == "+" and not flags.plus:
        return flags.pad(digits)
    if flags.zero and not flags.minus and flags.width and flags.width > len(digits) + 1:
        return sign + digits.rjust(flags.width - 1, "0")
    return flags.pad(sign + digits)


def _sharp(text: str, notation: str, precision: int) -> str:
    """Force a decimal point, and for `%g` the trailing zeros."""
    ends = "pP" if notation in "xX" else "eEpP"
    cut = next((i for i, char in enumerate(text) if char in ends), len(text))
    head, tail = text[:cut], text[cut:]
    digits_needed = 0
    if notation in "gGx":
        digits_needed = 6 if precision == -1 else precision
    significant = head.replace(".", "").lstrip("0")
    missing = digits_needed - len(significant)
    if "." not in head:
        missing -= head == "0"
        head += "."
    return head + "0" * max(missing, 0) + tail


def format_string(value: str, verb: str, flags: Flags) -> str | None:
    """Format a string."""
    if verb == "s" or (verb == "v" and not flags.sharp_v):
        return flags.pad(flags.truncate(value))
    if verb in "qv":
        value = flags.truncate(value)
        if flags.sharp and can_backquote(value):
            return flags.pad(f"`{value}`")
        return flags.pad(quote(value, ascii_only=flags.plus))
    if verb in "xX":
        return _hex(value, verb, flags)
    return None


def _hex(value: str, verb: str, flags: Flags) -> str:
    data = to_bytes(value)
    if flags.precision is not None:
        data = data[: flags.precision]
    prefix = "0x" if flags.sharp and data else ""
    text = prefix + (data.hex(" ").replace(" ", " " + prefix) if flags.space else data.hex())
    return flags.pad(text.upper() if verb == "X" else text)
