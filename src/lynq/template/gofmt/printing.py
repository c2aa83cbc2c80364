"""The Print functions of Go: default formats of values, with and without spaces."""

from lynq.template.gofmt.printer import Printer
from lynq.template.limits import DEFAULT_LIMITS, Limits
from lynq.template.values import Int32, Int64, Kind, TypedInt, Uint, Uint8, Uint32, Uint64, kind_of

_WHOLE = frozenset({int, TypedInt, Int32, Int64, Uint, Uint8, Uint32, Uint64})


def show(value: object, limits: Limits = DEFAULT_LIMITS) -> str:
    """Give what `%v` prints: inside, nil is `<nil>`."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[return-value]  # mypy does not see what `kind` says
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
