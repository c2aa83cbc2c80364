"""Go's Print functions: default formats, and Sprintf's flags, `%[n]`, `*` and error output."""

from collections.abc import Sequence

from lynq.template.gofmt.printer import Printer
from lynq.template.gofmt.scalars import Flags
from lynq.template.limits import DEFAULT_LIMITS, Limits
from lynq.template.values import (
    INTEGER_KINDS,
    Int32,
    Int64,
    Kind,
    TypedInt,
    Uint,
    Uint8,
    Uint32,
    Uint64,
    kind_of,
    type_name,
)

_LARGEST = 1_000_000
_FLAGS = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}


def sprintf(template: str, *args: object, limits: Limits = DEFAULT_LIMITS) -> str:
    """Format as fmt.Sprintf does."""
    return _Formatter(template, args, limits).run()


class _Formatter:
    """One pass over a format string."""

    def __init__(self, template: str, args: Sequence[object], limits: Limits) -> None:
        self._text = template
        self._args = args
        self._printer = Printer(limits)
        self._at = 0
        self._next_arg = 0
        self._reordered = False
        self._good_index = True
        self._after_index = False

    def run(self) -> str:
        while self._at < len(self._text):
            percent = self._text.find("%", self._at)
            if percent < 0:
                self._printer.write(self._text[self._at :])
                break
            self._printer.write(self._text[self._at : percent])
            self._at = percent + 1
            self._printer.count()
            self._one_verb()
        self._extra_args()
        return self._printer.result()

    def _one_verb(self) -> None:
        self._good_index = True
        self._after_index = False
        self._printer.flags = Flags()
        self._read_flags()
        self._read_index()
        self._read_width()
        self._read_precision()
        if not self._after_index:
            self._read_index()
        if self._at >= len(self._text):
            self._printer.write("%!(NOVERB)")
            return
        verb = self._text[self._at]
        self._at += 1
        self._print("\ufffd" if "\udc80" <= verb <= "\udcff" else verb)

    def _print(self, verb: str) -> None:
        if verb == "%":
            self._printer.write("%")
        elif not self._good_index:
            self._printer.write(f"%!{verb}(BADINDEX)")
        elif self._next_arg >= len(self._args):
            self._printer.write(f"%!{verb}(MISSING)")
        else:
            self._printer.flags.for_verb(verb)
            self._printer.print_arg(self._args[self._next_arg], verb)
            self._next_arg += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _read_flags(self) -> None:
        while self._peek() in _FLAGS:
            setattr(self._printer.flags, _FLAGS[self._peek()], True)
            self._at += 1

    def _read_width(self) -> None:
        flags = self._printer.flags
        if self._peek() == "*":
            flags.width = self._arg_number()
            if flags.width is None:
                self._printer.write("%!(BADWIDTH)")
            elif flags.width < 0:
                flags.width = -flags.width
                flags.minus, flags.zero = True, False
            self._after_index = False
            return
        flags.width = self._number()
        if self._after_index and flags.width is not None:
            self._good_index = False

    def _read_precision(self) -> None:
        flags = self._printer.flags
        if self._peek() != "." or self._at + 1 >= len(self._text):
            return
        self._at += 1
        if self._after_index:
            self._good_index = False
        self._read_index()
        if self._peek() == "*":
            number = self._arg_number()
            flags.precision = number if number is not None and number >= 0 else None
            if flags.precision is None:
                self._printer.write("%!(BADPREC)")
            self._after_index = False
        else:
            flags.precision = self._number() or 0

    def _number(self) -> int | None:
        """Parse digits; a number that is too large consumes the rest of the format, as in Go."""
        number, start = 0, self._at
        while "0" <= self._peek() <= "9" and self._peek():
            if number > _LARGEST:
                self._at = len(self._text)
                return None
            number = number * 10 + int(self._peek())
            self._at += 1
        return number if self._at > start else None

    def _arg_number(self) -> int | None:
        """Consume an argument for `*`."""
        self._at += 1
        if self._next_arg >= len(self._args):
            return None
        value = self._args[self._next_arg]
        self._next_arg += 1
        if isinstance(value, int) and kind_of(value) in INTEGER_KINDS and abs(value) <= _LARGEST:
            return int(value)
        return None

    def _read_index(self) -> None:
        """Parse `[n]`, the index of the next argument."""
        self._after_index = False
        if self._peek() != "[":
            return
        self._reordered = True
        closing = self._text.find("]", self._at)
        if len(self._text) - self._at < len("[n]") or closing < 0:
            self._at += 1
            self._good_index = False
            return
        inside = self._text[self._at + 1 : closing]
        self._at = closing + 1
        number = int(inside.lstrip("0") or "0") if _is_index(inside) else 0
        self._after_index = _is_index(inside)
        if 1 <= number <= len(self._args):
            self._next_arg = number - 1
        else:
            self._good_index = False

    def _extra_args(self) -> None:
        if self._reordered or self._next_arg >= len(self._args):
            return
        self._printer.flags = Flags()
        self._printer.write("%!(EXTRA ")
        for number, value in enumerate(self._args[self._next_arg :]):
            if number:
                self._printer.write(", ")
            if value is not None:
                self._printer.write(f"{type_name(value)}=")
            self._printer.print_arg(value, "v")
        self._printer.write(")")


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(_LARGEST))


_WHOLE = frozenset({int, TypedInt, Int32, Int64, Uint, Uint8, Uint32, Uint64})


def show(value: object, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return what `%v` prints; a nested nil is `<nil>`."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value]  # `kind` implies the type
    if kind in _WHOLE:
        return str(value)
    printer = Printer(limits)
    printer.print_arg(value, "v")
    return printer.result()


def sprint(*values: object, limits: Limits = DEFAULT_LIMITS) -> str:
    """Print as fmt.Sprint: a space between two values when neither is a string."""
    printer = Printer(limits)
    after_string = True
    for value in values:
        string = kind_of(value) is Kind.STRING
        if not string and not after_string:
            printer.write(" ")
        printer.print_arg(value, "v")
        after_string = string
    return printer.result()


def sprintln(*values: object, limits: Limits = DEFAULT_LIMITS) -> str:
    """Print as fmt.Sprintln: a space between any two values, and a newline."""
    printer = Printer(limits)
    for number, value in enumerate(values):
        if number:
            printer.write(" ")
        printer.print_arg(value, "v")
    printer.write("\n")
    return printer.result()
