"""The options of the operator, and the shard of objects that a process reconciles.

A shard is a set of buckets: bucket b belongs to shard b modulo M. Buckets do not depend on M,
so the labels of objects stay when M changes. Shard 0 also reconciles all hubs and forms. The plan
of a hub needs all nodes of its namespace, so shard 0 receives them; the others receive their own.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from lynq.api.denied_hosts import NONE_DENIED, DeniedHosts
from lynq.api.metadata import ObjectKey
from lynq.api.names import LABEL_BUCKET, LABEL_MANAGED, LEASE, TRUE
from lynq.api.naming import BUCKETS, bucket_of
from lynq.controllers.timing import Timing
from lynq.core.object_limits import ObjectLimits
from lynq.kube.session import MAX_IN_FLIGHT
from lynq.sources.settings import MAX_BYTES

ALL_MANAGED: Final = f"{LABEL_MANAGED}={TRUE}"
"""The label selector of all managed objects."""
_MIN_IN_FLIGHT: Final = 16
"""Concurrent requests of a shard: enough for one core if a request takes 16 ms."""
_LEASE_NAME = re.compile(rf"{re.escape(LEASE)}(-shard-(?P<number>[0-9]+)-of-(?P<count>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `count` shards, counted from 0."""

    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        """Reject a number outside of the count."""
        if not 0 <= self.number < self.count:
            raise ValueError(f"there is no shard {self.number}/{self.count}: use 0/3, 1/3, 2/3")
        if self.count > BUCKETS:
            raise ValueError(f"there are at most {BUCKETS} shards, not {self.count}")

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse `N/M`; raises ValueError."""
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal()):
            raise ValueError(f"{text!r} is not a shard: use 0/3, 1/3, 2/3")
        return cls(int(number), int(count))

    def owns(self, key: ObjectKey) -> bool:
        """Return whether the node belongs to this shard; every process decides the same."""
        return self.count == 1 or bucket_of(key.namespace, key.name) % self.count == self.number

    @property
    def lease(self) -> str:
        """The name of the Lease that the leader of this shard holds."""
        return LEASE if self.count == 1 else f"{LEASE}-shard-{self.number}-of-{self.count}"

    @property
    def max_in_flight(self) -> int:
        """The default of its concurrent requests: all shards together have those of one process.

        A busy API server responds to more of them no sooner, but to each of them later, and nodes
        that wait for their objects report them in further status writes.
        """
        return max(_MIN_IN_FLIGHT, MAX_IN_FLIGHT // self.count)

    @property
    def buckets(self) -> range:
        """The buckets of this shard."""
        return range(self.number, BUCKETS, self.count)

    @property
    def has_hubs(self) -> bool:
        """Whether this shard reconciles hubs and forms, and so receives the nodes of all shards."""
        return self.number == 0

    def selector(self, *, is_workload: bool = False) -> str:
        """Return the label selector of the objects that this shard receives: those of its nodes.

        Objects without a bucket, which an older version wrote, belong to shard 0: `notin` selects
        them. A rollout needs the workloads of all nodes of its hub.
        """
        if self._selects_all(is_workload=is_workload):
            return ALL_MANAGED
        if self.number:
            return f"{ALL_MANAGED},{LABEL_BUCKET} in {_values(self.buckets)}"
        return f"{ALL_MANAGED},{LABEL_BUCKET} notin {_values(self._other_buckets)}"

    def selects(self, labels: Mapping[str, str], *, is_workload: bool = False) -> bool:
        """Return whether `selector` selects an object with these labels."""
        if labels.get(LABEL_MANAGED) != TRUE:
            return False
        if self._selects_all(is_workload=is_workload):
            return True
        bucket = labels.get(LABEL_BUCKET, "")
        if self.number:
            return bucket in map(str, self.buckets)
        return bucket not in map(str, self._other_buckets)

    def _selects_all(self, *, is_workload: bool) -> bool:
        return self.count == 1 or (is_workload and self.has_hubs)

    @property
    def _other_buckets(self) -> list[int]:
        return sorted(set(range(BUCKETS)).difference(self.buckets))

    @property
    def node_selector(self) -> str | None:
        """The label selector of the nodes that this shard receives; None: all nodes."""
        return None if self.has_hubs else f"{LABEL_BUCKET} in {_values(self.buckets)}"

    def excludes_lease(self, name: str) -> bool:
        """Return whether the holder of another lease reconciles some of this shard's objects.

        Those are the shards of another M that share a bucket with this one.
        """
        match = _LEASE_NAME.fullmatch(name)
        if not match or name == self.lease:
            return False
        try:
            other = Shard(int(match["number"]), int(match["count"])) if match["number"] else Shard()
        except ValueError:
            # Of an M that no version of the operator accepts.
            return False
        return not set(self.buckets).isdisjoint(other.buckets)


UNSHARDED: Final = Shard()
"""The only process, which reconciles everything."""


def _values(buckets: Iterable[int]) -> str:
    return f"({','.join(map(str, buckets))})"


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
    allowed_cluster_kinds: tuple[str, ...] = ()
    """Cluster-scoped kinds of resources, each as `Kind` or `Kind.group`; empty: all, or where
    namespaces are limited Namespace only."""
    denied_namespace_labels: tuple[str, ...] = ()
    """Patterns of keys of labels that Namespaces of forms may not have."""
    requires_service_account: bool = False
    """Whether nodes of a form without serviceAccountName write nothing."""
    allows_standalone_nodes: bool = True
    """Whether nodes that no hub wrote are carried out."""
    shard: Shard = UNSHARDED
    """The nodes that this process reconciles, and whether it reconciles hubs and forms."""
    scratch_directory: Path | None = None
    """Directory of files that outlive a killed process; None: renders are not recorded."""
    timing: Timing = field(default_factory=Timing)
    """Delays and intervals of the controllers."""

    @property
    def limits(self) -> ObjectLimits:
        """The objects that nodes may write."""
        return ObjectLimits(
            namespaces=self.allowed_namespaces,
            cluster_kinds=self.allowed_cluster_kinds,
            denied_labels=self.denied_namespace_labels,
        )
