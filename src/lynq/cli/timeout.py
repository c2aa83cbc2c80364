"""The option `--timeout` of commands that wait."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_DURATION: Final = re.compile(r"(\d+)([smh]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


def timeout_option(command: Command) -> Command:
    """Add `--timeout`; the command gets it as `seconds`."""
    option = click.option(
        "--timeout",
        "seconds",
        default="5m",
        show_default=True,
        metavar="DURATION",
        callback=_seconds,
        help="How long to wait, for example 90s, 5m or 1h.",
    )
    return option(command)


def _seconds(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    match = _DURATION.fullmatch(text)
    if not match:
        raise click.BadParameter(f'"{text}" is not a duration like 90s, 5m or 1h.')
    return int(match[1]) * _SECONDS[match[2]]
