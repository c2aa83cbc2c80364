"""A rejection: which row was set apart, why, and what to do about it, fit to be shown anywhere.

Nothing is known about a uid that was rejected: it can be a megabyte long, hold line breaks, the
escape codes of terminals or marks that turn the direction of writing. So the uid is shown escaped
and cut, and the untouched one does not leave this module.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, NodePair, node_name
from lynq.api.reasons import RejectionReason
from lynq.api.text import printable

VALUES_LIMIT: Final = 200 * 1024
"""How many bytes a row's values may have: annotations of an object end at 256 KiB."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """What is wrong with the rows of one uid, for one reason."""

    uid: str
    """The uid as it may be shown; empty if the rows have none."""
    reason: RejectionReason
    message: str
    rows: int
    """How many rows are meant: those without uid, and those sharing one, are told of together."""
    fingerprint: bytes
    """Stands for the true uid and the reason, where cut uids could look alike."""


def empty_uid(rows: int) -> Rejection:
    """Reject the rows without uid."""
    have = "1 active row has" if rows == 1 else f"{rows} active rows have"
    sentence = f"{have} no uid: the column is NULL or empty; fill it, or make the rows inactive"
    return _rejection("", RejectionReason.EMPTY_UID, sentence, rows)


def invalid_uid(uid: str, rows: int) -> Rejection:
    """Reject a uid that no label can have as its value."""
    if len(uid) > LABEL_LIMIT:
        wrong = f"has {len(uid)} characters, and a label takes no more than {LABEL_LIMIT}"
    else:
        wrong = "cannot be the value of a label"
    rule = 'use letters, digits, "-", "_" and ".", with a letter or digit at both ends'
    sentence = f'the uid "{printable(uid)}" {wrong}; {rule}'
    return _rejection(uid, RejectionReason.INVALID_UID, sentence, rows)


def duplicate_uid(uid: str, rows: int) -> Rejection:
    """Reject the rows that another row of their uid was preferred to."""
    more = "another row has" if rows == 1 else f"{rows} other rows have"
    sentence = f'{more} the uid "{printable(uid)}" with other values; keep one active row per uid'
    return _rejection(uid, RejectionReason.DUPLICATE_UID, sentence, rows)


def values_too_large(uid: str, sizes: Collection[int]) -> Rejection:
    """Reject the rows whose values do not fit into a node."""
    sentence = (
        f'the values of uid "{printable(uid)}" have {max(sizes)} bytes, and a node takes no '
        f"more than {VALUES_LIMIT}; map fewer columns, or make them shorter; "
        "existing nodes stay as they are"
    )
    return _rejection(uid, RejectionReason.VALUES_TOO_LARGE, sentence, len(sizes))


def invalid_node_name(uid: str, forms: Collection[str]) -> Rejection:
    """Reject the pairs of a uid whose names no object can have."""
    name = node_name(NodePair(uid, min(forms)))
    if len(name) > NAME_LIMIT:
        wrong = f"has {len(name)} characters, and a name takes no more than {NAME_LIMIT}"
        rule = "shorten the uid or the form's name"
    else:
        wrong = "cannot be the name of an object"
        rule = 'use lower-case letters, digits, "-" and ".", a letter or digit around every "."'
    sentence = f'the node name "{printable(name)}"{_further(forms)} {wrong}; {rule}'
    return _rejection(uid, RejectionReason.INVALID_NODE_NAME, sentence, 1)


def node_name_taken(uid: str, holders: dict[str, NodePair]) -> Rejection:
    """Reject the pairs of a uid (by form) whose names other pairs hold."""
    form = min(holders)
    holder = holders[form]
    name = node_name(NodePair(uid, form))
    sentence = (
        f'the node name "{printable(name)}"{_further(holders)} belongs to uid '
        f'"{printable(holder.uid)}" with form "{printable(holder.form)}"; '
        "change a uid or a form's name"
    )
    return _rejection(uid, RejectionReason.NODE_NAME_TAKEN, sentence, 1)


def _further(forms: Collection[str]) -> str:
    return f" (and {len(forms) - 1} more)" if len(forms) > 1 else ""


def _rejection(uid: str, reason: RejectionReason, message: str, rows: int) -> Rejection:
    # A driver may hand over half of a surrogate pair, which plain UTF-8 refuses.
    known = hashlib.sha256(f"{reason}\n{uid}".encode("utf-8", "surrogatepass")).digest()[:8]
    return Rejection(printable(uid), reason, message, rows, known)
