"""A row's values: as nodes hold them in annotations, and as templates see them.

What a node was written from can be read back from its annotations, also from those that the Go
operator wrote. So rows and nodes are compared without any memory of our own.

A name, label or annotation that could not be rendered: where, and why, without row values.

What a function says when it refuses, and what Go prints of a value it cannot use, can hold a
password out of a row. So only sentences that are known to speak about the template are passed on.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec.json import Encoder

from lynq.api import LynqNode
from lynq.api.names import ANNOTATION_ACTIVATE, ANNOTATION_EXTRA, ANNOTATION_HOST_OR_URL
from lynq.api.naming import NodePair
from lynq.template import ErrorKind, TemplateError, referenced_variables
from lynq.template.functions.url import to_host
from lynq.template.gofmt.floats import go_escaped

_ENCODER: Final = Encoder(order="sorted")
_LONE: Final = re.compile("[\ud800-\udfff]")


class RowLike(Protocol):
    """What the hub has to know of an active row."""

    @property
    def uid(self) -> str | None:
        """Which row it is; None is NULL."""

    @property
    def activate(self) -> str:
        """The text that made it active."""

    @property
    def host_or_url(self) -> str:
        """The deprecated column; empty when it is not mapped."""

    @property
    def extras(self) -> Mapping[str, str]:
        """The further variables."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """What is taken from a row, in the form in which a node holds it."""

    uid: str
    activate: str
    host_or_url: str
    extra: str
    """The further variables as JSON."""

    @classmethod
    def of(cls, row: RowLike) -> "RowValues":
        """Return the values of a row."""
        return cls(
            row.uid or "", _text(row.activate), _text(row.host_or_url), extra_json(row.extras)
        )

    @classmethod
    def reflected_by(cls, node: LynqNode, uid: str) -> "RowValues":
        """Return the values that the node of this uid was written from."""
        known = node.metadata.annotations
        return cls(
            uid,
            known.get(ANNOTATION_ACTIVATE, ""),
            known.get(ANNOTATION_HOST_OR_URL, ""),
            known.get(ANNOTATION_EXTRA, ""),
        )

    @property
    def annotations(self) -> dict[str, str]:
        """The values as annotations of a node."""
        return {
            ANNOTATION_HOST_OR_URL: self.host_or_url,
            ANNOTATION_ACTIVATE: self.activate,
            ANNOTATION_EXTRA: self.extra,
        }

    @property
    def size(self) -> int:
        """How many bytes they take in a node: JSON can be much longer than what it holds."""
        return sum(map(_size, (self.uid, self.activate, self.host_or_url, self.extra)))

    @property
    def digest(self) -> bytes:
        """Stands for all values but the uid, which says whose they are."""
        texts = _ENCODER.encode((self.activate, self.host_or_url, self.extra))
        return hashlib.sha256(texts).digest()

    def __repr__(self) -> str:
        """Say whose they are, and nothing of what they are: values can be secrets."""
        return f"Values(uid={self.uid!r})"


def extra_json(extras: Mapping[str, str]) -> str:
    """Return the variables exactly as Go's json.Marshal writes a map[string]string."""
    try:
        text = _ENCODER.encode(extras).decode()
    except UnicodeEncodeError:
        # Seldom and slow: half a surrogate pair, which Go would write as an escape.
        text = json.dumps(dict(extras), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return go_escaped(text)


def row_variables(values: RowValues, *, hub: str, form: str) -> dict[str, object]:
    """Return what templates see; an extra hides uid, activate and host, but not the last two."""
    known: dict[str, object] = {"uid": values.uid, "activate": values.activate}
    if values.host_or_url:
        known |= {"hostOrUrl": values.host_or_url, "host": to_host(values.host_or_url)}
    extras: dict[str, object] = json.loads(values.extra)
    return known | extras | {"hubId": hub, "templateRef": form}


def _text(text: str) -> str:
    return text if text.isascii() else _LONE.sub("\ufffd", text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_MISSING: Final = re.compile(r'map has no entry for key "([^"]*)"')
_CALLING: Final = re.compile(r"error calling \w+")
_HARMLESS: Final = re.compile(
    r"map has no entry|can't evaluate field|wrong number of args|wrong type"
)


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """Why a node could not be written."""

    pair: NodePair
    resource: str
    """The id of the resource."""
    field: str
    """For example `nameTemplate` or `labelsTemplate[team]`."""
    line: int
    variable: str
    """The variable that the failing part reads; empty if it is not known."""
    reason: str

    @property
    def message(self) -> str:
        """All of it in one sentence."""
        return (
            f'form "{self.pair.form}", resource "{self.resource}", {self.field}, '
            f"line {self.line}: {self.reason}"
        )


class RowRenderError(Exception):
    """A form cannot be rendered for a row."""

    def __init__(self, failure: RenderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failed(
    pair: NodePair, resource: str, field: str, source: str, error: TemplateError
) -> RowRenderError:
    """Return what the error of a template means for the node."""
    at = f" at <{error.action}>" if error.action else ""
    return RowRenderError(
        RenderFailure(
            pair, resource, field, error.line, _variable(error, source), f"{_harmless(error)}{at}"
        )
    )


def nameless(pair: NodePair, resource: str) -> RowRenderError:
    """Return the error of a name that came out empty: the node would look for another one."""
    reason = "the name is empty for this row"
    return RowRenderError(RenderFailure(pair, resource, "nameTemplate", 1, "", reason))


def _variable(error: TemplateError, source: str) -> str:
    """Return what the failing part reads, or the whole template if that is a single variable."""
    if missing := _MISSING.search(error.message):
        return missing[1]
    whole = _read(source)
    part = _read(f"{{{{ {error.action} }}}}") if error.action else []
    return part[0] if part else whole[0] if len(whole) == 1 else ""


def _read(source: str) -> list[str]:
    try:
        return referenced_variables(source)
    except TemplateError:
        # A part alone need not parse: its own variables are declared elsewhere.
        return []


def _harmless(error: TemplateError) -> str:
    if error.kind in (ErrorKind.PARSE, ErrorKind.LIMIT) or _HARMLESS.match(error.message):
        return error.message
    calling = _CALLING.match(error.message)
    return calling[0] if calling else "cannot be rendered"
