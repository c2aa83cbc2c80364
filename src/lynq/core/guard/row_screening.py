"""Rows × forms → the nodes that can be, and a rejection with a reason for everything else.

A bad uid or bad values concern a row with all its forms; a bad name concerns one pair of row and
form, and the row's other forms go on.

Which rows can be used: those with a uid of their own that fits, and values that fit.

The order of the rows never matters. A row that is rejected for itself does not compete for its uid
with the others; among those that do, the one in use stays, so that two rows of one uid do not take
turns at changing a running tenant.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lynq.api.naming import NodePair, is_label_value, is_subdomain, node_name
from lynq.core.guard.rejections import (
    VALUES_LIMIT,
    Rejection,
    duplicate_uid,
    empty_uid,
    invalid_node_name,
    invalid_uid,
    node_name_taken,
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


@dataclass(frozen=True, slots=True)
class ExistingNodes:
    """What there is already, and has precedence for that."""

    owners: Mapping[str, NodePair]
    """Nodes by name, all of the namespace: other hubs' nodes take names as well."""
    reflected: Reflected
    """By uid: the digests of the rows that this hub's nodes were written from."""


@dataclass(frozen=True, slots=True)
class ScreenedRows(Generic[R]):
    """What a read amounts to. Always: `desired` = accepted nodes + `missing`."""

    rows: Mapping[str, R]
    """The rows in use, by uid."""
    nodes: Mapping[str, NodePair]
    """The nodes that can be, by name."""
    kept: frozenset[NodePair]
    """Rejected pairs of good uids. Their rows are still there, so their nodes must not go."""
    rejections: tuple[Rejection, ...]
    """In the order of the uids as shown; one per uid and reason."""
    rejected_rows: int
    """How many rows were set apart, for one form or for all."""
    desired: int
    """Forms × active rows; equal rows of one uid count once."""
    missing: int
    """Pairs that were rejected: they count as failed."""


def screen_rows(
    rows: Iterable[R], forms: Collection[str], existing: ExistingNodes
) -> ScreenedRows[R]:
    """Tell the usable pairs of row and form from the others; the order of both is irrelevant."""
    sifted = select_usable(rows, existing.reflected)
    nodes, unnamed = _name(sifted.rows, forms, existing.owners)
    unfit = {NodePair(uid, form) for uid in sifted.unfit for form in forms}
    spoilt = sum(rejection.rows for rejection in sifted.rejections)
    rejections = [*sifted.rejections, *unnamed.rejections()]
    return ScreenedRows(
        rows=sifted.rows,
        nodes=nodes,
        kept=frozenset(unfit | unnamed.pairs()),
        rejections=tuple(sorted(rejections, key=_by_uid)),
        rejected_rows=spoilt + len(unnamed.invalid.keys() | unnamed.taken.keys()),
        desired=(spoilt + len(sifted.rows)) * len(forms),
        missing=spoilt * len(forms) + len(unnamed.pairs()),
    )


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """Pairs without a name, by uid."""

    invalid: dict[str, list[str]]
    """Forms with which the uid makes no name."""
    taken: dict[str, dict[str, NodePair]]
    """Forms with which it makes another pair's name."""

    def pairs(self) -> set[NodePair]:
        by_uid = [*self.invalid.items(), *self.taken.items()]
        return {NodePair(uid, form) for uid, forms in by_uid for form in forms}

    def rejections(self) -> list[Rejection]:
        return [
            *(invalid_node_name(uid, forms) for uid, forms in self.invalid.items()),
            *(node_name_taken(uid, holders) for uid, holders in self.taken.items()),
        ]


def _name(
    uids: Iterable[str], forms: Collection[str], owners: Mapping[str, NodePair]
) -> tuple[dict[str, NodePair], _Unnamed]:
    """Give each pair its name, in the pairs' order: who exists keeps it, else the first has it."""
    nodes: dict[str, NodePair] = {}
    unnamed = _Unnamed({}, {})
    in_order = sorted(forms)
    for pair in (NodePair(uid, form) for uid in sorted(uids) for form in in_order):
        name = node_name(pair)
        owner = owners.get(name)
        # Mostly it exists, and then its name has been found good by the API server.
        if owner == pair:
            nodes[name] = pair
        elif not is_subdomain(name):
            unnamed.invalid.setdefault(pair.uid, []).append(pair.form)
        elif (holder := _rightful(owner, name) or nodes.get(name, pair)) != pair:
            unnamed.taken.setdefault(pair.uid, {})[pair.form] = holder
        else:
            nodes[name] = pair
    return nodes, unnamed


def _rightful(owner: NodePair | None, name: str) -> NodePair | None:
    # A node whose spec was edited claims to be another's: it is the one its name says.
    return owner if owner and node_name(owner) == name else None


def _by_uid(rejection: Rejection) -> tuple[str, str, bytes]:
    return rejection.uid, rejection.reason, rejection.fingerprint
