"""Previews the forms of files for rows: what `lynq render`, `lynq test` and pytest share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from lynq.api import HubSpec, LynqForm, LynqHub
from lynq.api.activate import ACTIVE
from lynq.api.built_in_kinds import CLUSTER_KINDS, KindName
from lynq.api.crds import to_yaml
from lynq.api.problems import refused_resources
from lynq.cli.exit_codes import CommandError
from lynq.cli.form_files import FileObject, FormFiles, form_problems
from lynq.cli.manifest_files import Document
from lynq.cli.row_file import read_rows, read_variables
from lynq.core.hub.row_values import RowLike
from lynq.core.preview.excerpt import underlined
from lynq.core.preview.render import (
    NodePreview,
    Preview,
    PreviewError,
    PreviewInputs,
    preview,
)
from lynq.core.preview.rows import given_row, unknown_hub, unmapped_variables

_DEFAULT_NAMESPACE: Final = "default"

RowsOf = Callable[[HubSpec | None], Sequence[RowLike]]
"""Returns the active rows for a hub; None if the hub is not known."""


@dataclass(frozen=True, slots=True)
class FormPreview:
    """A form of a file, and what it gives for rows."""

    form: FileObject[LynqForm]
    preview: Preview

    def lines_of_errors(self) -> Iterator[str]:
        """Yield each error, and lines with the template and its failing part underlined."""
        for error in self.preview.errors:
            yield from _error_lines(self.form, error)
        for rejection in self.preview.rejections:
            yield f"{self.form.document.reference}: row rejected: {rejection.message}"


def require_valid(files: FormFiles) -> None:
    """Raise a CommandError with all errors of the files, if there are any."""
    if files.errors:
        raise CommandError("the files are invalid:", [str(error) for error in files.errors])
    if not files.forms:
        raise CommandError("There is no LynqForm among the files.")


def preview_forms(
    files: FormFiles, rows_of: RowsOf, now: datetime, *, masks_generated: bool = False
) -> list[FormPreview]:
    """Return the previews of all forms of the files; raises CommandError."""
    require_valid(files)
    cluster_kinds = CLUSTER_KINDS | {*_cluster_kinds(files.others)}
    previews = []
    for form in files.forms:
        hub = _hub_of(files, form)
        inputs = PreviewInputs(
            hub=_placed_hub(hub or unknown_hub(form.object), form.object),
            form=form.object,
            rows=rows_of(hub.spec if hub else None),
            now=now,
            refused=refused_resources(form_problems(files, form.object)),
            cluster_kinds=cluster_kinds,
            masks_generated=masks_generated,
        )
        previews.append(FormPreview(form, preview(inputs)))
    return previews


def _hub_of(files: FormFiles, form: FileObject[LynqForm]) -> LynqHub | None:
    hub = files.hub_of(form.object)
    if hub is None and files.hubs:
        names = ", ".join(f'"{each.object.metadata.name}"' for each in files.hubs)
        raise CommandError(
            f'{form.document.reference} has the hubId "{form.object.spec.hub_id}", but the files '
            f"have only the LynqHub {names}."
        )
    return hub


def _placed_hub(hub: LynqHub, form: LynqForm) -> LynqHub:
    """Return the hub in the namespace of the form: nodes are created in the hub's namespace."""
    namespace = form.metadata.namespace or hub.metadata.namespace or _DEFAULT_NAMESPACE
    return replace(hub, metadata=replace(hub.metadata, namespace=namespace))


def _cluster_kinds(documents: Iterable[Document]) -> Iterator[KindName]:
    """Yield the cluster-scoped kinds of the CRDs among the files."""
    for document in documents:
        spec = document.value.get("spec")
        if document.kind != "CustomResourceDefinition" or not isinstance(spec, dict):
            continue
        if spec.get("scope") == "Cluster":
            yield str(spec.get("group", "")), str((spec.get("names") or {}).get("kind", ""))


def rows_in_file(path: Path) -> RowsOf:
    """Return the rows of a file, by the columns of the hub, or by variables without a hub."""

    def rows_of(hub: HubSpec | None) -> Sequence[RowLike]:
        if hub is not None:
            return _active(read_rows(path, hub))
        return _active([given_row(variables) for variables in read_variables(path)])

    return rows_of


def given_rows(rows: Sequence[Mapping[str, str]]) -> RowsOf:
    """Return rows that are given by their variables; raises CommandError for an unmapped one."""

    def rows_of(hub: HubSpec | None) -> Sequence[RowLike]:
        for variables in rows:
            if hub and (names := unmapped_variables(variables, hub)):
                listed = ", ".join(names)
                raise CommandError(f"The hub does not map {listed}: add it to extraValueMappings.")
        return _active([given_row(variables, hub) for variables in rows])

    return rows_of


def _active(rows: Sequence[RowLike]) -> Sequence[RowLike]:
    return [row for row in rows if row.activate in ACTIVE]


def node_yaml(node: NodePreview) -> str:
    """Return the objects of a node as YAML documents; a comment names node and resource."""
    return "".join(
        f"---\n# {node.name}: {each.resource.id}\n{to_yaml(_sorted(each.obj))}"
        for each in node.objects
    )


def _sorted(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the fields that identify it first."""
    metadata = obj["metadata"]
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    first = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {**first, "metadata": {**named, **metadata}, **_without(obj, "metadata")}


def _without(obj: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != name}


def _error_lines(form: FileObject[LynqForm], error: PreviewError) -> Iterator[str]:
    document, path = form.document, _field_of(form, error)
    position = document.position(path)
    line = document.line_of(path, error.line if position.text else 0)
    what = f'"{error.resource}" of node {error.node}' if error.resource else f"node {error.node}"
    yield f"{document.path}:{line}: {document.reference}: {path}: {what}: {error.message}"
    if error.line and position.text:
        excerpt = underlined(position.text, error.line, error.column, error.action)
        yield from (f"    {line}" for line in excerpt)


def _field_of(form: FileObject[LynqForm], error: PreviewError) -> str:
    """Return the path of the failing field in the form."""
    for path in form.document.positions:
        if path.endswith("].id") and form.document.positions[path].text == error.resource:
            resource = path.removesuffix(".id")
            return (
                form.document.field_like(f"{resource}.{error.field}") if error.field else resource
            )
    return "spec"
