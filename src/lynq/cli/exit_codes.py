"""The exit codes of all commands. docs/reference/cli.md lists them for scripts."""

from enum import IntEnum

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
    """An expected error: one sentence on stderr, without a traceback."""

    exit_code = ExitCode.ERROR
