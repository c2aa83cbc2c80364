"""Rejections of rows: the uid, the reason, and a message that says what to correct.

A rejected uid can contain anything: a megabyte of text, line breaks, terminal escape codes or
bidirectional control characters. It is shown escaped and cut; the raw uid does not leave this
module.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from lynq.api.naming import LABEL_LIMIT, NAME_LIMIT, NodePair, node_name
from lynq.api.reasons import RejectionReason
from lynq.api.source import VALUES_LIMIT
from lynq.api.text import and_more, printable


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rejected rows of one uid, for one reason."""

    uid: str
    """The uid, escaped and cut; empty if the rows have none."""
    reason: RejectionReason
    message: str
    rows: int
    """The number of rows: rows without uid, and rows with the same uid, share a rejection."""
    fingerprint: bytes
    """Identifies the raw uid and the reason: two uids may be equal once they are cut."""


def empty_uid(rows: int) -> Rejection:
    """Reject the rows without uid."""
    have = "1 active row has" if rows == 1 else f"{rows} active rows have"
    sentence = f"{have} no uid: the column is NULL or empty; set it, or deactivate the rows"
    return _rejection("", RejectionReason.EMPTY_UID, sentence, rows)


def invalid_uid(uid: str, rows: int) -> Rejection:
    """Reject a uid that is not a valid label value."""
    if len(uid) > LABEL_LIMIT:
        problem = f"has {len(uid)} characters, but a label value has at most {LABEL_LIMIT}"
    else:
        problem = "is not a valid label value"
    rule = 'use letters, digits, "-", "_" and ".", starting and ending with a letter or digit'
    sentence = f'uid "{printable(uid)}" {problem}; {rule}'
    return _rejection(uid, RejectionReason.INVALID_UID, sentence, rows)


def duplicate_uid(uid: str, rows: int) -> Rejection:
    """Reject the rows whose uid another row has, too."""
    others = "another active row has" if rows == 1 else f"{rows} other active rows have"
    sentence = f'{others} uid "{printable(uid)}" with different values; keep one active row per uid'
    return _rejection(uid, RejectionReason.DUPLICATE_UID, sentence, rows)


def values_too_large(uid: str, sizes: Collection[int]) -> Rejection:
    """Reject the rows whose values do not fit into the annotations of a node."""
    sentence = (
        f'values of uid "{printable(uid)}" have at least {max(sizes)} bytes, but the limit is '
        f"{VALUES_LIMIT}; map fewer columns, or shorten the values; existing nodes are not changed"
    )
    return _rejection(uid, RejectionReason.VALUES_TOO_LARGE, sentence, len(sizes))


def invalid_activate(uid: str, rows: int) -> Rejection:
    """Reject the rows of a uid whose activate text is neither yes nor no."""
    have = "an activate text" if rows == 1 else f"{rows} rows with an activate text"
    sentence = (
        f'uid "{printable(uid)}" has {have} that is neither yes nor no: without its blanks or in '
        "another case it would be a yes; write exactly 1, true or yes, or 0, false or no; existing "
        "nodes are not changed"
    )
    return _rejection(uid, RejectionReason.INVALID_ACTIVATE, sentence, rows)


def invalid_node_name(uid: str, forms: Collection[str]) -> Rejection:
    """Reject the pairs of a uid whose node names are invalid."""
    name = node_name(NodePair(uid, min(forms)))
    if len(name) > NAME_LIMIT:
        problem = f"has {len(name)} characters, but a name has at most {NAME_LIMIT}"
        rule = "shorten the uid or the name of the form"
    else:
        problem = "is not a valid object name"
        rule = 'use lower-case letters, digits, "-" and ".", a letter or digit around every "."'
    sentence = f"node name {_node_names(uid, forms)} {problem}; {rule}"
    return _rejection(uid, RejectionReason.INVALID_NODE_NAME, sentence, 1)


def node_name_taken(uid: str, holders: dict[str, NodePair]) -> Rejection:
    """Reject the pairs of a uid, by form, whose node names belong to other pairs."""
    holder = holders[min(holders)]
    sentence = (
        f"node name {_node_names(uid, holders)} belongs to uid "
        f'"{printable(holder.uid)}" with form "{printable(holder.form)}"; '
        "change a uid or the name of a form"
    )
    return _rejection(uid, RejectionReason.NODE_NAME_TAKEN, sentence, 1)


def _node_names(uid: str, forms: Collection[str]) -> str:
    """Return the first of the names of a uid's nodes, quoted, and count the rest."""
    names = [f'"{printable(node_name(NodePair(uid, form)))}"' for form in sorted(forms)]
    return and_more(names, shown=1)


def _rejection(uid: str, reason: RejectionReason, message: str, rows: int) -> Rejection:
    # A driver may return half of a surrogate pair, which strict UTF-8 cannot encode.
    fingerprint = hashlib.sha256(f"{reason}\n{uid}".encode("utf-8", "surrogatepass")).digest()[:8]
    return Rejection(printable(uid), reason, message, rows, fingerprint)
