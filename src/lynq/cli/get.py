"""`lynq get`: tables of hubs, forms and nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click
import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.cli.connection import Cluster, listing_command
from lynq.cli.exit_codes import CommandError
from lynq.cli.lookup import FORMS, HUBS, NODES, denial_of
from lynq.cli.output import (
    Column,
    OutputFormat,
    format_age,
    output_option,
    print_data,
    print_line,
    print_note,
    print_table,
    styled,
)
from lynq.core.explain.summary import (
    READY,
    FilterError,
    Summary,
    form_summary,
    hub_summary,
    node_summary,
    parse_filter,
)
from lynq.kube import Resource
from lynq.kube.errors import Forbidden


@dataclass(frozen=True, slots=True)
class _Listing:
    """A kind, and the columns of its table."""

    resource: Resource
    into: type[Any]
    summary: Callable[[Any], Summary]
    columns: tuple[Column[Summary], ...]


STATE_COLORS: Final = {READY: "green", "Progressing": "yellow", "Paused": "yellow"}
"""Colors of states; all others are red."""

_NAMESPACE: Final[Column[Summary]] = Column("NAMESPACE", lambda item: item.namespace)
_NAME: Final[Column[Summary]] = Column("NAME", lambda item: item.name)
_COUNT: Final[Column[Summary]] = Column("READY", lambda item: f"{item.ready}/{item.desired}")
_LAST: Final[tuple[Column[Summary], ...]] = (
    Column("STATE", lambda item: styled(item.state, STATE_COLORS.get(item.state, "red"))),
    Column("CAUSE", lambda item: item.cause),
    Column("AGE", lambda item: format_age(item.created)),
    Column("MESSAGE", lambda item: item.message, is_wide=True),
)
_HUB: Final[Column[Summary]] = Column("HUB", lambda item: item.hub)

_KINDS: Final = {
    "hub": _Listing(HUBS, LynqHub, hub_summary, (_NAME, _COUNT, *_LAST)),
    "form": _Listing(FORMS, LynqForm, form_summary, (_NAME, _HUB, _COUNT, *_LAST)),
    "node": _Listing(
        NODES,
        LynqNode,
        node_summary,
        (
            _NAME,
            Column("UID", lambda item: item.uid),
            Column("FORM", lambda item: item.form),
            Column("HUB", lambda item: item.hub, is_wide=True),
            _COUNT,
            *_LAST,
        ),
    ),
}


@click.command()
@click.argument("kind", required=False, metavar="[hub|form|node]")
@click.option("--problems", is_flag=True, help="List only what is not ready.")
@click.option(
    "--where",
    metavar="FILTER",
    default="",
    help="List only what matches, for example 'state=Failed,form=web'. Keys: state, form, hub, "
    "uid, name, namespace, cause, kind; != negates, * is any text.",
)
@output_option()
@listing_command
async def get(
    cluster: Cluster, kind: str | None, *, problems: bool, where: str, output: OutputFormat
) -> None:
    """List hubs, forms and nodes with their state.

    Without a kind, all three are listed. CAUSE is the resource that keeps a node from becoming
    ready; `lynq explain` says more.

    \b
    Examples:
      lynq get
      lynq get nodes -A --problems
      lynq get nodes --where 'state=Failed,form=web' -o wide
    """
    matches = _filter(where)
    found: list[dict[str, Any]] = []
    tables = []
    denials = []
    for name in _kinds(kind):
        selected = _KINDS[name]
        try:
            listed = await cluster.client.list(selected.resource, cluster.listed_namespace)
        except Forbidden as error:
            denials.append(denial_of(selected.resource, error))
            continue
        pairs = [
            (summary, item)
            for item in listed
            for summary in [selected.summary(_decoded(item, selected.into))]
            if matches(summary) and (summary.is_problem or not problems)
        ]
        pairs.sort(key=lambda pair: (pair[0].namespace, pair[0].name))
        found += [item for _, item in pairs]
        tables.append((selected, [summary for summary, _ in pairs]))
    _report_denials(denials, is_all=not tables)
    if output in {OutputFormat.JSON, OutputFormat.YAML}:
        print_data({"apiVersion": "v1", "kind": "List", "items": found}, output)
    elif output is OutputFormat.NAME:
        for _, summaries in tables:
            for summary in summaries:
                print_line(f"{summary.kind}/{summary.name}")
    else:
        _print(tables, cluster, output)


def _report_denials(denials: Sequence[str], *, is_all: bool) -> None:
    """Print which kinds are not listed; raise CommandError if that is all of them."""
    if denials and is_all:
        raise CommandError(". ".join(denials))
    for denial in denials:
        print_note(denial)


def _print(
    tables: Sequence[tuple[_Listing, list[Summary]]], cluster: Cluster, output: OutputFormat
) -> None:
    shown = [(kind, summaries) for kind, summaries in tables if summaries]
    for position, (kind, summaries) in enumerate(shown):
        if position:
            print_line()
        columns = (_NAMESPACE, *kind.columns) if cluster.all_namespaces else kind.columns
        print_table(columns, summaries, output)
    if not shown:
        where = (
            "any namespace" if cluster.all_namespaces else f'the namespace "{cluster.namespace}"'
        )
        print_note(f"Nothing found in {where}.")


def _decoded(item: dict[str, Any], into: type[Any]) -> Any:  # noqa: ANN401 - one of the kinds
    # kubectl does not show them either.
    item["metadata"].pop("managedFields", None)
    return msgspec.convert(item, into)


def _kinds(text: str | None) -> Sequence[str]:
    if text is None:
        return tuple(_KINDS)
    name = text.lower().removesuffix("s").removeprefix("lynq")
    if name not in _KINDS:
        raise CommandError(f'"{text}" is not one of hub, form and node.')
    return (name,)


def _filter(text: str) -> Callable[[Summary], bool]:
    try:
        return parse_filter(text)
    except FilterError as error:
        raise CommandError(f"--where: {error}.") from None
