"""Why a resource could not be rendered: resource, field, line and variable named."""

import re
from typing import Final

from lynq.core.guard.rejections import printable
from lynq.template import ErrorKind, TemplateError

_MISSING: Final = re.compile(r'map has no entry for key "(.*)"', re.DOTALL)
_FIELD: Final = re.compile(r"(?<![\w)\]])\$?\.(\w+)")


class RenderError(Exception):
    """One resource cannot be rendered; the others go on."""

    def __init__(
        self, resource: str, field: str, problem: str, *, line: int = 0, variable: str = ""
    ) -> None:
        self.resource = resource
        """The id of the entry."""
        self.field = field
        """Where in the entry or its manifest."""
        self.line = line
        """Counted from 1 within the template; 0 if it is not about a line."""
        self.variable = variable
        """The variable to look at; "" if none is known."""
        place = f"{field}, line {line}" if line else field
        super().__init__(f'"{resource}" could not be rendered: {place}: {problem}')


def template_failed(resource: str, error: TemplateError, field: str, kind: str) -> RenderError:
    """Tell of a template that failed.

    What a function says can quote its argument. In a Secret that is what nobody may read, so only
    the place is told there. A template that does not parse quotes the form and no row.
    """
    missing = _MISSING.fullmatch(error.message)
    variable = missing[1] if missing else _variable(error)
    if missing:
        problem = (
            f'there is no variable "{printable(variable)}"; '
            "map it in the hub's extraValueMappings, or correct the template"
        )
    elif kind == "Secret" and error.kind is not ErrorKind.PARSE:
        problem = _place_only(error)
    else:
        problem = f"{error.message}{f' (at {error.action})' if error.action else ''}"
    return RenderError(resource, field, problem, line=error.line, variable=variable)


def _variable(error: TemplateError) -> str:
    found = _FIELD.search(error.action or "")
    return found[1] if found else ""


def _place_only(error: TemplateError) -> str:
    at = f" at {error.action}" if error.action else ""
    return f"the template failed{at}; details of a Secret are not shown"
