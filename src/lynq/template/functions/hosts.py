"""Ours: the host of a URL, or of what looks like one."""

from lynq.template.byteview import from_view
from lynq.template.errors import FunctionError
from lynq.template.functions.signature import function
from lynq.template.gourl import parse_url


@function("toHost", "func(string) string")
def to_host(text: str) -> str:
    """Give the host without port and user; what is no URL is cut at its first colon."""
    try:
        url = parse_url(text)
    except FunctionError:
        return text.partition(":")[0]
    return from_view(url.hostname) if url.host else text.partition(":")[0]
