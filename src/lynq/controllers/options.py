"""The options of the operator, and the shard of objects that a process reconciles."""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.names import LEASE
from lynq.controllers.timing import Timing
from lynq.sources.settings import MAX_BYTES


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `count` shards, counted from 0."""

    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        """Reject a number outside of the count."""
        if not 0 <= self.number < self.count:
            raise ValueError(f"there is no shard {self.number}/{self.count}: use 0/3, 1/3, 2/3")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse `N/M`; raises ValueError."""
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal()):
            raise ValueError(f"{text!r} is not a shard: use 0/3, 1/3, 2/3")
        return cls(int(number), int(count))

    def owns(self, key: ObjectKey) -> bool:
        """Return whether the object belongs to this shard; every process decides the same."""
        if self.count == 1:
            return True
        digest = hashlib.sha256(str(key).encode()).digest()[:8]
        return int.from_bytes(digest, "big") % self.count == self.number

    @property
    def lease(self) -> str:
        """The name of the Lease that the leader of this shard holds."""
        return LEASE if self.count == 1 else f"{LEASE}-shard-{self.number}-of-{self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings; each except `timing` is a flag of `lynq run`."""

    hub_workers: int = 3
    form_workers: int = 5
    node_workers: int = 10
    force_reapply_interval: timedelta = timedelta(minutes=10)
    """Interval at which all resources of a node are applied, changed or not."""
    sqlite_directory: Path | None = None
    """Directory of SQLite databases; None rejects hubs of type sqlite."""
    max_read_bytes: int = MAX_BYTES
    """Bytes that the active rows of one hub may have; a larger read fails."""
    denied_hosts: DeniedHosts = NONE_DENIED
    """Hosts and addresses that hubs may not connect to."""
    namespaces: tuple[str, ...] = ()
    """Namespaces to watch; empty: all."""
    allowed_namespaces: tuple[str, ...] = ()
    """Patterns of namespaces for resources besides the node's own; empty: all."""
    requires_service_account: bool = False
    """Whether nodes of a form without serviceAccountName write nothing."""
    shard: Shard = field(default_factory=Shard)
    """The hubs, forms and nodes that this process reconciles."""
    timing: Timing = field(default_factory=Timing)
    """Delays and intervals of the controllers."""
