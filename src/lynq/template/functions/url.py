"""URLs: parsed into a dict, joined from one, and `toHost`."""

from typing import Final

from lynq.template.environment import Context
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import Needs, function
from lynq.template.gourl import Url, parse_url
from lynq.template.values import byte_view, from_view, kind_of

_TEXT_PARTS: Final = ("scheme", "host", "path", "query", "opaque", "fragment", "userinfo")
_MOST_BYTES_ESCAPED: Final = 3


@function("urlParse", "func(string) map[string]interface{}")
def url_parse(text: str) -> dict[str, object]:
    """Parse a URL into a map of its parts."""
    try:
        url = parse_url(text)
    except FunctionError as problem:
        raise FunctionError(f"unable to parse url: {problem.message}") from None
    parts = {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.user or "",
    }
    return {name: from_view(part) for name, part in parts.items()}


@function("urlJoin", "func(map[string]interface{}) string", needs=Needs.LIMITS)
def url_join(context: Context, parts: dict[str, object]) -> str:
    """Build a URL from a map of its parts."""
    texts = {name: byte_view(_text_of(parts, name)) for name in _TEXT_PARTS}
    size = sum(len(text) for text in texts.values())
    context.limits.check_text(size * _MOST_BYTES_ESCAPED)
    url = Url(
        scheme=texts["scheme"],
        host=texts["host"],
        path=texts["path"],
        query=texts["query"],
        opaque=texts["opaque"],
        fragment=texts["fragment"],
        user=_parse_userinfo(texts["userinfo"]),
    )
    return from_view(str(url))


def _text_of(parts: dict[str, object], name: str) -> str:
    if name not in parts:
        return ""
    value = parts[name]
    if value is None:
        raise FunctionError("runtime error: invalid memory address or nil pointer dereference")
    if not isinstance(value, str):
        kind = kind_of(value)
        raise FunctionError(f"unable to parse {name} key, must be of type string, but {kind} found")
    return value


def _parse_userinfo(userinfo: str) -> str | None:
    """Parse user and password in a URL without other parts, as sprig does."""
    if not userinfo:
        return None
    try:
        return parse_url(f"proto://{from_view(userinfo)}@host").user
    except FunctionError as problem:
        raise FunctionError(f"unable to parse userinfo in dict: {problem.message}") from None


@function("toHost", "func(string) string")
def to_host(text: str) -> str:
    """Return the host without port and user; a text that is not a URL is cut at its first colon."""
    try:
        url = parse_url(text)
    except FunctionError:
        return text.partition(":")[0]
    return from_view(url.hostname) if url.host else text.partition(":")[0]
