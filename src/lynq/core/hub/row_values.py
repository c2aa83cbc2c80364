"""The values of a row: as annotations of a node, as template variables, and in render errors.

The annotations of a node, also those written by the Go operator, contain the values that it was
written from. Rows and nodes are compared by them, without further state.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.json import Encoder

from lynq.api import LynqNode
from lynq.api.activate import is_unclear
from lynq.api.names import ANNOTATION_ACTIVATE, ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL
from lynq.api.naming import NodePair
from lynq.api.nesting import depth_checked
from lynq.template import ErrorKind, TemplateError, failing_variable, redacted_message
from lynq.template.functions.url import to_host
from lynq.template.gofmt.floats import go_escaped

_ENCODER: Final = Encoder(order="sorted")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class RowLike(Protocol):
    """A row as a source returns it: active, or unclear. Rows with the same values are equal."""

    @property
    def uid(self) -> str | None:
        """The value of the uid column; None if it is NULL."""

    @property
    def activate(self) -> str:
        """The value of the activate column."""

    @property
    def host_or_url(self) -> str:
        """The value of the deprecated hostOrUrl column; empty if it is not mapped."""

    @property
    def extras(self) -> Mapping[str, str]:
        """The values of extraValueMappings by variable."""

    @property
    def oversize(self) -> int:
        """The least bytes of a row that is too large to be read; 0 if all values were read."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """The values of a row as the annotations of a node contain them."""

    uid: str
    activate: str
    host_or_url: str
    extra: str
    """The values of extraValueMappings as JSON."""
    oversize: int = 0
    """The least bytes of a row whose values were too large to be read; 0 if all are here."""

    @classmethod
    def of(cls, row: RowLike) -> "RowValues":
        """Return the values of a row."""
        return cls(
            row.uid or "",
            _valid_text(row.activate),
            _valid_text(row.host_or_url),
            extra_json(row.extras),
            row.oversize,
        )

    @classmethod
    def reflected_by(cls, node: LynqNode, uid: str) -> "RowValues":
        """Return the values that the node of this uid was written from."""
        annotations = node.metadata.annotations
        return cls(
            uid,
            annotations.get(ANNOTATION_ACTIVATE, ""),
            annotations.get(ANNOTATION_HOST_OR_URL, ""),
            annotations.get(ANNOTATION_EXTRA, ""),
        )

    @property
    def is_active(self) -> bool:
        """Whether the row says yes; if not, its text is unclear: rows that say no are not read."""
        return not is_unclear(self.activate)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the node."""
        return {
            ANNOTATION_HOST_OR_URL: self.host_or_url,
            ANNOTATION_ACTIVATE: self.activate,
            ANNOTATION_EXTRA: self.extra,
        }

    @property
    def size(self) -> int:
        """The size in bytes within a node: JSON escapes can make a value much longer."""
        if self.oversize:
            return self.oversize
        return sum(map(_size, (self.uid, self.activate, self.host_or_url, self.extra)))

    @property
    def digest(self) -> bytes:
        """The digest of all values except the uid."""
        size = (self.oversize,) if self.oversize else ()
        texts = _ENCODER.encode((self.activate, self.host_or_url, self.extra, *size))
        return hashlib.sha256(texts).digest()

    def __repr__(self) -> str:
        """Show only the uid: values can be secrets."""
        return f"RowValues(uid={self.uid!r})"


def extra_json(extras: Mapping[str, str]) -> str:
    """Return the variables exactly as Go's json.Marshal writes a map[string]string."""
    try:
        text = _ENCODER.encode(extras).decode()
    except UnicodeEncodeError:
        # Rare and slow: a lone surrogate, which Go writes as an escape.
        text = json.dumps(dict(extras), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return go_escaped(text)


def row_variables(values: RowValues, *, hub: str, form: str) -> dict[str, object]:
    """Return the template variables; an extra value overrides all but hubId and templateRef."""
    variables: dict[str, object] = {"uid": values.uid, "activate": values.activate}
    if values.host_or_url:
        variables |= {"hostOrUrl": values.host_or_url, "host": to_host(values.host_or_url)}
    extras: dict[str, object] = json.loads(depth_checked(values.extra))
    return variables | extras | {"hubId": hub, "templateRef": form}


def _valid_text(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """Why a form cannot be rendered for a row."""

    pair: NodePair
    resource: str
    """The id of the resource; empty if the failure concerns the whole form."""
    field: str
    """For example `nameTemplate` or `labelsTemplate[team]`."""
    line: int
    variable: str
    """The variable that the failing action reads; empty if it is unknown."""
    reason: str
    hit_limit: bool = False
    """Whether a limit of the template engine was hit."""
    column: int = 0
    """Bytes of the line before the failing part of the template."""
    action: str = ""
    """The failing part of the template, as Go prints it; empty if it is unknown."""

    @property
    def message(self) -> str:
        """The failure as one sentence, without row values."""
        if not self.resource:
            return f'form "{self.pair.form}": {self.reason}'
        return (
            f'form "{self.pair.form}", resource "{self.resource}", {self.field}, '
            f"line {self.line}: {self.reason}"
        )


class RowRenderError(Exception):
    """A form cannot be rendered for a row."""

    def __init__(self, failure: RenderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def render_failed(
    pair: NodePair, resource: str, field: str, error: TemplateError
) -> RowRenderError:
    """Return the error of a template that failed for a row."""
    variable, reason = failing_variable(error), redacted_message(error)
    return RowRenderError(
        RenderFailure(
            pair,
            resource,
            field,
            error.line,
            variable,
            reason,
            hit_limit=error.kind is ErrorKind.LIMIT,
            column=error.column,
            action=error.action or "",
        )
    )


def out_of_time(pair: NodePair) -> RowRenderError:
    """Return the error of a row that is not rendered, because the rows before it took too long."""
    reason = (
        "rendering names, labels and annotations took longer than a plan may take; the remaining "
        "rows are rendered in later syncs; simplify nameTemplate, labelsTemplate and "
        "annotationsTemplate"
    )
    return RowRenderError(RenderFailure(pair, "", "", 0, "", reason))


def suspected(pair: NodePair, reason: str) -> RowRenderError:
    """Return the error of a row during whose render the operator was killed."""
    return RowRenderError(RenderFailure(pair, "", "", 0, "", reason))


def empty_name(pair: NodePair, resource: str) -> RowRenderError:
    """Return the error of a nameTemplate that renders to an empty string.

    With an empty name the node would use metadata.name of the manifest instead.
    """
    reason = "renders to an empty name"
    return RowRenderError(RenderFailure(pair, resource, "nameTemplate", 1, "", reason))


def changed_variables(before: LynqNode, after: LynqNode) -> list[str]:
    """Return the names of the variables whose values differ between two versions of a node."""
    old, new = _annotated_values(before), _annotated_values(after)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _annotated_values(node: LynqNode) -> dict[str, object]:
    values = RowValues.reflected_by(node, node.spec.uid)
    try:
        extras = json.loads(depth_checked(values.extra or "{}"))
    except ValueError:
        extras = {}
    row = {"activate": values.activate, "hostOrUrl": values.host_or_url}
    return {**row, **extras} if isinstance(extras, dict) else dict(row)
