"""Describes a failed template without the data that it was rendered with.

Go's messages quote the value that a function cannot use. Such a message is replaced by the name of
the function. Messages that describe the template, its types or its limits are kept.
"""

import re
from typing import Final

from lynq.template.analysis import referenced_variables
from lynq.template.errors import ErrorKind, TemplateError

_WITH_DATA: Final = ErrorKind.EXECUTE
"""Errors of this kind can quote data; those of other kinds quote the template or count bytes."""
_ABOUT_TEMPLATE: Final = re.compile(
    r"map has no entry for key |nil data; no entry for key |nil pointer evaluating |"
    r"can't evaluate field |wrong number of args |wrong type for value; |undefined variable\Z|"
    r"expected \w+; found |template \S+ not defined\Z|internal error: |"
    r"error calling \w+: incompatible types for comparison"
)
_RANGE: Final = "range can't iterate over "
_CALL: Final = re.compile(r"error calling (\w+): ")
_VARIABLE: Final = re.compile(r"(?<![\w)\]])\$?\.(\w+)")


def redacted_message(error: TemplateError) -> str:
    """Return the message of an error without values of the data: action and variable instead."""
    action, variable = error.action or "", failing_variable(error)
    message = _redacted(error)
    if action:
        message += f" at <{action}>"
    if variable and f".{variable}" not in action:
        message += f' (variable "{variable}")'
    return message


def failing_variable(error: TemplateError) -> str:
    """Return the variable of the failing action, or the only one of the template; "" if unknown."""
    if error.missing_key is not None:
        return error.missing_key
    of_action = _variables(f"{{{{ {error.action} }}}}") if error.action else []
    if of_action:
        return of_action[0]
    # An action alone may not parse: `$variables` are declared elsewhere in the template.
    if match := _VARIABLE.search(error.action or ""):
        return match[1]
    of_template = _variables(error.source)
    return of_template[0] if len(of_template) == 1 else ""


def _redacted(error: TemplateError) -> str:
    message = error.message
    if error.kind is not _WITH_DATA or _ABOUT_TEMPLATE.match(message):
        return message
    if message.startswith(_RANGE):
        return f"{_RANGE}a text, which fromJson can parse"
    call = _CALL.match(message)
    if call is None:
        return "the template failed"
    text = message[call.end() :]
    # A literal of the template, as in `fail "no plan"`.
    if f'"{text}"' in (error.action or ""):
        return message
    return f"error calling {call[1]}"


def _variables(source: str) -> list[str]:
    try:
        return referenced_variables(source)
    except TemplateError:
        return []
