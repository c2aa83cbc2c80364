"""The names that come from rows: a node's name, its label value, and what Kubernetes takes.

Patterns are matched with `fullmatch`: `$` would let a newline at the end pass.
"""

import hashlib
import re
from typing import Final, NamedTuple

LABEL_LIMIT: Final = 63
"""The longest value of a label."""
NAME_LIMIT: Final = 253
"""The longest name of an object."""

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_PART}(\.{_PART})*")

_HASH = 8
_KEPT = LABEL_LIMIT - _HASH - 1


# A named tuple: one is made for every row × form of every sync, and it sorts as we want it to.
class NodePair(NamedTuple):
    """A row and a form: what one node is for."""

    uid: str
    form: str


def node_name(pair: NodePair) -> str:
    """Return the name of the pair's node."""
    return f"{pair.uid}-{pair.form}"


def is_label_value(text: str) -> bool:
    """Return whether a label can have this value; the empty value is not meant."""
    return len(text) <= LABEL_LIMIT and _LABEL_VALUE.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether an object can have this name."""
    return len(text) <= NAME_LIMIT and _SUBDOMAIN.fullmatch(text) is not None


def tracking_label(name: str) -> str:
    """Return the value of `lynq.sh/node` for the node `name`.

    A cut right behind a `.` or `-` does no harm: in a label's value these may follow each other,
    only its two ends must be letters or digits.
    """
    if len(name) <= LABEL_LIMIT:
        return name
    return f"{name[:_KEPT]}-{hashlib.sha256(name.encode()).hexdigest()[:_HASH]}"


def tracked_name(label: str, annotation: str | None) -> str:
    """Return which node an object is tracked by, from `lynq.sh/node` and `lynq.sh/node-name`.

    A short name can be chosen so that it looks like the label of a long one. The annotation tells
    them apart; one that does not fit its label was not written by us and counts for nothing.
    """
    return annotation if annotation and tracking_label(annotation) == label else label
