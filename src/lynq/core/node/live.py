"""What the caches know of an object in the cluster: its marks, and how it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lynq.core.readiness.verdict import Readiness


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveObject:
    """An object that exists."""

    uid: str
    verdict: Readiness
    """Whether it is ready, and if not, why not."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    """The uids of its owner references."""
    deleting: bool = False
    digest: bytes = b""
    """Of the fields that we own, applied or otherwise written; empty if there are none."""
    created: datetime | None = None
