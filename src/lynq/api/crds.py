"""Generates the CustomResourceDefinitions of the three kinds from the types.

`lynq install` and the tests use the objects. `python -m lynq.api.crds` writes the same objects to
deploy/crds; `--check` compares only.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from lynq.api.form import LynqForm
from lynq.api.hub import LynqHub
from lynq.api.names import API_VERSION, CATEGORY, GROUP, VERSION
from lynq.api.node import LynqNode
from lynq.api.schema import Schema, class_doc, structural_schema
from lynq.api.text import shown
from lynq.api.wire import Definition, PrinterColumn

CustomKind = type[LynqHub] | type[LynqForm] | type[LynqNode]
Manifest = dict[str, Any]

KINDS: tuple[CustomKind, ...] = (LynqHub, LynqForm, LynqNode)

_HEADER = "# Generated from src/lynq/api by `make crds`. Change the types, not this file.\n"


def build() -> list[Manifest]:
    """Return the CRDs of the three kinds."""
    return [definition(kind) for kind in KINDS]


def definition(kind: CustomKind) -> Manifest:
    """Return the CRD of one kind."""
    names = kind.definition
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": _names(names),
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in names.columns],
                    "schema": {"openAPIV3Schema": _root(kind)},
                }
            ],
        },
    }


def _names(names: Definition) -> Manifest:
    return {
        "kind": names.kind,
        "listKind": f"{names.kind}List",
        "plural": names.plural,
        "singular": names.singular,
        "shortNames": [names.short_name],
        "categories": [CATEGORY],
    }


def _column(column: PrinterColumn) -> Manifest:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return shown | ({"priority": 1} if column.wide else {})


def _root(kind: CustomKind) -> Schema:
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return {
        "description": class_doc(kind),
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {
                "description": f"Group and version of the kind: {API_VERSION}.",
                "type": "string",
            },
            "kind": {"description": f"The kind: {kind.definition.kind}.", "type": "string"},
            "metadata": {"type": "object"},  # the API server adds the rest of the schema
            "spec": structural_schema(types["spec"]),
            "status": structural_schema(types["status"]),
        },
    }


def files() -> Iterator[tuple[str, str]]:
    """Yield name and content of each file of deploy/crds."""
    for crd in build():
        yield f"{GROUP}_{crd['spec']['names']['plural']}.yaml", _HEADER + to_yaml(crd)


def to_yaml(manifest: Manifest) -> str:
    """Return a manifest as readable YAML: no aliases, paragraphs as blocks.

    What is not printable has the escapes of YAML, also bidi marks and line breaks that YAML allows:
    the value is the same, and a terminal or an editor shows it.
    """
    text = yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    return "\n".join(map(shown, text.split("\n")))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if not text.replace("\n", "").isprintable():
        # Only double quotes have escapes.
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def stale(directory: Path) -> list[str]:
    """Return the names of the files in a directory that differ from the types."""
    return [
        name
        for name, content in files()
        if not (path := directory / name).is_file() or path.read_text("utf-8") != content
    ]


def write(directory: Path) -> None:
    """Write the files of deploy/crds."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files():
        (directory / name).write_text(content, "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m lynq.api.crds [--check] [DIRECTORY]`."""
    parser = argparse.ArgumentParser(prog="lynq.api.crds", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when stale")
    parser.add_argument("directory", nargs="?", type=Path, default=Path("deploy/crds"))
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.directory)
        return 0
    for name in (outdated := stale(options.directory)):
        sys.stderr.write(f"{options.directory / name} is stale; run `make crds`\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
