"""When everything is written again, changed or not: the backstop against unseen drift."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

_SPREAD: Final = 0.1
"""The share of the interval over which nodes are spread."""


def force_due_at(last_full: datetime | None, interval: timedelta, node_uid: str) -> datetime | None:
    """Return when the next forced pass of a node is due; None as long as there is no baseline.

    Nodes that got their baseline together, after a restart, do not come due together: each waits
    up to a tenth of the interval longer. Which part is the node's own and always the same.

    A baseline that is still to come is none: the status of the next pass says now instead.
    """
    if last_full is None:
        return None
    drawn = hashlib.sha256(node_uid.encode()).digest()[:4]
    share = int.from_bytes(drawn, "big") / 2**32
    return last_full + interval * (1 + _SPREAD * share)
