"""Reads who denied a request, and which field, from the message of the API server.

`denial` returns the parts of a message that are names and types: quota, policy, webhook, path,
expected type. `explanation` returns the whole message without the values that the API server is
known to quote. It can still contain values of the object and must be masked before it is shown.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from lynq.api.text import and_more

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_NAME: Final = r"[A-Za-z0-9.:/_-]+"
_TYPE_ERROR: Final = re.compile(
    r"(?<![^\s:])[^\s:.]*+(?P<path>\.[^\s:]*+): expected (?P<expected>string|boolean|map|list|"
    r"numeric \(int or float\)), got (?P<got>.?)(?P<rest>[^\s]*)"
)
_UNMARSHAL: Final = re.compile(
    # Only the first such text of a line is tried: the rest of the line is the same for all.
    r"^(?>.*?json: cannot unmarshal (?P<got>string|number|bool|array|object)).*? into Go "
    r"(?:struct field (?P<path>[\w.\[\]]+)|value) of type (?P<expected>[\w.\[\]{}*]+)",
    re.MULTILINE,
)
_VALUE: Final = re.compile(
    r"(?P<kind>(?:Invalid|Unsupported|Duplicate) value|Not found): "
    rf"(?:{_QUOTED}|[-+.\w]+(?=[:,\]]|$)|(?P<object>.*))",
    re.DOTALL,
)
_IMMUTABLE: Final = "field is immutable"
_REQUESTED: Final = re.compile(r"(?<=requested: )(?P<amounts>\S++)(?= used: |$)")
_AMOUNT: Final = re.compile(r"=[^,]*")
_LIMIT: Final = re.compile(r"(?<= but )(limit|request) is \S+?(?=[.,]?(?:\s|$))")

_GO_TYPES: Final = {'"': "string", "m": "map", "[": "list", "t": "boolean", "f": "boolean"}


def denial(message: str) -> str:
    """Return who denied the request and which field; "" if the message has no known form."""
    for pattern, describe in _DENIALS:
        if match := pattern.search(message):
            return describe(match)
    return ""


def explanation(message: str, causes: Iterable[tuple[str, str]] = ()) -> str:
    """Return the message, or its causes by field, without the values that are known to be quoted.

    The result can contain values of the object in other places.
    """
    if _TYPE_ERROR.search(message) or _UNMARSHAL.search(message):
        # The rest of such a message is the value.
        return denial(message)
    fields = [f"{field}: {_without_value(text)}" for field, text in causes if field and text]
    if fields:
        return and_more(fields, separator="; ")
    text = _REQUESTED.sub(lambda match: _AMOUNT.sub("", match["amounts"]), message)
    return _without_value(_LIMIT.sub(r"\1 is not", text))


def _without_value(text: str) -> str:
    return _VALUE.sub(_value_kind, text)


def _value_kind(match: re.Match[str]) -> str:
    # A value that is an object has no visible end: all that follows is dropped.
    is_immutable = (match["object"] or "").rstrip().endswith(_IMMUTABLE)
    return f"{match['kind']}: {_IMMUTABLE}" if is_immutable else match["kind"]


def _type_error(match: re.Match[str]) -> str:
    return f"{match['path']}: expected {match['expected']}, got {_go_type(match)}"


def _go_type(match: re.Match[str]) -> str:
    """Return the type of the value; the message contains a type, a value or Go's notation of it."""
    text = match["got"] + match["rest"]
    if text in {"string", "bool", "int64", "float64", "map", "list"}:
        return text
    _, found, value = text.partition("{Value:")
    first = (value if found else text)[:1]
    return _GO_TYPES.get(first, "number" if first in "+-0123456789" and first else "another type")


def _unmarshal_error(match: re.Match[str]) -> str:
    path = f"{match['path']}: " if match["path"] else ""
    return f"{path}expected {match['expected']}, got {match['got']}"


_DENIALS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (
        re.compile(rf'admission webhook "({_NAME})" denied the request'),
        lambda match: f"denied by the admission webhook {match[1]}",
    ),
    (
        re.compile(rf'failed calling webhook "({_NAME})"'),
        lambda match: f"the admission webhook {match[1]} failed",
    ),
    (
        re.compile(rf"ValidatingAdmissionPolicy '({_NAME})' with binding '({_NAME})' denied"),
        lambda match: f"denied by the ValidatingAdmissionPolicy {match[1]} (binding {match[2]})",
    ),
    (
        re.compile(rf"(exceeded|failed) quota: ({_NAME}?)(?:[,:]|$)"),
        lambda match: f"{match[1]} quota: {match[2]}",
    ),
    (
        re.compile(r'violates PodSecurity "([a-z0-9:.]+)"'),
        lambda match: f'violates PodSecurity "{match[1]}"',
    ),
    (
        re.compile(r"(?:maximum|minimum) [\w.-]+ usage per \w+ is \w+"),
        lambda match: f"violates a LimitRange: {match[0]}",
    ),
    (_TYPE_ERROR, _type_error),
    (_UNMARSHAL, _unmarshal_error),
)
