"""Columns and rows of a result: the texts that templates see, and their digests.

A read creates up to a million rows. So a page is converted column by column, in loops that run in
C, and the digest of a row is computed only on access.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, repeat
from typing import Any

from msgspec import Struct
from msgspec.json import Encoder

from lynq.api.activate import ACTIVE, is_unclear, means_no
from lynq.sources.query import Query
from lynq.sources.text_values import TextConverter, unchanged_texts


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """One column of a result."""

    name: str
    type: str
    """The engine's name, without length and precision: a wider VARCHAR is the same type."""
    texts: TextConverter = field(default=unchanged_texts, compare=False, repr=False)
    """Converts the values of one page of the column."""


_UID, _ACTIVATE, _HOST_OR_URL = 0, 1, 2
_QUOTES = 3
"""Bytes that a text takes besides its own: two quotes and a comma."""

_ENCODER = Encoder()
encode = _ENCODER.encode
"""Encodes texts as JSON, in which no two different lists of texts are equal."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The mapping of variables to columns, shared by all rows of a read."""

    columns: tuple[SourceColumn, ...]
    variables: tuple[str, ...]
    salt: bytes
    """Part of every digest: renaming a variable changes what a template sees."""

    @classmethod
    def of(cls, query: Query, columns: Sequence[SourceColumn]) -> "RowLayout":
        """Return the layout of a query's result."""
        names = ("uid", "activate", *(["hostOrUrl"] if query.host_or_url else []))
        salt = hashlib.sha256(encode([*names, "", *query.variables])).digest()
        return cls(tuple(columns), query.variables, salt)

    @property
    def extras(self) -> int:
        """The position of the first extra column."""
        return len(self.columns) - len(self.variables)


# Creating a frozen dataclass takes ten times as long, which would be a third of the whole read.
class Row(Struct, frozen=True, eq=False, gc=False):
    """One active row, or one whose activate text is unclear."""

    texts: tuple[str, ...]
    """All texts, in the order of the query's columns."""
    layout: RowLayout
    oversize: int = 0
    """The least bytes of a row that is too large to be used: `texts` has only uid and activate."""

    @property
    def uid(self) -> str:
        """The row's identifier, not validated here; NULL is empty."""
        return self.texts[_UID]

    @property
    def activate(self) -> str:
        """The text of the activate column."""
        return self.texts[_ACTIVATE]

    @property
    def host_or_url(self) -> str:
        """The text of the deprecated hostOrUrl column; empty if it is not mapped."""
        return self.texts[_HOST_OR_URL] if self.layout.extras > _HOST_OR_URL else ""

    @property
    def extras(self) -> dict[str, str]:
        """The extra variables and their texts."""
        return dict(zip(self.layout.variables, self.texts[self.layout.extras :], strict=True))

    @property
    def digest(self) -> bytes:
        """SHA-256 over the mapped variables: equal in every process and on every engine."""
        return hashlib.sha256(self.layout.salt + encode(self.texts)).digest()

    def __eq__(self, other: object) -> bool:
        """Return whether templates see the same values."""
        if not isinstance(other, Row):
            return NotImplemented
        return (
            self.texts == other.texts
            and (self.layout is other.layout or self.layout.salt == other.layout.salt)
            and self.oversize == other.oversize
        )

    # A struct without generated equality compares identities here.
    def __ne__(self, other: object) -> bool:
        """Return whether templates see different values."""
        return not self == other

    def __hash__(self) -> int:
        """Return the hash of the values."""
        return hash(self.texts)

    def __repr__(self) -> str:
        """Show the uid only: values can be secrets."""
        return f"Row(uid={self.uid!r})"


@dataclass(frozen=True, slots=True)
class ConvertedPage:
    """The rows that were fetched at once, converted."""

    seen: int
    """All rows; none after the last page."""
    rows: list[Row]
    """The active rows, and those whose activate text is unclear."""
    inactive: frozenset[str]
    """The tracked uids that have a row whose activate text means no."""
    size: int
    """Bytes of these rows."""


def active_rows(layout: RowLayout, page: Sequence[Sequence[Any]]) -> list[Row]:
    """Return the active and unclear rows of a page, in the page's order.

    A row may have one more value than there are columns: its size if it is too large to be used,
    else None.
    """
    return converted_page(layout, frozenset(), page).rows


def converted_page(
    layout: RowLayout, tracked: frozenset[str], page: Sequence[Sequence[Any]]
) -> ConvertedPage:
    """Convert the values of a page; see `active_rows`."""
    if not page:
        return ConvertedPage(0, [], frozenset(), 0)
    by_column = list(zip(*page, strict=True))
    activate = layout.columns[_ACTIVATE].texts(by_column[_ACTIVATE])
    if not ACTIVE.issuperset(activate):
        others = set(activate) - ACTIVE
        used = ACTIVE.union(filter(is_unclear, others))
        if not used.issuperset(others):
            converted = converted_page(
                layout, tracked, list(compress(page, map(used.__contains__, activate)))
            )
            noes = set(filter(means_no, others))
            uids = list(compress(by_column[_UID], map(noes.__contains__, activate)))
            inactive = tracked and tracked.intersection(layout.columns[_UID].texts(uids))
            return replace(converted, seen=len(page), inactive=inactive)
    sizes = by_column.pop() if len(by_column) > len(layout.columns) else ()
    texts = [column.texts(values) for column, values in zip(layout.columns, by_column, strict=True)]
    rows: Iterator[Row] = map(Row, zip(*texts, strict=True), repeat(layout))
    if any(sizes):
        oversizes = [int(size or 0) for size in sizes]
        rows = map(Row, zip(*texts, strict=True), repeat(layout), oversizes)
    return ConvertedPage(len(page), list(rows), frozenset(), sum(map(_size, texts)))


def _size(texts: Sequence[str]) -> int:
    """Return the bytes of texts in UTF-8, between quotes and commas."""
    joined = "".join(texts)
    length = len(joined) if joined.isascii() else len(joined.encode(errors="surrogatepass"))
    return length + _QUOTES * len(texts)


def joined_pages(pages: Sequence[ConvertedPage]) -> ConvertedPage:
    """Return the rows of some pages as one."""
    return ConvertedPage(
        sum(page.seen for page in pages),
        list(chain.from_iterable(page.rows for page in pages)),
        frozenset().union(*(page.inactive for page in pages)),
        sum(page.size for page in pages),
    )
