"""Merges rows that were selected by their uid into the rows of the last complete read.

A push notification names the uids of changed rows, and only these are read. Such a read only adds
and changes rows. It proves no absence and no deactivation: whatever differs from that is in doubt,
and all rows are read at once. So the guard decides about deletions from complete reads alone.

In doubt are:

- a known row that is missing or inactive in the answer;
- an inactive row that the last complete read did not have, or had: `Absences.superseded` tells a
  deactivated row from a row of the past by what complete reads had;
- several rows with one uid, before or now;
- rows without a uid;
- an answer of another source.

A row whose activate text is unclear is a row like any other here; the plan rejects it. A uid that
neither the answer nor the last complete read has an active row of changes nothing.

The merged rows keep the time, the identity and the requests of the complete read. A plan with them
therefore confirms no absence (`lynq.core.guard.absence`), and the next complete read is due as
before.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Final, overload

from lynq.core.hub.row_values import RowLike, RowValues
from lynq.core.hub.state import ReadRows

_MAX_MERGED: Final = 4096
"""Rows that differ from the complete read before its index is built again."""


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The answer of a source about some uids, of one snapshot."""

    rows: Sequence[RowLike]
    """Active rows. Rows with other uids may be among them."""
    inactive: frozenset[str]
    """The uids that have an inactive row."""
    identity: str
    """The digest of the source's identity."""


class IndexedRows(Sequence[RowLike]):
    """The rows of a complete read, by position and by uid, some replaced and others added since.

    A merge costs as much as the rows that differ, not as the table. The index by uid is built when
    it is first used.
    """

    __slots__ = ("_added", "_index", "_replaced", "_rows")

    def __init__(
        self,
        rows: Sequence[RowLike],
        index: "_UidIndex | None" = None,
        replaced: Mapping[int, RowLike] = MappingProxyType({}),
        added: Mapping[str, RowLike] = MappingProxyType({}),
    ) -> None:
        """Index the rows of a complete read; the other arguments are for `merged`."""
        self._rows = rows
        self._index = index
        self._replaced = replaced
        self._added = added

    def with_uid(self, uid: str) -> tuple[RowLike, ...]:
        """Return the rows with this uid."""
        if uid in self._added:
            return (self._added[uid],)
        return tuple(self[position] for position in self._uid_index.positions_of(uid))

    def merged(self, rows: Mapping[str, RowLike]) -> "IndexedRows":
        """Return these rows with the rows of some uids, which no two rows have, replaced or added.

        The rows of this object are unchanged: a plan in another thread may use them.
        """
        if len(self._replaced) + len(self._added) > _MAX_MERGED:
            return IndexedRows(list(self)).merged(rows)
        replaced, added = dict(self._replaced), dict(self._added)
        for uid, row in rows.items():
            if positions := self._uid_index.positions_of(uid):
                replaced[positions[0]] = row
            else:
                added[uid] = row
        return IndexedRows(self._rows, self._uid_index, replaced, added)

    @property
    def _uid_index(self) -> "_UidIndex":
        if self._index is None:
            self._index = _UidIndex.of(self._rows)
        return self._index

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows) + len(self._added)

    @overload
    def __getitem__(self, position: int) -> RowLike: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[RowLike]: ...

    def __getitem__(self, position: int | slice) -> RowLike | Sequence[RowLike]:
        """Return the row at a position, or the rows of a slice."""
        if isinstance(position, slice):
            return list(self)[position]
        if position < 0:
            position += len(self)
        if position in self._replaced:
            return self._replaced[position]
        if position < len(self._rows):
            return self._rows[position]
        return list(self._added.values())[position - len(self._rows)]

    def __iter__(self) -> Iterator[RowLike]:
        """Yield the rows of the complete read in their order, then the others."""
        rows = self._rows
        if self._replaced:
            rows = list(rows)
            for position, row in self._replaced.items():
                rows[position] = row
        return chain(rows, self._added.values())


@dataclass(frozen=True, slots=True)
class _UidIndex:
    """The positions of rows by their uid."""

    last: Mapping[str, int]
    """The position of the last row with the uid."""
    positions: Mapping[str, Sequence[int]]
    """The positions of all rows with the uid; empty if each row has a uid of its own."""

    @classmethod
    def of(cls, rows: Sequence[RowLike]) -> "_UidIndex":
        last = {row.uid or "": position for position, row in enumerate(rows)}
        positions: dict[str, list[int]] = {}
        if len(last) < len(rows):
            for position, row in enumerate(rows):
                positions.setdefault(row.uid or "", []).append(position)
        return cls(last, positions)

    def positions_of(self, uid: str) -> Sequence[int]:
        if uid in self.positions:
            return self.positions[uid]
        return (self.last[uid],) if uid in self.last else ()


def differing_rows(
    last: ReadRows, uids: Collection[str], selected: SelectedRows
) -> Mapping[str, RowLike] | None:
    """Return the selected rows that differ from the last ones, by uid; None if they are in doubt.

    `uids` were selected, all of them.
    """
    if selected.identity != last.identity:
        return None
    known = _indexed(last.rows)
    answers: dict[str, list[RowLike]] = {uid: [] for uid in uids}
    for row in selected.rows:
        if (uid := row.uid) in answers:
            answers[uid].append(row)
    differing: dict[str, RowLike] = {}
    for uid, rows in answers.items():
        before = known.with_uid(uid)
        if uid and not before and not rows:
            continue
        is_doubtful = not uid or len(before) > 1 or len(rows) != 1
        if is_doubtful or (uid in selected.inactive) != (uid in last.inactive):
            return None
        if not before or RowValues.of(before[0]) != RowValues.of(rows[0]):
            differing[uid] = rows[0]
    return differing


def after_selected_read(
    last: ReadRows,
    differing: Mapping[str, RowLike],
    *,
    planned: ReadRows | None,
    changed_at: datetime,
) -> ReadRows:
    """Return the last rows with the differing ones; `planned` are the rows of the last plan."""
    changed: frozenset[str] | None = frozenset(differing)
    if last is not planned:
        changed = None if last.changed is None else last.changed.union(differing)
        changed_at = min(last.changed_at or changed_at, changed_at)
    rows = _indexed(last.rows).merged(differing)
    return replace(last, rows=rows, changed=changed, changed_at=changed_at)


def _indexed(rows: Sequence[RowLike]) -> IndexedRows:
    return rows if isinstance(rows, IndexedRows) else IndexedRows(rows)
