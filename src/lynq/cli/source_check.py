"""`lynq source check`: reads the rows of a hub as the operator does, with the viewer's rights."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from lynq.api import ChangeDetection, LynqHub, SourceType
from lynq.api.activate import ACTIVE
from lynq.cli.check_results import exit_with, print_result
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.lookup import find_hub
from lynq.cli.output import print_rows
from lynq.controllers.hub.source_config import SourceConfig, SourceConfigLoader
from lynq.core.health.checks import CheckResult, failure, ok, warning
from lynq.sources import (
    Query,
    SourceChangeKind,
    SourceError,
    open_changes,
    open_source,
)
from lynq.sources.base import SourceFacts
from lynq.sources.engines import inspect_source
from lynq.sources.rows import SourceColumn

_SHOWN: Final = 5
"""How many rows are read."""
_PUSH_SECONDS: Final = 10.0
"""How long the push channel may take to connect."""


@click.command("check", short_help="Check login, columns, grants, TLS and push.")
@click.argument("hub")
@click.option("--show-values", is_flag=True, help="Show the values of the rows that were read.")
@click.option(
    "--sqlite-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of SQLite files, like that of `lynq run`.",
)
@cluster_command
async def check(cluster: Cluster, *, hub: str, show_values: bool, sqlite_dir: Path | None) -> None:
    """Check the database of a hub: login, columns, grants, TLS and push.

    Connects from this machine with the settings of the hub and its Secret, read with your own
    rights, and reads five active rows. Their values are shown only with --show-values. The exit
    code is 0 if all is well, 1 with warnings, and 2 if the operator could not read the rows.

    \b
    Examples:
      lynq source check tenants
      lynq source check tenants --show-values
    """
    found = await find_hub(cluster, hub)
    results: list[CheckResult] = []
    try:
        config = await _load(cluster, found, sqlite_dir)
        table = config.query.table
        results.append(ok("settings", f"{config.settings.endpoint}, table {table}"))
        print_result(results[-1])
        sample = await _read(config)
    except SourceError as error:
        print_result(failure("rows", str(error)))
        exit_with([failure("rows", "")])
    results.append(ok("rows", f"{sample.text}, all {len(sample.columns)} columns exist"))
    print_result(results[-1])
    _print_columns(config.query, sample, show_values=show_values)
    async for result in _server_results(found, config):
        results.append(result)
        print_result(result)
    exit_with(results)


async def connection_result(
    cluster: Cluster, hub: LynqHub, sqlite_directory: Path | None
) -> CheckResult:
    """Return whether the database of a hub can be read from this machine."""
    name = f"database {hub.metadata.key}"
    try:
        config = await _load(cluster, hub, sqlite_directory)
        sample = await _read(config)
    except SourceError as error:
        return failure(name, str(error))
    return ok(name, f"{config.settings.endpoint}: {sample.text}")


async def _load(cluster: Cluster, hub: LynqHub, sqlite_directory: Path | None) -> SourceConfig:
    loader = SourceConfigLoader(cluster.client, sqlite_directory)
    return await loader.load(hub.spec, hub.metadata.namespace)


@dataclass(frozen=True, slots=True)
class _Sample:
    columns: tuple[SourceColumn, ...]
    rows: list[tuple[str, ...]]

    @property
    def text(self) -> str:
        return f"{len(self.rows)} active rows read" if self.rows else "no active row"


async def _read(config: SourceConfig) -> _Sample:
    source = open_source(config.settings)
    rows: list[tuple[str, ...]] = []
    try:
        async with source.read(config.query) as reading:
            async for page in reading:
                rows += [row.texts for row in page if row.activate in ACTIVE]
                if len(rows) >= _SHOWN:
                    break
            return _Sample(reading.columns, rows[:_SHOWN])
    finally:
        await source.close()


def _print_columns(query: Query, sample: _Sample, *, show_values: bool) -> None:
    variables = ["uid", "activate", *(["hostOrUrl"] if query.host_or_url else []), *query.variables]
    heading = ["COLUMN", "TYPE", "VARIABLE"]
    if show_values:
        heading += [f"ROW {number}" for number in range(1, len(sample.rows) + 1)]
    lines = [heading]
    for position, (column, variable) in enumerate(zip(sample.columns, variables, strict=True)):
        values = [row[position] for row in sample.rows] if show_values else []
        lines.append(
            [column.name, column.type or "-", variable, *(value or '""' for value in values)]
        )
    print_rows(lines, indent="      ")


async def _server_results(hub: LynqHub, config: SourceConfig) -> AsyncIterator[CheckResult]:
    try:
        facts = await inspect_source(config.settings, config.query.table)
    except SourceError as error:
        yield warning("server", str(error))
    else:
        yield ok("server", facts.version)
        yield _tls(hub, facts)
        if facts.login_risk:
            yield warning("login", facts.login_risk)
        yield ok("grants", "; ".join(facts.grants) or "none that the server reports")
    yield await _push(hub, config)


def _tls(hub: LynqHub, facts: SourceFacts) -> CheckResult:
    if hub.spec.source.type is SourceType.SQLITE:
        return ok("tls", "not needed for a file")
    if not facts.tls:
        return warning("tls", "the connection is not encrypted: set tls.mode in the source")
    return ok("tls", facts.tls)


async def _push(hub: LynqHub, config: SourceConfig) -> CheckResult:
    """Connect the push channel; a hub that polls does not need it."""
    needed = hub.spec.source.changes is ChangeDetection.PUSH
    problem = f"the channel did not connect within {_PUSH_SECONDS:g} s"
    try:
        async with (
            asyncio.timeout(_PUSH_SECONDS),
            open_changes(config.settings, config.query.table, uid=config.query.uid) as changes,
        ):
            change = await anext(aiter(changes))
            if change.kind is SourceChangeKind.CONNECTED:
                return ok("push", "ready" if needed else "ready, not used (changes: Poll)")
            problem = change.message
    except TimeoutError:
        pass
    if needed:
        return warning("push", f"not ready, rows are polled: {problem}")
    return ok("push", f"not ready, and not used (changes: Poll): {problem}")
