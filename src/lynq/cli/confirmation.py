"""Asks before a command changes the cluster."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lynq.cli.exit_codes import CommandError
from lynq.cli.output import ask, print_note

Command = TypeVar("Command", bound=Callable[..., Any])


def yes_option(command: Command) -> Command:
    """Add `--yes`."""
    option = click.option("-y", "--yes", is_flag=True, help="Do not ask; for scripts.")
    return option(command)


def confirm(action: str, *, yes: bool) -> None:
    """Print what will be done and ask; raises CommandError if the answer is not yes."""
    if yes:
        print_note(f"{action}.")
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{action}: not confirmed. Run it on a terminal, or add --yes.")
    if not ask(f"{action}. Continue?"):
        raise CommandError("Canceled. Nothing was changed.")
