"""`lynq schema`: JSON schemas of the three kinds, for editors."""

from pathlib import Path
from typing import Final

import click

from lynq.api.crds import KINDS
from lynq.api.json_schema import DRAFT, editor_schema
from lynq.api.schema import Schema
from lynq.cli.output import print_document, print_line, to_json

_ALL: Final = "lynq.json"
"""The file that accepts an object of any of the three kinds."""
_BY_NAME: Final = {kind.definition.singular: kind for kind in KINDS}


@click.command()
@click.argument("kind", required=False, type=click.Choice(list(_BY_NAME)))
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory to write one file per kind to.",
)
def schema(kind: str | None, directory: Path | None) -> None:
    """Print the JSON schemas of LynqHub, LynqForm and LynqNode, for editors.

    Without a kind, the schema accepts any of the three. With --out, every kind gets a file, and
    lynq.json accepts any of them. An editor with the YAML language server uses the schema of the
    first line of a file:

    \b
      # yaml-language-server: $schema=schemas/lynqform.json

    \b
    or, in the settings of Visual Studio Code, for all files of a folder:
      "yaml.schemas": {"schemas/lynq.json": "deploy/*.yaml"}

    \b
    Examples:
      lynq schema --out schemas
      lynq schema lynqform > lynqform.json
    """
    schemas = {name: editor_schema(_BY_NAME[name]) for name in _BY_NAME}
    if directory is None:
        print_document(_text(schemas[kind] if kind else _any_of(schemas)))
        return
    directory.mkdir(parents=True, exist_ok=True)
    written = {f"{name}.json": schemas[name] for name in ([kind] if kind else schemas)}
    if not kind:
        written[_ALL] = _any_of(schemas)
    for name, content in written.items():
        (directory / name).write_text(_text(content), "utf-8")
        print_line(str(directory / name))


def _any_of(schemas: dict[str, Schema]) -> Schema:
    each = [
        {key: value for key, value in schema.items() if key != "$schema"}
        for schema in schemas.values()
    ]
    return {"$schema": DRAFT, "title": "Lynq", "oneOf": each}


def _text(content: Schema) -> str:
    return to_json(content)
