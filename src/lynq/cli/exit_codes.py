"""The exit codes of all commands. docs/reference/cli.md lists them for scripts."""

from collections.abc import Sequence
from enum import IntEnum
from typing import IO, Any

import click


class ExitCode(IntEnum):
    """What a script learns from a command without reading its output."""

    OK = 0
    DIFFERENT = 1
    """There are differences, changes or warnings; as in `kubectl diff`."""
    ERROR = 2
    """The input is wrong, or the command failed."""
    NOT_READY = 3
    """The object exists and is not ready."""
    NOT_MANAGED = 4
    """The object exists and does not belong to a LynqNode."""
    HELD = 5
    """The deletion guard holds the deletions of the plan."""
    TIMEOUT = 6
    """The condition did not become true in time."""


class CommandError(click.ClickException):
    """An expected error: one sentence on stderr, without a traceback, and lines of details."""

    exit_code = ExitCode.ERROR

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = details

    @property
    def text(self) -> str:
        """The message and its details, one per line."""
        return "\n".join((self.message, *self.details))

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - declared by click
        """Print the error."""
        from lynq.cli.output import print_note  # noqa: PLC0415 - slow to import

        print_note(f"Error: {self.message}")
        for detail in self.details:
            print_note(detail)
