"""`lynq doctor`: checks an installation, one line per check."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from lynq.cli.check_results import exit_with, print_result
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import ExitCode
from lynq.cli.installation_checks import Inspection, inspect
from lynq.cli.output import REPORT_FORMATS, OutputFormat, output_option, print_data, print_note
from lynq.cli.timeout import timeout_option
from lynq.core.health.checks import CheckResult, Severity, worst

_EVERY = 2.0
"""Seconds between two rounds of --wait."""
_AGE = re.compile(r"(?<!\d)\d+ s\b")
_ACCOUNT = re.compile(r"[^/:\s]+/[^/:\s]+")


def _account(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value and not _ACCOUNT.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not NAMESPACE/NAME.")
    return value


@click.command()
@click.option("--wait", is_flag=True, help="Repeat until nothing fails, and print each change.")
@timeout_option
@click.option("--connect", is_flag=True, help="Connect to the databases of the hubs and read rows.")
@click.option(
    "--service-account",
    metavar="NAMESPACE/NAME",
    default="",
    callback=_account,
    help="Account of the operator. Default: that of its Deployment.",
)
@click.option(
    "--sqlite-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of SQLite files for --connect, like that of `lynq run`.",
)
@output_option(REPORT_FORMATS)
@cluster_command
async def doctor(
    cluster: Cluster,
    *,
    wait: bool,
    seconds: float,
    connect: bool,
    service_account: str,
    sqlite_dir: Path | None,
    output: OutputFormat,
) -> None:
    """Check the installation: CRDs, operator, webhooks, rights, databases, clock and scale.

    Each check is a line: ok, warn or FAIL, its name and details. Nothing is changed: the webhooks
    are tried by server-side dry runs of an invalid and a valid form in the namespace. What your
    rights do not show is a warning. The exit code is 0 if all is well, 1 with warnings, and 2 if
    something is broken; with --wait it is 6 if something is still broken after the timeout.

    \b
    Examples:
      lynq doctor
      lynq doctor --wait
      lynq doctor --connect -o json
    """
    inspection = Inspection(connect, service_account, sqlite_dir)
    if wait:
        await _wait(cluster, inspection, seconds)
    results = []
    async for result in inspect(cluster, inspection):
        results.append(result)
        if output.is_table:
            print_result(result)
    if not output.is_table:
        print_data([_as_data(result) for result in results], output)
    exit_with(results)


async def _wait(cluster: Cluster, inspection: Inspection, seconds: float) -> NoReturn:
    """Print each change until no check fails."""
    before: set[CheckResult] = set()
    try:
        async with asyncio.timeout(seconds):
            while True:
                results = [result async for result in inspect(cluster, inspection)]
                for result in results:
                    if _stated(result) not in before:
                        print_result(result)
                before = set(map(_stated, results))
                if worst(results) is not Severity.FAILURE:
                    exit_with(results)
                await asyncio.sleep(_EVERY)
    except TimeoutError:
        print_note(f"Error: checks still fail after {seconds:g} s.")
        raise click.exceptions.Exit(ExitCode.TIMEOUT) from None


def _as_data(result: CheckResult) -> dict[str, str]:
    return {"status": result.severity.value, "name": result.name, "detail": result.detail}


def _stated(result: CheckResult) -> CheckResult:
    """Return what is worth a line when it changes: the age of a lease is not."""
    return replace(result, detail=_AGE.sub("", result.detail))
