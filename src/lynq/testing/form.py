"""A form under test: loaded from a file, rendered for rows.

node = lynq_form("web.yaml").render(uid="acme", plan="pro")
assert node["worker"].spec.replicas == 2
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lynq.api import LynqForm, LynqHub
from lynq.cli.exit_codes import CommandError
from lynq.cli.form_files import FormFiles, load_form_files
from lynq.cli.form_preview import RowsOf, given_rows, preview_forms, require_valid, rows_in_file
from lynq.core.preview.render import NodePreview

_NOW: Final = datetime(2024, 1, 1, tzinfo=UTC)


class FormError(AssertionError):
    """The form is invalid, or cannot be rendered for a row. The message shows the template."""


class Manifest(dict[str, Any]):
    """A rendered object, or a part of it: fields are attributes and keys.

    A field with the name of a method of dict is a key only: `manifest["items"]`.
    """

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__({key: _manifest(item) for key, item in value.items()})

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return a field."""
        try:
            return self[name]
        except KeyError:
            fields = ", ".join(self)
            raise AttributeError(f'there is no field "{name}"; there are: {fields}') from None


def _manifest(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return Manifest(value)
    return [_manifest(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class RenderedNode(Mapping[str, Manifest]):
    """The objects of one row, by the id of their resource."""

    name: str
    """The name of the LynqNode."""
    manifests: Mapping[str, Manifest]

    @property
    def ids(self) -> set[str]:
        """The ids of the resources."""
        return set(self.manifests)

    def __getitem__(self, resource_id: str) -> Manifest:
        """Return the object of a resource."""
        return self.manifests[resource_id]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids, dependencies first."""
        return iter(self.manifests)

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.manifests)


@dataclass(frozen=True, slots=True)
class FormUnderTest:
    """A form, and its hub if one is given."""

    path: Path
    files: FormFiles = field(repr=False)

    @classmethod
    def load(cls, path: Path, hub: Path | None = None) -> "FormUnderTest":
        """Load and validate the form of a file; raises FormError."""
        try:
            files = load_form_files([path, *([hub] if hub else [])])
            require_valid(files)
        except CommandError as error:
            raise FormError(error.text) from None
        if len(files.forms) > 1:
            raise FormError(f"{path} has {len(files.forms)} forms: one per file can be tested")
        return cls(path, files)

    @property
    def form(self) -> LynqForm:
        """The form."""
        return self.files.forms[0].object

    @property
    def hub(self) -> LynqHub | None:
        """The hub of the form, if it is in the files."""
        return self.files.hub_of(self.form)

    @property
    def manifest(self) -> dict[str, Any]:
        """The form as it is in the file."""
        return self.files.forms[0].document.value

    def render(self, uid: str, *, now: datetime = _NOW, **variables: object) -> RenderedNode:
        """Return the objects of a row that is given by its variables; raises FormError.

        A value is the text that a database gives: None is NULL and so empty. Without a hub, a
        variable that is not given does not exist. `now` is the time that templates see.
        """
        row = variable_texts({"uid": uid, **variables})
        if not (nodes := self._render(given_rows([row]), now)):
            raise FormError(f"the row {uid!r} is not active, and has no LynqNode")
        return nodes[0]

    def render_file(self, path: Path, *, now: datetime = _NOW) -> dict[str, RenderedNode]:
        """Return the objects of each active row of a CSV file or JSON lines, by uid."""
        previews = self._previews(rows_in_file(path), now)
        return {preview.uid: _node(preview) for preview in previews}

    def _render(self, rows: RowsOf, now: datetime) -> list[RenderedNode]:
        return [_node(preview) for preview in self._previews(rows, now)]

    def _previews(self, rows: RowsOf, now: datetime) -> Sequence[NodePreview]:
        try:
            (rendered,) = preview_forms(self.files, rows, now)
        except CommandError as error:
            raise FormError(error.text) from None
        if texts := list(rendered.lines_of_errors()):
            raise FormError("\n".join(texts))
        return rendered.preview.nodes


def variable_texts(variables: Mapping[str, object]) -> dict[str, str]:
    """Return the values of a row as a database gives them."""
    return {name: _text(value) for name, value in variables.items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _node(preview: NodePreview) -> RenderedNode:
    manifests = {each.resource.id: Manifest(each.obj) for each in preview.objects}
    return RenderedNode(preview.name, manifests)
