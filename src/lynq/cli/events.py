"""`lynq events`: events of hubs, forms, nodes and their objects."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

import click

from lynq.api import LynqNode
from lynq.api.names import GROUP
from lynq.api.text import one_line
from lynq.api.wire import parse_rfc3339
from lynq.cli.connection import Cluster, listing_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.output import (
    REPORT_FORMATS,
    Column,
    OutputFormat,
    Text,
    format_age,
    output_option,
    print_data,
    print_line,
    print_note,
    print_table,
    styled,
)
from lynq.cli.target import find_target
from lynq.inspection.evidence import event_time
from lynq.kube import Bookmark, EventType
from lynq.kube.errors import Gone
from lynq.kube.resource import EVENTS

Object = dict[str, Any]

_LONGEST: Final = 2000


def _typed(event: Object, width: int = 0) -> Text:
    kind = str(event.get("type", "")).ljust(width)
    return styled(kind, "yellow") if kind == "Warning" else kind


def _object(event: Object) -> str:
    subject = event.get("involvedObject") or {}
    return f"{subject.get('kind', '')}/{subject.get('name', '')}"


_COLUMNS: Final[tuple[Column[Object], ...]] = (
    Column("LAST SEEN", lambda event: format_age(parse_rfc3339(event_time(event)))),
    Column("TYPE", _typed),
    Column("REASON", lambda event: str(event.get("reason", ""))),
    Column("OBJECT", _object),
    Column("MESSAGE", lambda event: one_line(str(event.get("message", "")), _LONGEST)),
)
_TYPE_WIDTH: Final = len("Warning")


@click.command()
@click.option(
    "--for",
    "target",
    metavar="HUB|FORM|NODE",
    help="Only events of this hub, form or node; those of a node's objects included.",
)
@click.option("-w", "--watch", is_flag=True, help="Print new events until Ctrl-C.")
@click.option("--warnings", is_flag=True, help="Only events of type Warning.")
@output_option((*REPORT_FORMATS, OutputFormat.NAME))
@listing_command
async def events(
    cluster: Cluster, *, target: str | None, watch: bool, warnings: bool, output: OutputFormat
) -> None:
    """List the events of hubs, forms and nodes.

    The newest event comes last. With --for a node, the events of its objects are listed, too.

    \b
    Examples:
      lynq events
      lynq events --for acme-web --watch
      lynq events -A --warnings
    """
    if watch and not output.is_table:
        raise CommandError("--watch prints lines: leave out -o.")
    is_wanted = await _predicate(cluster, target)
    fields = "type=Warning" if warnings else None
    listed = await cluster.client.list(EVENTS, cluster.listed_namespace, fields=fields)
    found = sorted((event for event in listed if is_wanted(event)), key=event_time)
    if output is OutputFormat.NAME:
        for event in found:
            print_line(f"event/{event['metadata']['name']}")
        return
    if not output.is_table:
        print_data(found, output)
        return
    if found:
        print_table(_COLUMNS, found)
    elif not watch:
        print_note("No events found.")
    if watch:
        await _watch(cluster, fields, listed.resource_version, is_wanted)


async def _predicate(cluster: Cluster, name: str | None) -> Callable[[Object], bool]:
    if name is None:
        return _is_of_lynq
    target = await find_target(cluster, name)
    subjects = {(target.kind, target.metadata.namespace, target.metadata.name)}
    if isinstance(target, LynqNode):
        entries = target.status.resources
        subjects |= {(entry.kind, entry.namespace, entry.name) for entry in entries}

    def is_wanted(event: Object) -> bool:
        subject = event.get("involvedObject") or {}
        return tuple(subject.get(key, "") for key in ("kind", "namespace", "name")) in subjects

    return is_wanted


def _is_of_lynq(event: Object) -> bool:
    return str(event.get("involvedObject", {}).get("apiVersion", "")).startswith(f"{GROUP}/")


async def _watch(
    cluster: Cluster, fields: str | None, since: str, is_wanted: Callable[[Object], bool]
) -> None:
    """Print events as they come; the API server ends a watch after some minutes."""
    while True:
        watched = cluster.client.watch(EVENTS, cluster.listed_namespace, since=since, fields=fields)
        try:
            async with contextlib.aclosing(watched):
                async for change in watched:
                    if isinstance(change, Bookmark):
                        since = change.resource_version
                        continue
                    since = change.object["metadata"]["resourceVersion"]
                    if change.type is not EventType.DELETED:
                        _print_watched(change.object, is_wanted)
        except Gone:
            since = (await cluster.client.list(EVENTS, cluster.listed_namespace)).resource_version


def _print_watched(event: Object, is_wanted: Callable[[Object], bool]) -> None:
    if not is_wanted(event):
        return
    time = parse_rfc3339(event_time(event))
    message = one_line(str(event.get("message", "")), _LONGEST)
    print_line(
        f"{time.astimezone():%H:%M:%S}   " if time else "-   ",
        _typed(event, _TYPE_WIDTH),
        f"   {event.get('reason', '')}   {_object(event)}   {message}",
    )
