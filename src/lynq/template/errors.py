"""The errors of templates: the public one, and the private ones that it is created from."""

import re
from enum import StrEnum
from typing import Final

_MISSING_KEY: Final = re.compile(r'map has no entry for key "(.*)"', re.DOTALL)


class ErrorKind(StrEnum):
    """The step at which a template failed."""

    PARSE = "parse"
    EXECUTE = "execute"
    LIMIT = "limit"
    DATA = "data"
    UNAVAILABLE = "unavailable"
    """An input of the render is missing; the message quotes neither template nor data."""


class TemplateError(Exception):
    """A template does not parse, or cannot be rendered with this data.

    The only exception that leaves the package. `template` is the name of the root or of the defined
    template that failed, `action` the part of it, as Go prints it, and `function` the function that
    failed, if any; `field` is the field of the manifest that holds the template, `source` its text
    unless it does not parse. The message can quote the data: see `redaction`.
    """

    def __init__(
        self,
        kind: ErrorKind | str,
        line: int,
        column: int,
        message: str,
        *,
        template: str = "template",
        action: str | None = None,
        function: str | None = None,
        field: str | None = None,
        source: str = "",
    ) -> None:
        super().__init__(kind, line, column, message)
        self.kind = ErrorKind(kind)
        self.line = line
        self.column = column
        self.message = message
        self.template = template
        self.action = action
        self.function = function
        self.field = field
        self.source = source

    @property
    def missing_key(self) -> str | None:
        """The key that a map lacks, if that is the cause; None otherwise."""
        match = _MISSING_KEY.fullmatch(self.message)
        return match[1] if match else None

    def __str__(self) -> str:
        """Go's form: `template: name:line:column: executing "name" at <action>: message`."""
        if self.kind is ErrorKind.PARSE:
            return f"template: template:{self.line}: {self.message}"
        prefix = f"template: template:{self.line}:{self.column}: "
        if self.action is not None:
            prefix += f'executing "{self.template}" at <{self.action}>: '
        return prefix + self.message


class Failure(Exception):  # noqa: N818 - not an error to the user until it has a position
    """A render failed. The engine adds the position and raises a `TemplateError`."""

    kind = ErrorKind.EXECUTE
    argument: int | None = None
    """Which argument of a method is to blame."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FunctionError(Failure):
    """The error that the Go function returns, or the panic that text/template recovers."""


class LimitError(Failure):
    """A template exceeds the limit on text, items, depth or time."""

    kind = ErrorKind.LIMIT


class UnavailableError(Failure):
    """An input that the caller provides, such as randomness, is missing."""

    kind = ErrorKind.UNAVAILABLE


class DataError(Failure):
    """The data holds a Python value that has no Go type."""

    kind = ErrorKind.DATA
