"""Makes values fit for a log: no secrets, nothing endless, nothing that JSON does not know."""

import math
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, TypeAlias

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

MASK: Final = "***"
LONGEST: Final = 2000
"""Characters of one value; the rest is cut off."""
_MARGIN: Final = 1000
_ITEMS: Final = 50
_DEPTH: Final = 5

_SECRET: Final = re.compile(
    r"passw(or)?d|pwd|token|secret|authorization|cookie|credential|bearer|private_?key|api_?key|dsn",
    re.IGNORECASE,
)
# What names a secret thing is not secret: secretName, password_ref, tokens_total.
_HARMLESS: Final = re.compile(
    r"(name|namespace|ref|kind|version|count|total|bytes|type)s?$", re.IGNORECASE
)
_IN_TEXT: Final = (
    # user:password@host, in whatever URL
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), rf"\g<1>{MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), rf"\g<1>{MASK}"),
)
_PARTS_OF_A_SECRET: Final = ("data", "stringData")


def mask_fields(key: str, value: object) -> Plain:
    """Return what may be logged of a value under its key."""
    return MASK if is_secret(key) and value not in (None, "") else to_plain(value)


def is_secret(key: str) -> bool:
    """Return whether the key smells of a secret."""
    return bool(_SECRET.search(key)) and not _HARMLESS.search(key)


def to_plain(value: object, depth: int = 0) -> Plain:
    """Return a value as JSON knows it, cut where it is too long or too deep."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth >= _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    # A tuple with names, such as the key of an object, has a way of its own to be written.
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return _items(value, depth)
    return to_text(str(value))


def to_text(value: str, longest: int = LONGEST) -> str:
    """Return a text without the passwords in it, cut where it is too long."""
    # Cut twice: the patterns need not run over a megabyte, but must see the whole of a password
    # that the second cut goes through.
    kept = value[: longest + _MARGIN]
    for pattern, replacement in _IN_TEXT:
        kept = pattern.sub(replacement, kept)
    return str(kept) if len(kept) <= longest else f"{kept[:longest]}…"


def _mapping(value: Mapping[object, object], depth: int) -> dict[str, Plain]:
    hidden = _PARTS_OF_A_SECRET if value.get("kind") == "Secret" else ()
    return {
        str(key): MASK if str(key) in hidden or is_secret(str(key)) else to_plain(each, depth + 1)
        for key, each in islice(value.items(), _ITEMS)
    }


def _items(value: Iterable[object], depth: int) -> list[Plain]:
    return [to_plain(each, depth + 1) for each in islice(value, _ITEMS)]
