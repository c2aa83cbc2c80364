"""Flags with Go's syntax and types, so that the args of a Go operator's Deployment work.

Go's flags have one dash or two, and a boolean never takes the next argument as its value. Arguments
are normalized before click parses them.
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
_PART: Final = re.compile(r"(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|μs|ms|s|m|h)")
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")
_LEVELS: Final = ("debug", "info", "warn", "error", "panic")


class GoCommand(click.Command):
    """A command that accepts flags in Go's syntax."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        booleans = {name for option in options if _is_boolean(option) for name in option.opts}
        valued = {name for option in options if not option.is_flag for name in option.opts}
        valued -= booleans
        return super().parse_args(ctx, list(_normalized(args, booleans, valued)))


def _is_boolean(option: click.Option) -> bool:
    return getattr(option.type, "func", None) is boolean


def _normalized(args: Iterable[str], booleans: set[str], valued: set[str]) -> Iterator[str]:
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
    """Parse a boolean in Go's spellings."""
    if text not in (*_TRUE, *_FALSE):
        raise click.BadParameter(f"{text!r} is not a boolean: use true or false")
    return text in _TRUE


def duration(text: str) -> timedelta:
    """Parse a duration such as 10m, 90s or 1h30m."""
    if text == "0":
        return timedelta()
    position, seconds = 0, 0.0
    while part := _PART.match(text, position):
        seconds += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    if not text or position < len(text):
        raise click.BadParameter(f"{text!r} is not a duration: use 90s, 10m or 1h30m")
    if seconds > LONGEST_TIMESTAMP.total_seconds():
        raise click.BadParameter(
            f"{text!r} is longer than {LONGEST_TIMESTAMP.days} days, the maximum"
        )
    return timedelta(seconds=seconds)


def address(text: str) -> Address | None:
    """Parse an address to listen on: :8081, 127.0.0.1:8081, [::]:8443; 0 is off."""
    try:
        return Address.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def level(text: str) -> str:
    """Parse the log level; any number above 0 is debug."""
    if text.lower() in _LEVELS:
        return text.lower()
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        names = ", ".join(_LEVELS)
        raise click.BadParameter(f"{text!r} is not a log level: use {names}, or a number above 0")
    return "debug"
