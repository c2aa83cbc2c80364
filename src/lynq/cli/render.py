"""`lynq render`: the manifests of forms for rows, without a cluster and a database."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from lynq.api import HubSpec
from lynq.cli.exit_codes import CommandError, ExitCode
from lynq.cli.form_files import load_form_files
from lynq.cli.form_preview import (
    FormPreview,
    RowsOf,
    given_rows,
    node_yaml,
    preview_forms,
    rows_in_file,
)
from lynq.cli.output import (
    Column,
    OutputFormat,
    output_option,
    print_data,
    print_document,
    print_line,
    print_note,
    print_table,
)
from lynq.cli.validate import files_option
from lynq.core.hub.row_values import RowLike
from lynq.core.preview.render import NodePreview, PreviewObject
from lynq.template import Needs, called_functions

_FORMATS: Final = (
    OutputFormat.YAML,
    OutputFormat.JSON,
    OutputFormat.NAME,
    OutputFormat.TABLE,
)

_MANY_ROWS: Final = 1000
"""Rows from which a render may take longer than a second."""


@click.command()
@files_option
@click.option(
    "--row",
    "given",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Variables of a row, as templates see them. Can be repeated.",
)
@click.option(
    "--rows",
    "row_path",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV file or JSON lines with the columns of the hub; without a hub, with variables.",
)
@click.option("--uid", "uids", multiple=True, help="Render only this row. Can be repeated.")
@output_option(_FORMATS, OutputFormat.YAML)
def render(
    paths: tuple[Path, ...],
    given: tuple[str, ...],
    row_path: Path | None,
    uids: tuple[str, ...],
    output: OutputFormat,
) -> None:
    """Print the manifests of forms for rows.

    Renders as the operator does: the hub renders names, labels and annotations, and the node the
    rest. Needs no cluster and no database. The manifests are printed without the owner reference
    and the labels by which the operator tracks its objects. A template that fails is printed with
    the failing part underlined, and the exit code is 2; all other manifests are printed
    nevertheless. With a hub among the files, rows have its variables; a variable that --row does
    not give is empty, like NULL. Custom kinds count as namespaced, unless their CRD is among the
    files.

    \b
    Examples:
      lynq render -f form.yaml --row uid=acme,plan=pro
      lynq render -f form.yaml -f hub.yaml --rows rows.csv --uid acme
      lynq render -f form.yaml --rows rows.csv -o name
    """
    now = datetime.now(UTC)
    previews = preview_forms(load_form_files(paths), _rows(given, row_path, uids), now)
    if output is OutputFormat.YAML:
        for node in _nodes(previews):
            print_document(node_yaml(node))
    else:
        _print(previews, output)
    errors = [line for each in previews for line in each.lines_of_errors()]
    for line in errors:
        print_note(line)
    if _draws(previews):
        print_note("Random values are examples: the operator derives others from its own key.")
    if errors:
        raise click.exceptions.Exit(ExitCode.ERROR)


def _rows(given: Sequence[str], row_path: Path | None, uids: Sequence[str]) -> RowsOf:
    if bool(given) == bool(row_path):
        raise CommandError("Give the rows with --row NAME=VALUE,… or with --rows FILE.")
    all_rows = rows_in_file(row_path) if row_path else given_rows([_parse(row) for row in given])

    def rows_of(hub: HubSpec | None) -> Sequence[RowLike]:
        rows = all_rows(hub)
        if missing := sorted(set(uids) - {row.uid for row in rows}):
            raise CommandError(f"No active row has the uid {', '.join(missing)}.")
        chosen = [row for row in rows if not uids or row.uid in uids]
        if len(chosen) >= _MANY_ROWS:
            print_note(f"Rendering {len(chosen):,} rows…")
        return chosen

    return rows_of


def _parse(text: str) -> dict[str, str]:
    """Parse `uid=acme,plan=pro`; a value with a comma is quoted, as in CSV: `uid=a,"note=b, c"`."""
    (fields,) = csv.reader([text])
    pairs = [field.partition("=") for field in fields]
    if wrong := next((name for name, separator, _ in pairs if not separator), None):
        raise CommandError(f'"{wrong}" in --row is not NAME=VALUE.')
    variables = {name.strip(): value for name, _, value in pairs}
    if "uid" not in variables:
        raise CommandError("--row needs a uid: --row uid=acme,…")
    return variables


def _nodes(previews: Sequence[FormPreview]) -> list[NodePreview]:
    return [node for each in previews for node in each.preview.nodes]


def _draws(previews: Sequence[FormPreview]) -> bool:
    objects = [each for node in _nodes(previews) for each in node.objects]
    needs = Needs.RANDOM | Needs.ENTROPY
    return any(called_functions(each.resource.spec, needs) for each in objects)


_Line = tuple[NodePreview, PreviewObject]

_COLUMNS: Final[tuple[Column[_Line], ...]] = (
    Column("NODE", lambda line: line[0].name),
    Column("ID", lambda line: line[1].resource.id),
    Column("KIND", lambda line: line[1].obj["kind"]),
    Column("NAMESPACE", lambda line: line[1].obj["metadata"].get("namespace", "")),
    Column("NAME", lambda line: line[1].obj["metadata"]["name"]),
)


def _print(previews: Sequence[FormPreview], output: OutputFormat) -> None:
    lines = [(node, each) for node in _nodes(previews) for each in node.objects]
    if output is OutputFormat.TABLE:
        print_table(_COLUMNS, lines)
    elif output is OutputFormat.NAME:
        for _, each in lines:
            print_line(_resource_name(each))
    else:
        items = [each.obj for _, each in lines]
        print_data({"apiVersion": "v1", "kind": "List", "items": items}, output)


def _resource_name(each: PreviewObject) -> str:
    """Return the object as kubectl names it: `deployment.apps/web`."""
    group, _, _ = each.obj["apiVersion"].rpartition("/")
    kind = ".".join(filter(None, (each.obj["kind"].lower(), group)))
    return f"{kind}/{each.obj['metadata']['name']}"
