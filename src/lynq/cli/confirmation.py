"""Asks before a command changes the cluster."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lynq.cli.exit_codes import CommandError

Command = TypeVar("Command", bound=Callable[..., Any])


def yes_option(command: Command) -> Command:
    """Add `--yes`."""
    option = click.option("-y", "--yes", is_flag=True, help="Do not ask; for scripts.")
    return option(command)


def confirm(action: str, *, yes: bool) -> None:
    """Print what will be done and ask; raises CommandError if the answer is not yes."""
    if yes:
        click.echo(f"{action}.", err=True)
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{action}: not confirmed. Run it on a terminal, or add --yes.")
    if not click.confirm(f"{action}. Continue?", err=True):
        raise CommandError("Canceled. Nothing was changed.")
