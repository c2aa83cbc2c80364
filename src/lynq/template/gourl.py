"""Go's net/url: parses and formats URLs, with its rules for percent escapes."""

import re
import string
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lynq.template.errors import FunctionError, LimitError
from lynq.template.gofmt.quoting import quote
from lynq.template.netip import parse_address
from lynq.template.values import byte_view, from_view

_UNRESERVED: Final = string.ascii_letters + string.digits + "-_.~"
_HOST: Final = _UNRESERVED + "!$&'()*+,;=:[]<>\""
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")


class Part(Enum):
    """A part of a URL, with the characters that are not escaped in it."""

    PATH = _UNRESERVED + "$&+,/:;=@"
    USER = _UNRESERVED + "$&+,;="
    FRAGMENT = _UNRESERVED + "$&+,/:;=?@!()*"
    HOST = _HOST
    # A zone is escaped like the host, but unescaped by its own rules.
    ZONE = _HOST + "\0"


_TABLES: Final = {
    part: {code: f"%{code:02X}" for code in range(256) if chr(code) not in part.value}
    for part in Part
}
_WRONG_ESCAPE: Final = r"%(?![0-9a-fA-F]{2})"
# Host and zone also reject other ASCII characters. A host may escape only non-ASCII bytes
# and the % that starts a zone; a zone only its own characters, %, and a space.
_WRONG: Final = {
    Part.PATH: re.compile(_WRONG_ESCAPE),
    Part.USER: re.compile(_WRONG_ESCAPE),
    Part.FRAGMENT: re.compile(_WRONG_ESCAPE),
    Part.HOST: re.compile(rf"{_WRONG_ESCAPE}|%(?!25)[0-7]|[^%{re.escape(_HOST)}\x80-\xff]"),
    Part.ZONE: re.compile(
        rf"{_WRONG_ESCAPE}|%(?!(?:25|20|{'|'.join(f'{ord(char):02x}' for char in _HOST)}))"
        rf"|[^%{re.escape(_HOST)}\x80-\xff]",
        re.IGNORECASE,
    ),
}


def escape(view: str, part: Part) -> str:
    """Escape the bytes that are not allowed in a part."""
    return view.translate(_TABLES[part])


def unescape(view: str, part: Part) -> str:
    """Unescape a part, or fail for escapes and bytes that are not allowed in it."""
    wrong = _WRONG[part].search(view)
    if wrong is None:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), view)
    if wrong[0][0] == "%":
        escaped = view[wrong.start() : wrong.start() + 3]
        raise FunctionError(f"invalid URL escape {quote(from_view(escaped))}")
    raise FunctionError(f"invalid character {quote(wrong[0])} in host name")


def is_valid_encoding(view: str, part: Part) -> bool:
    """Report whether an escaped text is valid, as url.validEncoded does."""
    return not view.strip(part.value + "!$&'()*+,;=:@[]%")


_USERINFO = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:~!$&'()*+,;=%@"
)
_SCHEME_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_SCHEME_OTHERS = frozenset("0123456789+-.")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_IPV4_SIZE = 4
_MOST_BYTES = 64 * 1024


