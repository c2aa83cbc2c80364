"""Absent rows and forms: when an absence counts as a deletion.

One read without a row proves little. A row may be deleted and inserted again in two transactions,
an import may have emptied the table, a replica may lag, a form may be replaced with `kubectl
replace --force`. An absence is therefore confirmed: a row must be missing in two complete reads
that are `confirmAfter` apart, a form must be missing for that long. A row that was active and is
inactive in the next complete read was deactivated; that needs no confirmation. An inactive row that
was there beside the active one is history, and says nothing about the active one.

A read reports the inactive rows of tracked uids only: those of known rows, and of nodes. Whether a
uid had history when its node was created is therefore unknown until a complete read has tracked the
uid. An inactive row that appears before that, or in the first read after a restart, counts as
history.

A row whose uid was spoilt in place (NULL, blank, upper case, padded) is present and identifies no
node. Its node has no row then, but its tenant was not deleted. So the unidentifiable rows of each
read are counted. A node is doubtful if a read without its row has more of them than the read that
last had it. Of a node that is paused or protected, the first read without its row counts: what
appears later belongs to another tenant. Which of several doubtful nodes belongs to an
unidentifiable row is unknown, so all of them are held. The hold is sticky (`lynq.core.guard.hold`):
a spoilt row may be corrected by a DELETE and an INSERT, so that a read between the two has neither
row.

Between two complete reads, rows that a push notification names are merged into the first one
(`lynq.core.hub.selected_rows`). They can show that a row is back. They confirm no absence, and they
are not the read that last had a row: the number of unidentifiable rows at their time is unknown.

All of this is kept in memory. After a restart, every confirmation begins again, the status of the
hub names the nodes that are held, and a node that no read of this process had a row for counts as
last read without unidentifiable rows: it is held beside one.

Times are seconds of a monotonic clock. A calendar clock that jumps would confirm an absence early.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from lynq.api.text import and_more
from lynq.core.guard.approval import approval_instruction, digest_of


@dataclass(frozen=True, slots=True)
class ReadTime:
    """When a read began and ended: its snapshot was taken between the two."""

    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class Absences:
    """The absences that the reads and plans of this process have observed."""

    source: str = ""
    """The identity of the source that was read; the absences of another source do not count."""
    read: ReadTime = ReadTime()
    """The last complete read."""
    rows_missing_since: Mapping[str, float] = field(default_factory=dict)
    """By node name: the end of the first read without the node's row."""
    protected_missing_since: Mapping[str, float] = field(default_factory=dict)
    """The same of protected nodes. When the protection ends, the absence is confirmed again: the
    row may be back since the last read."""
    forms_missing_since: Mapping[str, float] = field(default_factory=dict)
    """By form name: the time of the first plan without the form."""
    unidentifiable: Mapping[str, int] = field(default_factory=dict)
    """By node name: the number of unidentifiable rows in the read that last had the node's row.
    Zeros are left out."""
    unidentifiable_rows: int = 0
    """The number of unidentifiable rows in the last complete read."""
    tracked: frozenset[str] = frozenset()
    """The uids that had a row in the last complete read, and whose inactive rows it reported."""
    without_row: frozenset[str] = frozenset()
    """The names of all nodes without row in the last read, also of those that are not deleted."""
    changed: frozenset[str] | None = None
    """The names of the nodes that are held because their rows were, or may have been, changed in
    place; None before the first plan of a process: the status of the hub has them."""
    superseded: frozenset[str] = frozenset()
    """The uids whose inactive row may be history: it was or may have been beside the active one."""

    def after_read(
        self,
        source: str,
        read: ReadTime,
        *,
        present: Iterable[str],
        missing: Iterable[str],
        unidentifiable: int,
        protected: Iterable[str] = (),
        without_row: Iterable[str] = (),
        tracked: frozenset[str] = frozenset(),
        superseded: Iterable[str] = (),
    ) -> "Absences":
        """Return the absences after a read in which the rows of these nodes are present or missing.

        The `protected` nodes without row are not among the missing ones. `without_row` are all of
        them: also those that are paused, or whose form is.

        Another plan with the same complete read, into which rows may have been merged since, finds
        at most that rows are back.
        """
        is_same, is_same_read = source == self.source, self.has_read(source, read)
        since = self.rows_missing_since if is_same else {}
        protected_since = self.protected_missing_since if is_same else {}
        last = self.unidentifiable if is_same else {}
        missing, counts = tuple(missing), last
        rowless = frozenset((*missing, *without_row))
        if not is_same_read:
            counts = {name: last[name] for name in rowless if name in last}
            known = rowless & self.without_row if is_same else frozenset()
            if unidentifiable:
                counts |= dict.fromkeys(known.difference(missing), unidentifiable)
                counts |= dict.fromkeys(present, unidentifiable)
        return replace(
            self,
            source=source,
            read=read,
            rows_missing_since={name: since.get(name, read.ended) for name in missing},
            protected_missing_since={
                name: protected_since.get(name, read.ended) for name in protected
            },
            without_row=rowless,
            unidentifiable=counts,
            unidentifiable_rows=self.unidentifiable_rows if is_same_read else unidentifiable,
            # Rows that were merged into the read since say nothing about the others of their uid.
            tracked=self.tracked if is_same_read else tracked,
            superseded=frozenset(superseded),
        )

    def after_approval(self, kept: Collection[str]) -> "Absences":
        """Return the absences after a plan that deletes approved nodes, without these of them.

        They are approved and kept for another reason, so that the hold has ended for them.
        """
        if not kept:
            return self
        counts = {**self.unidentifiable, **dict.fromkeys(kept, self.unidentifiable_rows)}
        changed = None if self.changed is None else self.changed.difference(kept)
        return replace(self, changed=changed, unidentifiable=counts)

    def has_read(self, source: str, read: ReadTime) -> bool:
        """Return whether this is the last complete read."""
        return (source, read) == (self.source, self.read)

    def deactivated(self, source: str, inactive: frozenset[str]) -> frozenset[str]:
        """Return the uids, of those with an inactive row, whose active row became it."""
        if source != self.source:
            return frozenset()
        return (inactive & self.tracked) - self.superseded

    def after_plan(self, now: float, missing_forms: Iterable[str]) -> "Absences":
        """Return the absences after a plan for which these forms are missing."""
        since = {form: self.forms_missing_since.get(form, now) for form in missing_forms}
        return replace(self, forms_missing_since=since)

    def unconfirmed_rows(self, read: ReadTime, confirm_after: float) -> frozenset[str]:
        """Return the nodes whose rows may come back: the read is not a second one for them."""
        return _unconfirmed(self.rows_missing_since, read, confirm_after)

    def unconfirmed_protected(self, read: ReadTime, confirm_after: float) -> frozenset[str]:
        """Return the protected nodes whose rows may come back."""
        return _unconfirmed(self.protected_missing_since, read, confirm_after)

    def unconfirmed_forms(self, now: float, confirm_after: float) -> frozenset[str]:
        """Return the forms that may come back."""
        return frozenset(
            form for form, since in self.forms_missing_since.items() if now - since < confirm_after
        )

    def next_read(self, read: ReadTime, confirm_after: float) -> float | None:
        """Return when to read again to confirm the missing rows; None if all are confirmed."""
        unconfirmed = self.unconfirmed_rows(read, confirm_after)
        due = (self.rows_missing_since[name] + confirm_after for name in unconfirmed)
        return min(due, default=None)

    def next_plan(self, now: float, confirm_after: float) -> float | None:
        """Return when to plan again to confirm the missing forms; None if all are confirmed."""
        unconfirmed = self.unconfirmed_forms(now, confirm_after)
        due = (self.forms_missing_since[form] + confirm_after for form in unconfirmed)
        return min(due, default=None)

    def doubtful(self, names: Iterable[str], unidentifiable: int) -> frozenset[str]:
        """Return the nodes, of these without row, that may belong to an unidentifiable row."""
        # Of a row that was corrected since the last complete read, too.
        highest = max(unidentifiable, self.unidentifiable_rows) if unidentifiable else 0
        return frozenset(name for name in names if highest > self.unidentifiable.get(name, 0))


