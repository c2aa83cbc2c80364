"""`lynq explain`: why a node or a row is not ready."""

from collections.abc import Iterable, Iterator, Sequence

import click
import msgspec

from lynq.api import LynqForm, LynqHub, LynqNode
from lynq.api.names import LABEL_UID
from lynq.api.naming import is_label_value
from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.lookup import FORMS, HUBS, NODES, list_allowed, without_kind
from lynq.cli.output import (
    REPORT_FORMATS,
    OutputFormat,
    Text,
    format_age,
    output_option,
    print_data,
    print_line,
    print_note,
    styled,
)
from lynq.core.explain.model import Cause, ColumnOrigin, Explanation, entry_of
from lynq.core.explain.node import explain_node
from lynq.core.explain.row import explain_row, where_to_look
from lynq.inspection.evidence import EvidenceReader
from lynq.kube.errors import NotFound


@click.command()
@click.argument("name", metavar="NODE|UID")
@output_option(REPORT_FORMATS)
@cluster_command
async def explain(cluster: Cluster, name: str, output: OutputFormat) -> None:
    """Explain why a node or a row is not ready.

    The root cause comes first: which object, why, and which column of the row it comes from. Then
    the resources that wait for it, and what to do. With the uid of a row, all of its nodes are
    explained; a row without a node is looked up in the hubs of the namespace.

    Exit code 0: ready; 3: not ready.

    \b
    Examples:
      lynq explain acme
      lynq explain acme-web -n shop
      lynq explain acme -o json
    """
    reader = EvidenceReader.of(cluster.client)
    explanations = [
        explain_node(node, await reader.hub_of(node), form, await reader.read(node))
        for node in await _nodes(cluster, without_kind(name, "node", "lynqnode"))
        for form in [await reader.form_of(node)]
    ] or [await _explain_row(cluster, name)]
    if output.is_table:
        for position, explanation in enumerate(explanations):
            if position:
                print_line()
            for line in _lines(explanation):
                print_line(*line)
        for denial in reader.denials:
            print_note(denial)
    else:
        print_data([msgspec.to_builtins(each) for each in explanations], output)
    if not all(explanation.is_ready for explanation in explanations):
        raise click.exceptions.Exit(ExitCode.NOT_READY)


async def _nodes(cluster: Cluster, name: str) -> list[LynqNode]:
    try:
        return [await cluster.client.get(NODES, name, cluster.namespace, into=LynqNode)]
    except NotFound:
        if not is_label_value(name):
            return []
    labels = f"{LABEL_UID}={name}"
    nodes = await cluster.client.list(NODES, cluster.namespace, into=LynqNode, labels=labels)
    return sorted(nodes, key=lambda node: node.metadata.name)


async def _explain_row(cluster: Cluster, uid: str) -> Explanation:
    namespace = cluster.namespace
    hubs = await list_allowed(cluster, HUBS, LynqHub, namespace)
    forms = await list_allowed(cluster, FORMS, LynqForm, namespace)
    if hubs is None or forms is None:
        raise CommandError(
            f'No LynqNode "{uid}" in the namespace "{namespace}". Whether its row is rejected or '
            "waits is known only with these rights."
        )
    explanation = explain_row(uid, hubs, forms)
    if explanation is None:
        raise CommandError(
            f'No LynqNode and no row "{uid}" in the namespace "{namespace}". '
            + where_to_look(uid, hubs)
        )
    return explanation


def _lines(explanation: Explanation) -> Iterator[Sequence[Text]]:
    yield _headline(explanation)
    for cause in explanation.causes:
        yield from _block("cause", "red", cause)
    for note in explanation.notes:
        yield from _block("note", "yellow", note)
    if explanation.causes:
        yield _line("see   ", entry_of(explanation.causes[0].kind))


def _headline(explanation: Explanation) -> Sequence[Text]:
    if not explanation.node:
        return (f"The row {explanation.uid} has no node.",)
    name = f"{explanation.uid} × {explanation.form}"
    state = styled("ready", "green") if explanation.is_ready else styled("not ready", "red")
    age = format_age(explanation.since)
    duration = f", for {age}" if age else ""
    count = f"{explanation.ready} of {explanation.desired} resources"
    return (f"{name} is ", state, f": {count}{duration}.")


def _block(label: str, color: str, cause: Cause) -> Iterator[Sequence[Text]]:
    resource = f" ({cause.id})" if cause.id else ""
    age = format_age(cause.since)
    duration = f", for {age}" if age else ""
    yield _line(
        styled(f"{label:<6}", color), f"{cause.subject}{resource}: {cause.message}{duration}"
    )
    for text in (*cause.details, *_origin_lines(cause.origins)):
        yield _line(" " * 6, text)
    if cause.waiting:
        yield _line("waits ", ", ".join(cause.waiting))
    for step in cause.next_steps:
        yield _line("next  ", step)


def _line(label: Text, text: str) -> Sequence[Text]:
    return ("  ", label, f"  {text}")


def _origin_lines(origins: Iterable[ColumnOrigin]) -> Iterator[str]:
    for origin in origins:
        value = "" if origin.value is None else f' ("{origin.value}")'
        if origin.column:
            yield f"{origin.field} comes from column {origin.column} of the row{value}"
        else:
            yield f"{origin.field} uses .{origin.variable}, which the hub does not map"
