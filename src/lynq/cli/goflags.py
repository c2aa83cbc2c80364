"""Flags with Go's syntax and types: a Deployment written for a Go operator starts ours.

Go knows one dash or two, and a boolean that never takes the next argument as its value. Click's
parser is left as it is: what it is given has been put into the one form that both agree on.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

import click

from lynq.api.wire import LONGEST_TIMESTAMP
from lynq.telemetry import Address

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


_LEVELS: Final = ("debug", "info", "warn", "error", "panic")


class GoCommand(click.Command):
    """A command whose flags may be written as Go's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        booleans = {name for each in options if _is_boolean(each) for name in each.opts}
        valued = {name for each in options if not each.is_flag for name in each.opts} - booleans
        return super().parse_args(ctx, list(_normal(args, booleans, valued)))


def _is_boolean(option: click.Option) -> bool:
    return getattr(option.type, "func", None) is boolean


def _normal(args: Iterable[str], booleans: set[str], valued: set[str]) -> Iterator[str]:
    """Yield every flag as `--flag=value`."""
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            yield from (arg, *rest)
        elif not arg.startswith("-") or arg in ("-", "-h"):
            yield arg
        else:
            yield _flag(arg, rest, booleans, valued)


def _flag(arg: str, rest: Iterator[str], booleans: set[str], valued: set[str]) -> str:
    name, equals, value = arg.partition("=")
    name = name if name.startswith("--") else f"-{name}"
    if equals:
        return f"{name}={value}"
    if name in booleans:
        return f"{name}=true"
    following = next(rest, None) if name in valued else None
    return name if following is None else f"{name}={following}"


def boolean(text: str) -> bool:
    """Read true or false in the spellings of Go."""
    if text not in (*_TRUE, *_FALSE):
        raise click.BadParameter(f"{text!r} is neither true nor false")
    return text in _TRUE


def duration(text: str) -> timedelta:
    """Read a length of time such as 10m, 90s or 1h30m."""
    if text == "0":
        return timedelta()
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise click.BadParameter(f"{text!r} is no duration: write 90s, 10m or 1h30m")
    seconds = sum(float(part[1]) * _SECONDS[part[2]] for part in parts)
    if seconds > LONGEST_TIMESTAMP.total_seconds():
        raise click.BadParameter(
            f"{text!r} is longer than {LONGEST_TIMESTAMP.days} days, the most there is"
        )
    return timedelta(seconds=seconds)


def address(text: str) -> Address | None:
    """Read where to listen: :8081, 127.0.0.1:8081, [::]:8443; 0 is off."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def level(text: str) -> str:
    """Read from which level on the log is written; any number above 0 is debug."""
    if text.lower() in _LEVELS:
        return text.lower()
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        names = ", ".join(_LEVELS)
        raise click.BadParameter(f"{text!r} is no level: {names}, or a number above 0")
    return "debug"
