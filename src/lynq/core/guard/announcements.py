"""Reports of rejected rows: a bounded list in the hub status, events, and counts per reason."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lynq.api import RejectedRow, RejectedRows
from lynq.api.reasons import RejectionReason
from lynq.core.guard.rejections import Rejection
from lynq.core.guard.row_screening import R, ScreenedRows

MAX_LISTED: Final = 20
"""How many rejections the status lists."""
MAX_ANNOUNCED: Final = 1000
"""How many rejections are announced by events; further ones are only counted."""


def rejected_rows(screened: ScreenedRows[R]) -> RejectedRows | None:
    """Return status.rejectedRows of the hub; None if no row is rejected."""
    if not screened.rejections:
        return None
    listed = tuple(
        RejectedRow(uid=rejection.uid, reason=rejection.reason, message=rejection.message)
        for rejection in screened.rejections[:MAX_LISTED]
    )
    return RejectedRows(count=screened.rejected_rows, rows=listed)


def rows_by_reason(rejections: Iterable[Rejection]) -> dict[RejectionReason, int]:
    """Return the number of rejected rows for every reason, zeros included."""
    counts: Counter[RejectionReason] = Counter()
    for rejection in rejections:
        counts[rejection.reason] += rejection.rows
    return {reason: counts[reason] for reason in RejectionReason}


@dataclass(frozen=True, slots=True)
class AnnouncedRejections:
    """The rejections for which an event was emitted."""

    fingerprints: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class UnannouncedRejections:
    """The rejections to announce, and all announced ones after that."""

    rejections: tuple[Rejection, ...]
    announced: AnnouncedRejections


def unannounced(
    rejections: Iterable[Rejection], announced: AnnouncedRejections
) -> UnannouncedRejections:
    """Return the rejections that were not announced yet.

    A rejection that no longer holds is forgotten, and announced again if it comes back. Announced
    rejections take precedence over new ones within the limit: otherwise an evicted one would be
    announced again and again.
    """
    current = {rejection.fingerprint: rejection for rejection in rejections}
    still_held = announced.fingerprints & current.keys()
    room = max(MAX_ANNOUNCED - len(still_held), 0)
    new = dict(islice((item for item in current.items() if item[0] not in still_held), room))
    return UnannouncedRejections(tuple(new.values()), AnnouncedRejections(still_held | new.keys()))
