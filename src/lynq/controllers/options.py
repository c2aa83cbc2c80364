"""What the person who starts the operator decides.

Which of the hubs, forms and nodes this process works on, if several share them.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from lynq.api.metadata import ObjectKey
from lynq.api.names import LEASE
from lynq.controllers.timing import Timing


@dataclass(frozen=True, slots=True)
class Shard:
    """The share `number` of `count` shares, counted from 0."""

    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        """Refuse a share that nobody could have."""
        if not 0 <= self.number < self.count:
            raise ValueError(f"there is no shard {self.number}/{self.count}: write 0/3, 1/3, 2/3")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `N/M`; raises ValueError."""
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal()):
            raise ValueError(f"{text!r} is no shard: write 0/3, 1/3, 2/3")
        return cls(int(number), int(count))

    def owns(self, key: ObjectKey) -> bool:
        """Return whether the object is ours to work on: the same answer in every process."""
        if self.count == 1:
            return True
        drawn = hashlib.sha256(str(key).encode()).digest()[:8]
        return int.from_bytes(drawn, "big") % self.count == self.number

    @property
    def lease(self) -> str:
        """The Lease that the leader of this share holds."""
        return LEASE if self.count == 1 else f"{LEASE}-shard-{self.number}-of-{self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings; each except `timing` is a flag of `lynq run`."""

    hub_workers: int = 3
    form_workers: int = 5
    node_workers: int = 10
    force_reapply_interval: timedelta = timedelta(minutes=10)
    """How often everything is written, changed or not."""
    sqlite_directory: Path | None = None
    """Where SQLite databases may lie; None refuses hubs of that type."""
    namespaces: tuple[str, ...] = ()
    """Which namespaces are watched; empty: all."""
    allowed_namespaces: tuple[str, ...] = ()
    """Where resources may be made besides the node's own namespace, by pattern; empty: anywhere."""
    requires_service_account: bool = False
    """Whether a form without serviceAccountName is refused its writes."""
    shard: Shard = field(default_factory=Shard)
    """Which hubs, forms and nodes this process works on."""
    timing: Timing = field(default_factory=Timing)
    """Delays and intervals of the controllers."""
