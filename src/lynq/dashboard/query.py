"""The parameters of a request, each bounded; and pages over a sorted list."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from aiohttp import web

from lynq.api.nesting import depth_checked
from lynq.dashboard.options import MAX_PAGE, MAX_TEXT

T = TypeVar("T")


class BadQuery(ValueError):  # noqa: N818 - read as a sentence
    """A parameter of the request is wrong; the message says which and how."""


def text(request: web.Request, name: str) -> str:
    """Return a parameter; raises BadQuery if it is too long."""
    value = request.query.get(name, "")
    if len(value) > MAX_TEXT:
        raise BadQuery(f'The parameter "{name}" has more than {MAX_TEXT} characters.')
    return value


def flag(request: web.Request, name: str) -> bool:
    """Return whether a parameter is set to true."""
    return text(request, name).lower() in ("1", "true", "yes")


def limit(request: web.Request, otherwise: int = 100) -> int:
    """Return the size of a page; raises BadQuery."""
    value = text(request, "limit")
    if not value:
        return otherwise
    if not (value.isascii() and value.isdigit() and 0 < int(value) <= MAX_PAGE):
        raise BadQuery(f"limit must be a number from 1 to {MAX_PAGE}.")
    return int(value)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a sorted list."""

    items: tuple[T, ...]
    next: str
    """The cursor of the next page; empty on the last one."""


def page(
    items: Iterable[T],
    key: Callable[[T], tuple[Any, ...]],
    after: str,
    size: int,
    *,
    descending: bool = False,
) -> Page[T]:
    """Return the items behind a cursor, ordered by a unique key; raises BadQuery.

    The cursor is the key of the last item, so that a page begins at the right place also if items
    were added or removed meanwhile.
    """
    ordered = sorted(items, key=key, reverse=descending)
    start = 0
    if after:
        last = _decoded(after)
        try:
            start = (
                next((i for i, item in enumerate(ordered) if list(key(item)) < last), len(ordered))
                if descending
                else bisect_right(ordered, last, key=lambda item: list(key(item)))
            )
        except TypeError:
            raise BadQuery("after is the cursor of another order.") from None
    shown = tuple(ordered[start : start + size])
    is_last = start + size >= len(ordered)
    return Page(shown, "" if is_last else _encoded(key(shown[-1])))


def _encoded(key: tuple[Any, ...]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(list(key))).decode().rstrip("=")


def _decoded(cursor: str) -> list[Any]:
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        text = base64.urlsafe_b64decode(padded)
        key: list[Any] = msgspec.json.decode(depth_checked(text), type=list)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise BadQuery("after is not a cursor of this server.") from None
    return key
