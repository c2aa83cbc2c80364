"""What commands print: lines, tables like kubectl's, JSON and YAML; colors only on a terminal.

Only this module writes to stdout and stderr; ruff refuses `click.echo` and the like in any other.
All text passes `shown` here, so no value reaches a terminal as a control sequence or a second line,
whichever command prints it. A color is no part of a text: `styled` gives a `Styled`, whose escape
sequences are written here, behind the guard.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, Generic, TypeAlias, TypeVar

import click

from lynq.api.text import shown, shown_lines

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


class OutputFormat(Enum):
    """The values of `--output`."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    MARKDOWN = "markdown"

    @property
    def is_table(self) -> bool:
        """Whether people read the output."""
        return self in {OutputFormat.TABLE, OutputFormat.WIDE}


_GAP: Final = 3
"""Blanks between two columns."""
OBJECT_FORMATS = (
    OutputFormat.TABLE,
    OutputFormat.WIDE,
    OutputFormat.JSON,
    OutputFormat.YAML,
    OutputFormat.NAME,
)
"""The formats of commands that list objects."""
REPORT_FORMATS = (OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.YAML)
"""The formats of commands that report on one object."""


def output_option(
    formats: Sequence[OutputFormat] = OBJECT_FORMATS,
    default: OutputFormat = OutputFormat.TABLE,
) -> Callable[[Command], Command]:
    """Add `--output`; the command gets it as `output`, an OutputFormat."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([each.value for each in formats]),
        default=default.value,
        callback=lambda _context, _parameter, value: OutputFormat(value),
        help="Output format.",
        show_default=True,
    )


@dataclass(frozen=True, slots=True)
class Styled:
    """A text in a color. Its `str` has none, so that a color can be lost and never be forged."""

    text: str
    color: str
    bold: bool = False

    def __str__(self) -> str:
        """Return the text."""
        return self.text


Text: TypeAlias = "str | Styled"


def styled(text: str, color: str, *, bold: bool = False) -> Styled:
    """Return a text that has a color if stdout is a terminal and NO_COLOR is not set."""
    return Styled(text, color, bold)


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table."""

    heading: str
    cell: Callable[[T], Text]
    is_wide: bool = False
    """Whether only `-o wide` shows it."""


def print_table(
    columns: Sequence[Column[T]], items: Iterable[T], output: OutputFormat = OutputFormat.TABLE
) -> None:
    """Print a table like kubectl's: nothing is truncated, an empty cell is a dash."""
    shown = [each for each in columns if not each.is_wide or output is OutputFormat.WIDE]
    rows = [[column.cell(item) or "-" for column in shown] for item in items]
    print_rows([[column.heading for column in shown], *rows])


def print_rows(rows: Sequence[Sequence[Text]], *, indent: str = "") -> None:
    """Print rows whose cells are aligned; colors do not count as width."""
    widths = [max(map(_width, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = list(row)
        while cells and not str(cells[-1]):
            cells.pop()
        parts: list[Text] = [indent]
        for cell, width in zip(cells, widths, strict=False):
            parts += [cell, " " * (width - _width(cell) + _GAP)]
        print_line(*parts[:-1])


def print_line(*parts: Text) -> None:
    """Print parts as one line."""
    is_colored = not os.environ.get("NO_COLOR") and sys.stdout.isatty()
    click.echo("".join(_shown(part, is_colored=is_colored) for part in parts))


def _shown(part: Text, *, is_colored: bool) -> str:
    text = shown(str(part))
    if is_colored and isinstance(part, Styled):
        return click.style(text, fg=part.color, bold=part.bold or None)
    return text


def print_data(data: Any, output: OutputFormat) -> None:  # noqa: ANN401 - any JSON value
    """Print a JSON value as JSON or YAML."""
    if output is OutputFormat.YAML:
        from lynq.api.crds import to_yaml  # noqa: PLC0415 - slow to import

        # Enums are strings in JSON, and unknown to YAML.
        print_document(to_yaml(json.loads(json.dumps(data))))
    else:
        print_document(to_json(data))


def to_json(data: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a JSON value as text, with the escapes of JSON for all that is not printable.

    JSON itself demands that only below U+0020. The value is the same, and a terminal shows it.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return "\n".join(map(_json_line, text.split("\n"))) + "\n"


def _json_line(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def print_document(text: str) -> None:
    """Print the output of an encoder: lines and tabs are its own, and it has escaped the rest."""
    if not text:
        return
    click.echo(shown_lines(text.removesuffix("\n")))


def format_duration(duration: timedelta) -> str:
    """Return a duration like the ages of kubectl: 12s, 4m12s, 3h5m, 2d4h, 40d.

    >>> format_duration(timedelta(minutes=4, seconds=12))
    '4m12s'
    """
    seconds = max(0, int(duration.total_seconds()))
    for unit, size, smaller, smaller_size, exact in (
        ("d", 86400, "h", 3600, 10),
        ("h", 3600, "m", 60, 10),
        ("m", 60, "s", 1, 10),
    ):
        if seconds >= size:
            count, rest = seconds // size, seconds % size // smaller_size
            is_shown = rest and count < exact
            return f"{count}{unit}{rest}{smaller}" if is_shown else f"{count}{unit}"
    return f"{seconds}s"


def format_age(time: datetime | None) -> str:
    """Return how long ago a time was; "" if it is unknown."""
    return format_duration(datetime.now(UTC) - time) if time else ""


def print_note(text: str) -> None:
    """Print a remark for people to stderr, so that pipes do not get it."""
    click.echo(shown(text), err=True)


def print_progress(text: str, *, last: bool) -> None:
    """Print a line to stderr that the next one replaces."""
    click.echo(f"\r{shown(text)}", err=True, nl=last)


def ask(question: str) -> bool:
    """Ask a yes-no question on the terminal."""
    return click.confirm(shown(question), err=True)


def _width(cell: Text) -> int:
    return len(shown(str(cell)))
