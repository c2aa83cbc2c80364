"""Names of nodes, label values for them, and the validity of names and label values.

Patterns are matched with `fullmatch`: `$` would accept a trailing newline.
"""

import hashlib
import re
from typing import Final, NamedTuple

LABEL_LIMIT: Final = 63
"""Characters of the longest label value."""
NAME_LIMIT: Final = 253
"""Characters of the longest object name."""

BUCKETS: Final = 64
"""Number of buckets, and so of the most shards. Never changed: the labels are in clusters."""

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_PART}(\.{_PART})*")

_HASH_DIGITS = 8
_PREFIX = LABEL_LIMIT - _HASH_DIGITS - 1


# A named tuple: cheap to create for every row and form of every sync, and sortable.
class NodePair(NamedTuple):
    """The row and the form of a node."""

    uid: str
    form: str


def node_name(pair: NodePair) -> str:
    """Return the name of the node of a row and form."""
    return f"{pair.uid}-{pair.form}"


def is_label_value(text: str) -> bool:
    """Return whether the text is a valid label value; the empty text is not."""
    return len(text) <= LABEL_LIMIT and _LABEL_VALUE.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether the text is a valid object name (DNS subdomain)."""
    return len(text) <= NAME_LIMIT and _SUBDOMAIN.fullmatch(text) is not None


def is_namespace_name(text: str) -> bool:
    """Return whether the text is a valid name of a namespace (DNS label)."""
    return len(text) <= LABEL_LIMIT and "." not in text and is_subdomain(text)


def bucket_of(namespace: str, name: str) -> int:
    """Return the bucket of a node: a stable hash of its namespace and name."""
    digest = hashlib.sha256(f"{namespace}/{name}".encode()).digest()[:8]
    return int.from_bytes(digest, "big") % BUCKETS


def bucket_label(namespace: str, name: str) -> str:
    """Return the value of `lynq.sh/bucket` on a node and on its objects."""
    return str(bucket_of(namespace, name))


def tracking_label(name: str) -> str:
    """Return the value of `lynq.sh/node` for the node `name`.

    A name that is cut behind a `.` or `-` still gives a valid label value: only its first and last
    characters must be letters or digits.
    """
    if len(name) <= LABEL_LIMIT:
        return name
    return f"{name[:_PREFIX]}-{hashlib.sha256(name.encode()).hexdigest()[:_HASH_DIGITS]}"


def tracked_name(label: str, annotation: str | None) -> str:
    """Return the node of an object, from `lynq.sh/node` and `lynq.sh/node-name`.

    A short name can equal the label of a long one; the annotation distinguishes them. An annotation
    that does not match its label was not written by the operator, and is ignored.
    """
    return annotation if annotation and tracking_label(annotation) == label else label
