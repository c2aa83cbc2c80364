"""Which rows can be used: those with a uid of their own that fits, and values that fit.

The order of the rows never matters. A row that is rejected for itself does not compete for its uid
with the others; among those that do, the one in use stays, so that two rows of one uid do not take
turns at changing a running tenant.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lynq.api.naming import is_label_value
from lynq.core.guard.rejections import (
    VALUES_LIMIT,
    Rejection,
    duplicate_uid,
    empty_uid,
    invalid_uid,
    values_too_large,
)


class Candidate(Protocol):
    """What must be known of an active row."""

    @property
    def uid(self) -> str | None:
        """Which row it is; None is NULL."""

    @property
    def size(self) -> int:
        """How many bytes its values have."""

    @property
    def digest(self) -> bytes:
        """Stands for all its mapped values."""


R = TypeVar("R", bound=Candidate)

Reflected = Mapping[str, Collection[bytes]]
"""By uid: the digests of the rows that its existing nodes were written from."""


@dataclass(frozen=True, slots=True)
class UsableRows(Generic[R]):
    """The rows of a read, the usable ones apart from the others."""

    rows: Mapping[str, R]
    """The usable rows by uid."""
    rejections: tuple[Rejection, ...]
    unfit: frozenset[str]
    """Good uids of which no row could be used: their nodes neither change nor go."""


def select_usable(rows: Iterable[R], reflected: Reflected) -> UsableRows[R]:
    """Set the bad rows apart."""
    nameless = 0
    groups: dict[str, dict[bytes, R]] = {}
    for row in rows:
        if row.uid:
            groups.setdefault(row.uid, {})[row.digest] = row
        else:
            nameless += 1
    good = {uid: group for uid, group in groups.items() if is_label_value(uid)}
    picked = {uid: _pick(group, reflected.get(uid, ())) for uid, group in good.items()}
    used = {uid: row for uid, row in picked.items() if row is not None}
    rejections = [empty_uid(nameless)] if nameless else []
    rejections += [invalid_uid(uid, len(groups[uid])) for uid in groups.keys() - good.keys()]
    for uid, group in good.items():
        rejections += _rejections_of(uid, group)
    return UsableRows(used, tuple(rejections), frozenset(good.keys() - used.keys()))


def _pick(group: Mapping[bytes, R], reflected: Collection[bytes]) -> R | None:
    fitting = [digest for digest, row in group.items() if row.size <= VALUES_LIMIT]
    in_use = [digest for digest in fitting if digest in reflected]
    # Nodes of several forms can reflect different rows for a while: then the lowest of those.
    return group[min(in_use or fitting)] if fitting else None


def _rejections_of(uid: str, group: Mapping[bytes, R]) -> Iterator[Rejection]:
    too_large = [row.size for row in group.values() if row.size > VALUES_LIMIT]
    if too_large:
        yield values_too_large(uid, too_large)
    spare = len(group) - len(too_large) - 1
    if spare > 0:
        yield duplicate_uid(uid, spare)
