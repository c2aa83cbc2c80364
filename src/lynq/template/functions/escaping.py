"""text/template's escapers: html, js, urlquery."""

from typing import Final

from lynq.template.environment import Context
from lynq.template.functions.signature import Needs, function
from lynq.template.gofmt.printf import sprint
from lynq.template.gofmt.quoting import is_print
from lynq.template.values import from_bytes, to_bytes

_HTML: Final = {
    "&": "&amp;",  # first: the replacements of the others contain it
    "\0": "\ufffd",
    '"': "&#34;",
    "'": "&#39;",
    "<": "&lt;",
    ">": "&gt;",
}
_JS: Final = {
    "\\": r"\\",
    "'": r"\'",
    '"': r"\"",
    "<": r"\u003C",
    ">": r"\u003E",
    "&": r"\u0026",
    "=": r"\u003D",
}
_KEPT: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_QUERY: Final = tuple(
    chr(byte) if byte in _KEPT else "+" if byte == ord(" ") else f"%{byte:02X}"
    for byte in range(256)
)


@function("html", "func(...interface{}) string", needs=Needs.LIMITS)
def html(context: Context, *values: object) -> str:
    """Escape for HTML."""
    text = _text(context, values)
    for char, escaped in _HTML.items():
        text = text.replace(char, escaped)
    return _checked(context, text)


@function("js", "func(...interface{}) string", needs=Needs.LIMITS)
def js(context: Context, *values: object) -> str:
    """Escape for a JavaScript string."""
    text = _text(context, values)
    if not text.isascii():
        text = from_bytes(to_bytes(text))
    return _checked(context, text.translate({ord(char): _js(char) for char in set(text)}))


@function("urlquery", "func(...interface{}) string", needs=Needs.LIMITS)
def urlquery(context: Context, *values: object) -> str:
    """Escape for a URL's query."""
    text = _text(context, values)
    return _checked(context, "".join([_QUERY[byte] for byte in to_bytes(text)]))


def _text(context: Context, values: tuple[object, ...]) -> str:
    operands = ["<no value>" if value is None else value for value in values]
    return sprint(*operands, limits=context.limits)


def _checked(context: Context, escaped: str) -> str:
    """Check the limit after escaping, which lengthens a text at most six times."""
    context.limits.check_text(len(escaped))
    return escaped


def _js(char: str) -> str:
    if char in _JS:
        return _JS[char]
    if char < " ":
        return f"\\u{ord(char):04X}"
    if char.isascii() or is_print(char) or "\udc80" <= char <= "\udcff":
        return char
    return f"\\u{ord(char):04X}"
