"""Screen rows × forms: accept pairs with valid names, and reject all others with a reason.

An invalid uid, a duplicate uid, oversized values or an unclear activate text reject a row for all
forms. An invalid or taken node name rejects one pair of row and form; the other forms of the row
are not affected.

The result is independent of the order of rows and forms. Of several valid rows with one uid, the
row that existing nodes were written from is preferred: two rows of one uid must not alternate in a
running tenant.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from lynq.api.naming import NodePair, is_label_value, is_subdomain, node_name
from lynq.api.source import VALUES_LIMIT
from lynq.core.guard.rejections import (
    Rejection,
    duplicate_uid,
    empty_uid,
    invalid_activate,
    invalid_node_name,
    invalid_uid,
    node_name_taken,
    values_too_large,
)


class Candidate(Protocol):
    """A row as far as screening needs it: active, or with an unclear activate text."""

    @property
    def uid(self) -> str | None:
        """The value of the uid column; None if it is NULL."""

    @property
    def is_active(self) -> bool:
        """Whether the activate text is a yes; if not, it is unclear."""

    @property
    def size(self) -> int:
        """The size of the values in bytes."""

    @property
    def digest(self) -> bytes:
        """The digest of all mapped values."""


R = TypeVar("R", bound=Candidate)

Reflected = Mapping[str, Collection[bytes]]
"""By uid: the digests of the rows from which existing nodes were written."""


@dataclass(frozen=True, slots=True)
class _UsableRows(Generic[R]):
    """The rows that are accepted as such, and the rejections of the others."""

    rows: Mapping[str, R]
    """Accepted rows by uid."""
    rejections: tuple[Rejection, ...]
    rejected_uids: frozenset[str]
    """Valid uids without an accepted row: their nodes are neither updated nor deleted."""
    unclear_uids: frozenset[str]
    """Those of them that have no active row at all."""
    count: int
    """The number of all rows."""


def _select_usable(rows: Iterable[R], reflected: Reflected) -> _UsableRows[R]:
    """Reject rows with an unusable uid, values that are too large or an unclear activate text."""
    count = without_uid = 0
    groups: dict[str, dict[bytes, R]] = {}
    for row in rows:
        count += 1
        if row.uid:
            groups.setdefault(row.uid, {})[row.digest] = row
        else:
            without_uid += 1
    valid = {uid: group for uid, group in groups.items() if is_label_value(uid)}
    preferred = {uid: _preferred(group, reflected.get(uid, ())) for uid, group in valid.items()}
    accepted = {uid: row for uid, row in preferred.items() if row is not None}
    rejected = frozenset(valid.keys() - accepted.keys())
    rejections = [empty_uid(without_uid)] if without_uid else []
    rejections += [invalid_uid(uid, len(groups[uid])) for uid in groups.keys() - valid.keys()]
    for uid, group in valid.items():
        rejections += _rejections_of(uid, group)
    return _UsableRows(
        accepted,
        tuple(rejections),
        rejected_uids=rejected,
        unclear_uids=frozenset(
            uid for uid in rejected if not any(row.is_active for row in valid[uid].values())
        ),
        count=count,
    )


def _preferred(group: Mapping[bytes, R], reflected: Collection[bytes]) -> R | None:
    fitting = [
        digest for digest, row in group.items() if row.is_active and row.size <= VALUES_LIMIT
    ]
    in_use = [digest for digest in fitting if digest in reflected]
    # Nodes of several forms can reflect different rows for a while: the lowest digest counts.
    return group[min(in_use or fitting)] if fitting else None


def _rejections_of(uid: str, group: Mapping[bytes, R]) -> Iterator[Rejection]:
    active = [row for row in group.values() if row.is_active]
    if len(active) < len(group):
        yield invalid_activate(uid, len(group) - len(active))
    too_large = [row.size for row in active if row.size > VALUES_LIMIT]
    if too_large:
        yield values_too_large(uid, too_large)
    duplicates = len(active) - len(too_large) - 1
    if duplicates > 0:
        yield duplicate_uid(uid, duplicates)


@dataclass(frozen=True, slots=True)
class ExistingNodes:
    """The nodes that exist; their names and rows take precedence."""

    owners: Mapping[str, NodePair]
    """The pairs of all nodes in the namespace by node name, also of other hubs."""
    reflected: Reflected
    """By uid: the digests of the rows from which nodes of this hub were written."""


@dataclass(frozen=True, slots=True)
class ScreenedRows(Generic[R]):
    """The result of screening. Invariant: `desired` = accepted nodes + `missing`."""

    rows: Mapping[str, R]
    """Accepted rows by uid."""
    nodes: Mapping[str, NodePair]
    """Accepted pairs by node name."""
    rejected_pairs: frozenset[NodePair]
    """Rejected pairs with a valid uid. Their rows exist, so their nodes must not be deleted."""
    unclear_pairs: frozenset[NodePair]
    """Those of them whose row says neither yes nor no."""
    rejections: tuple[Rejection, ...]
    """One per uid and reason, ordered by uid."""
    rejected_rows: int
    """The number of rows that are rejected for at least one form."""
    desired: int
    """Forms × rows; rows with equal uid and values count once."""
    missing: int
    """The number of rejected pairs, which count as failed."""
    unidentifiable: int
    """The number of rows whose uid identifies no node of their own: it may be that of another
    tenant, changed in place. Of the rows of one uid, one has the node. Equal rows count one by one:
    several tenants may have got the same uid."""

    @property
    def present(self) -> set[str]:
        """The names of the nodes whose rows are present, also of rejected rows."""
        return self.nodes.keys() | {node_name(pair) for pair in self.rejected_pairs}


def screen_rows(
    rows: Iterable[R], forms: Collection[str], existing: ExistingNodes
) -> ScreenedRows[R]:
    """Accept or reject every pair of row and form, independent of their order."""
    usable = _select_usable(rows, existing.reflected)
    nodes, unnamed = _assign_names(usable.rows, forms, existing.owners)
    without_row = {NodePair(uid, form) for uid in usable.rejected_uids for form in forms}
    rejected = sum(rejection.rows for rejection in usable.rejections)
    rejections = [*usable.rejections, *unnamed.rejections()]
    return ScreenedRows(
        rows=usable.rows,
        nodes=nodes,
        rejected_pairs=frozenset(without_row | unnamed.pairs()),
        unclear_pairs=frozenset(
            NodePair(uid, form) for uid in usable.unclear_uids for form in forms
        ),
        rejections=tuple(sorted(rejections, key=_by_uid)),
        rejected_rows=rejected + len(unnamed.invalid.keys() | unnamed.taken.keys()),
        desired=(rejected + len(usable.rows)) * len(forms),
        missing=rejected * len(forms) + len(unnamed.pairs()),
        unidentifiable=usable.count - _identified(usable, unnamed, forms),
    )


def _identified(usable: _UsableRows[R], unnamed: "_UnnamedPairs", forms: Collection[str]) -> int:
    """Return the number of uids that identify nodes: that of one row each."""
    rejected = sum(
        all(is_subdomain(node_name(NodePair(uid, form))) for form in forms)
        for uid in usable.rejected_uids
    )
    return len(usable.rows) - len(unnamed.invalid) + rejected


@dataclass(frozen=True, slots=True)
class _UnnamedPairs:
    """Pairs without a node name, by uid."""

    invalid: dict[str, list[str]]
    """Forms with which the uid gives an invalid name."""
    taken: dict[str, dict[str, NodePair]]
    """By form: the other pair that has the name."""

    def pairs(self) -> set[NodePair]:
        by_uid = [*self.invalid.items(), *self.taken.items()]
        return {NodePair(uid, form) for uid, forms in by_uid for form in forms}

    def rejections(self) -> list[Rejection]:
        return [
            *(invalid_node_name(uid, forms) for uid, forms in self.invalid.items()),
            *(node_name_taken(uid, holders) for uid, holders in self.taken.items()),
        ]


def _assign_names(
    uids: Iterable[str], forms: Collection[str], owners: Mapping[str, NodePair]
) -> tuple[dict[str, NodePair], _UnnamedPairs]:
    """Assign node names in the order of pairs; the pair of an existing node takes precedence."""
    nodes: dict[str, NodePair] = {}
    unnamed = _UnnamedPairs({}, {})
    sorted_forms = sorted(forms)
    for pair in (NodePair(uid, form) for uid in sorted(uids) for form in sorted_forms):
        name = node_name(pair)
        owner = owners.get(name)
        # Usually the node exists, so that the API server has accepted its name.
        if owner == pair:
            nodes[name] = pair
        elif not is_subdomain(name):
            unnamed.invalid.setdefault(pair.uid, []).append(pair.form)
        elif (holder := _verified_owner(owner, name) or nodes.get(name, pair)) != pair:
            unnamed.taken.setdefault(pair.uid, {})[pair.form] = holder
        else:
            nodes[name] = pair
    return nodes, unnamed


def _verified_owner(owner: NodePair | None, name: str) -> NodePair | None:
    # The spec of a node can be edited to name another pair; the name of the node decides.
    return owner if owner and node_name(owner) == name else None


def _by_uid(rejection: Rejection) -> tuple[str, str, bytes]:
    return rejection.uid, rejection.reason, rejection.fingerprint
