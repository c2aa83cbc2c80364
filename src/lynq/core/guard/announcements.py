"""What is told of rejections: a bounded list in the hub's status, each event once, a number."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lynq.api import RejectedRow, RejectedRows
from lynq.api.reasons import RejectionReason
from lynq.core.guard.rejections import Rejection
from lynq.core.guard.row_screening import R, ScreenedRows

LISTED: Final = 20
"""How many rejections the status lists."""
REMEMBERED: Final = 1000
"""How many rejections are told by events; any further ones are only listed and counted."""


def rejected_rows(judgement: ScreenedRows[R]) -> RejectedRows | None:
    """Return what the status says about rejected rows; None if there are none."""
    if not judgement.rejections:
        return None
    listed = tuple(
        RejectedRow(uid=each.uid, reason=each.reason, message=each.message)
        for each in judgement.rejections[:LISTED]
    )
    return RejectedRows(count=judgement.rejected_rows, rows=listed)


def rows_by_reason(rejections: Iterable[Rejection]) -> dict[RejectionReason, int]:
    """Return the number of rows for every reason there is, zeros included."""
    counted: Counter[RejectionReason] = Counter()
    for rejection in rejections:
        counted[rejection.reason] += rejection.rows
    return {reason: counted[reason] for reason in RejectionReason}


@dataclass(frozen=True, slots=True)
class AnnouncedRejections:
    """Which rejections people have been told of."""

    fingerprints: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class UnannouncedRejections:
    """What is to be told now, and what has been told then."""

    fresh: tuple[Rejection, ...]
    told: AnnouncedRejections


def unannounced(
    rejections: Iterable[Rejection], told: AnnouncedRejections
) -> UnannouncedRejections:
    """Return the rejections that nobody was told of yet.

    A rejection that is gone is forgotten, so if it comes back it is news. What was told has its
    place before what is fresh: were it pushed out, it would be told again and again.
    """
    current = {rejection.fingerprint: rejection for rejection in rejections}
    known = told.fingerprints & current.keys()
    room = max(REMEMBERED - len(known), 0)
    fresh = dict(islice((item for item in current.items() if item[0] not in known), room))
    return UnannouncedRejections(tuple(fresh.values()), AnnouncedRejections(known | fresh.keys()))
