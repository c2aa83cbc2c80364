"""Prints results of checks, one line each, and exits with the code of the worst one."""

from collections.abc import Iterable
from typing import Final, NoReturn

import click

from lynq.cli.exit_codes import ExitCode
from lynq.cli.output import print_line, styled
from lynq.core.health.checks import CheckResult, Severity, worst

_COLORS: Final = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.FAILURE: "red"}
_EXIT_CODES: Final = {
    Severity.OK: ExitCode.OK,
    Severity.WARNING: ExitCode.DIFFERENT,
    Severity.FAILURE: ExitCode.ERROR,
}


def print_result(result: CheckResult) -> None:
    """Print one result as `ok|warn|FAIL name: detail`."""
    word = styled(result.severity.value.ljust(4), _COLORS[result.severity], bold=True)
    print_line(word, f"  {result.name}: {result.detail}")


def exit_with(results: Iterable[CheckResult]) -> NoReturn:
    """End the command: 0 if all is well, 1 with warnings, 2 if something is broken."""
    raise click.exceptions.Exit(_EXIT_CODES[worst(results)])
