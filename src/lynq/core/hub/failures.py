"""A name, label or annotation that could not be rendered: where, and why, without row values.

What a function says when it refuses, and what Go prints of a value it cannot use, can hold a
password out of a row. So only sentences that are known to speak about the template are passed on.
"""

import re
from dataclasses import dataclass
from typing import Final

from lynq.api.naming import NodePair
from lynq.template import ErrorKind, TemplateError, variables

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
        return variables(source)
    except TemplateError:
        # A part alone need not parse: its own variables are declared elsewhere.
        return []


def _harmless(error: TemplateError) -> str:
    if error.kind in (ErrorKind.PARSE, ErrorKind.LIMIT) or _HARMLESS.match(error.message):
        return error.message
    calling = _CALLING.match(error.message)
    return calling[0] if calling else "cannot be rendered"
