"""What commands print: tables like kubectl's, JSON, YAML and names; colors only on a terminal."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Generic, TypeVar

import click

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
class Column(Generic[T]):
    """One column of a table."""

    heading: str
    cell: Callable[[T], str]
    is_wide: bool = False
    """Whether only `-o wide` shows it."""


def print_table(
    columns: Sequence[Column[T]], items: Iterable[T], output: OutputFormat = OutputFormat.TABLE
) -> None:
    """Print a table like kubectl's: nothing is truncated, an empty cell is a dash."""
    shown = [each for each in columns if not each.is_wide or output is OutputFormat.WIDE]
    rows = [[column.cell(item) or "-" for column in shown] for item in items]
    print_rows([[column.heading for column in shown], *rows])


def print_rows(rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
    """Print rows whose cells are aligned; colors do not count as width."""
    widths = [max(map(_width, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        click.echo(indent + "   ".join(cells).rstrip())


def print_data(data: Any, output: OutputFormat) -> None:  # noqa: ANN401 - any JSON value
    """Print a JSON value as JSON or YAML."""
    if output is OutputFormat.YAML:
        import yaml  # noqa: PLC0415 - slow to import

        # Enums are strings in JSON, and unknown to YAML.
        data = json.loads(json.dumps(data))
        click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))


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
    click.echo(text, err=True)


def styled(text: str, color: str, *, bold: bool = False) -> str:
    """Return a text in a color, if stdout is a terminal and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, fg=color, bold=bold)


def _width(cell: str) -> int:
    return len(click.unstyle(cell))