def _unconfirmed(
    missing_since: Mapping[str, float], read: ReadTime, confirm_after: float
) -> frozenset[str]:
    return frozenset(
        name
        for name, since in missing_since.items()
        if confirm_after > 0 and read.began - since < confirm_after
    )


NO_ABSENCES: Final = Absences()


def lost_with_definition(written_at: datetime | None, defined_at: datetime | None) -> bool:
    """Return whether the form of a node was lost with its CRD, and not deleted.

    A form that was last rendered before the present CRD was created belonged to an earlier one.
    Deleting a CRD deletes its forms, which is no decision about their tenants. `defined_at` is None
    if the age of the CRD is unknown.
    """
    return defined_at is not None and (written_at is None or written_at < defined_at)


def changed_message(
    names: Collection[str],
    unclear: Collection[str],
    unidentifiable: int,
    spent_approvals: Collection[str] = (),
) -> str:
    """Return the message of DeletionHeld for changed rows; it ends with the digest of the nodes.

    The rows of the `unclear` nodes say neither yes nor no, all others are missing. `unidentifiable`
    is the number of unidentifiable rows that are read now.
    """
    reasons = []
    if missing := sorted(set(names).difference(unclear)):
        reasons.append(f"the rows of {and_more(missing)} are missing, and {_seen(unidentifiable)}")
    if there := sorted(set(names).intersection(unclear)):
        reasons.append(
            f"the rows of {and_more(there)} have an activate text that is neither yes nor no"
        )
    approval = approval_instruction(len(names), digest_of(names, spent_approvals))
    return (
        f"{'; '.join(reasons)}; no such node is deleted until its row is active again, see "
        f"status.rejectedRows, or {approval}"
    )


def _seen(unidentifiable: int) -> str:
    """Return what makes a missing row a changed one."""
    if unidentifiable == 0:
        rows = "rows that identified no node were read when they went missing"
    elif unidentifiable == 1:
        rows = "1 row that identifies no node was read"
    else:
        rows = f"{unidentifiable} rows that identify no node were read"
    return f"{rows}: a uid may have been changed in place"