@dataclass(slots=True, kw_only=True)
class Url:
    """The parts of a URL, as byte views; `user` is None where there is no user."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    """User and password, escaped."""
    host: str = ""
    path: str = ""
    raw_path: str = ""
    omit_host: bool = False
    force_query: bool = False
    query: str = ""
    fragment: str = ""
    raw_fragment: str = ""

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        before, colon, port = self.host.rpartition(":")
        name = before if colon and _is_port(colon + port) else self.host
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    def __str__(self) -> str:
        """Format the URL as a byte view."""
        text = f"{self.scheme}:" if self.scheme else ""
        text += self.opaque or self._hierarchy(text)
        if self.force_query or self.query:
            text += f"?{self.query}"
        if self.fragment:
            text += f"#{_escaped(self.fragment, self.raw_fragment, Part.FRAGMENT)}"
        return text

    def _hierarchy(self, before: str) -> str:
        authority = self._authority()
        path = "*" if self.path == "*" else _escaped(self.path, self.raw_path, Part.PATH)
        if path and path[0] != "/" and self.host:
            return f"{authority}/{path}"
        if not before and not authority and ":" in path.partition("/")[0]:
            # Without the dot, the first segment would be parsed as a scheme.
            return f"./{path}"
        return authority + path

    def _authority(self) -> str:
        if not (self.scheme or self.host or self.user is not None):
            return ""
        if self.omit_host and not self.host and self.user is None:
            return ""
        slashes = "//" if self.host or self.path or self.user is not None else ""
        user = f"{self.user}@" if self.user is not None else ""
        return slashes + user + escape(self.host, Part.HOST)


def _escaped(text: str, raw: str, part: Part) -> str:
    """Return the escaped form: the original, if it is a valid encoding of the text."""
    if raw and is_valid_encoding(raw, part) and unescape(raw, part) == text:
        return raw
    return escape(text, part)


def parse_url(text: str) -> Url:
    """Parse a URL, or fail with Go's error."""
    view = byte_view(text)
    if len(view) > _MOST_BYTES:
        raise LimitError(f"a URL of {len(view)} bytes is over the limit of {_MOST_BYTES}")
    before, _, fragment = view.partition("#")
    try:
        url = _parse(before)
    except FunctionError as problem:
        raise _failure(before, problem) from None
    try:
        url.fragment = unescape(fragment, Part.FRAGMENT)
    except FunctionError as problem:
        raise _failure(view, problem) from None
    url.raw_fragment = fragment if escape(url.fragment, Part.FRAGMENT) != fragment else ""
    return url


def _failure(view: str, problem: FunctionError) -> FunctionError:
    return FunctionError(f"parse {quote(from_view(view))}: {problem.message}")


def _parse(view: str) -> Url:
    if _CONTROL.search(view):
        raise FunctionError("net/url: invalid control character in URL")
    if view == "*":
        return Url(path="*")
    scheme, rest = _split_scheme(view)
    url = Url(scheme=scheme.lower())
    url.force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, url.query = rest.partition("?")
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if ":" in rest.partition("/")[0]:
            raise FunctionError("first path segment in URL cannot contain colon")
    _set_path(url, _take_authority(url, rest))
    return url


def _split_scheme(view: str) -> tuple[str, str]:
    for at, char in enumerate(view):
        if char in _SCHEME_LETTERS or (at > 0 and char in _SCHEME_OTHERS):
            continue
        if char != ":":
            break
        if at == 0:
            raise FunctionError("missing protocol scheme")
        return view[:at], view[at + 1 :]
    return "", view


def _take_authority(url: Url, rest: str) -> str:
    """Parse user and host, and return the path that follows."""
    if rest.startswith("//") and (url.scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        userinfo, at, host = authority.rpartition("@")
        url.host = _parse_host(url.scheme, host)
        url.user = _parse_user(userinfo) if at else None
        return slash + path
    url.omit_host = bool(url.scheme) and rest.startswith("/")
    return rest


def _set_path(url: Url, path: str) -> None:
    url.path = unescape(path, Part.PATH)
    url.raw_path = path if escape(url.path, Part.PATH) != path else ""


def _parse_user(userinfo: str) -> str:
    """Parse user and password, and return them in the default escaping."""
    if not _USERINFO.issuperset(userinfo):
        raise FunctionError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    parts = [escape(unescape(part, Part.USER), Part.USER) for part in (name, password)]
    return colon.join(parts)


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise FunctionError("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    if ":" in host:
        # Lists of hosts in database URLs may have several colons; http and https URLs may not.
        last = host.find(":") if scheme in ("http", "https") else host.rfind(":")
        _check_port(host[last:])
    return unescape(host, Part.HOST)


def _parse_ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise FunctionError("missing ']' in host")
    _check_port(host[end + 1 :])
    port = unescape(host[end + 1 :], Part.HOST)
    name, percent, zone = host[1:end].partition("%25")
    inside = unescape(name, Part.HOST)
    if percent:
        inside += unescape(percent + zone, Part.ZONE)
    try:
        address = parse_address(inside)
    except FunctionError as problem:
        raise FunctionError(f"invalid host: {problem.message}") from None
    if len(address.packed) == _IPV4_SIZE:
        raise FunctionError("invalid IP-literal")
    return f"[{inside}]{port}"


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and set(text[1:]) <= set("0123456789"))


def _check_port(text: str) -> None:
    if not _is_port(text):
        raise FunctionError(f"invalid port {quote(from_view(text))} after host")
