"""The delays and intervals of the controllers, in one place and injectable.

The defaults are the values that the operator runs with; tests inject shorter ones. Durations that
are compared with timestamps are `timedelta`; delays that are passed to the event loop or to the
work queue are seconds.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from lynq.kube import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Delays and intervals of the hub, form and node controllers."""

    # All controllers.
    cache_sync_requeue: float = 0.1
    """Seconds until an object is reconciled again while the caches are not synced."""
    min_requeue: float = 0.001
    """Seconds of the shortest requeue of a hub or form."""
    status_write_interval: float = 1.0
    """Seconds between two status writes of a hub or form. Ten thousand nodes that become ready
    cause a few writes."""
    status_conflict_backoff: Backoff = field(default_factory=lambda: Backoff(base=0.05, cap=5.0))
    """Delay of a status write after a conflict. The cache is usually current again after a moment;
    an interrupted watch takes longer, and the write must not be rejected twenty times a second."""
    event_max_delay: float = 30.0
    """Seconds after which a Normal Event is sent while the API server is busy or other requests are
    many."""
    workload_recheck: timedelta = timedelta(seconds=1)
    """Delay until workloads are checked again that are less ready than their node's status."""

    # Hubs.
    min_read_interval: timedelta = timedelta(seconds=1)
    """Minimum time between the starts of two reads of the same source, push apart."""
    min_push_interval: timedelta = timedelta(milliseconds=20)
    """Minimum time between the start of a read and that of a pushed one, however short it was."""
    max_push_interval: timedelta = timedelta(seconds=2)
    """Time between the start of a read and that of a pushed one that suffices, however long."""
    deletion_max_row_age: timedelta = timedelta(minutes=1)
    """Age up to which rows may cause deletions, where the sync interval is shorter."""
    hub_write_turn: float = 1.0
    """Seconds for which the writes of one hub are started before other hubs are reconciled."""
    hub_finalizer_batch: float = 0.2
    """Seconds for which deletions of nodes are collected before their hub's finalizer runs."""
    hub_finalizer_max_retry: timedelta = timedelta(seconds=30)
    """Longest delay between two attempts to delete the nodes of a deleted hub."""

    # Nodes.
    not_ready_requeue: timedelta = timedelta(seconds=30)
    """Interval at which a node that is not ready is reconciled, regardless of watch events."""
    busy_report_delay: float = 5.0
    """Seconds for which a node that only makes progress is not reported, while the API server is
    busy."""
    min_node_requeue: float = 0.05
    """Seconds of the shortest requeue of a node: work that was due is done or cannot be done."""
    revert_backoff: Backoff = field(default_factory=lambda: Backoff(base=1.0, cap=60.0))
    """Delay between two writes of the same content that another manager reverts."""
    revert_window: timedelta = timedelta(minutes=5)
    """Time after which a revert by another manager no longer counts as repeated."""
    rejection_backoff: Backoff = field(default_factory=lambda: Backoff(base=1.0, cap=30.0))
    """Delay between two attempts of a write that the API server rejects."""
    transient_error_tolerance: timedelta = timedelta(seconds=30)
    """Time for which transient errors of a resource do not count as a failure."""
    move_grace: timedelta = timedelta(seconds=5)
    """Time in which another form may desire an object that left the form of a node."""
    unknown_kind_tolerance: timedelta = timedelta(seconds=5)
    """Time for which an API server that has just started may not serve every CRD."""
    slow_write: float = 0.5
    """Seconds after which a write is slow: its reconcile gives up its worker."""
    slow_kind: float = 2.0
    """Seconds after which a write makes its kind slow: further writes of the kind are limited."""
    inventory_report_delay: float = 2.0
    """Seconds after which a new node whose first writes take long reports what it applies."""
    deferred_write_delay: float = 0.05
    """Seconds for which finished writes are collected before nodes with deferred ones go on."""
    deferred_write_check: float = 1.0
    """Seconds between two checks of writes that are deferred or queued."""
    node_finalizer_backoff: Backoff = field(default_factory=lambda: Backoff(base=1.0, cap=30.0))
    """Delay between two finalizer runs of a node whose objects are still being deleted."""
    contenders_lifetime: float = 0.1
    """Seconds for which a deletion that waits does not read the nodes in conflict again."""
    node_list_lifetime: float = 10.0
    """Seconds for which a shard without hubs does not repeat its list of all nodes."""
    unsigned_report_delay: timedelta = timedelta(seconds=5)
    """Time that a node may wait for its hub or the installation key before its status says so."""
    deletion_report_delay: timedelta = timedelta(seconds=2)
    """Time that objects may take to be deleted before the node's status reports them."""

    # Watches of node resources.
    watch_retry_tolerance: float = 5.0
    """Seconds for which reconciles wait for a watch that fails at first."""
    max_list_duration: float = 60.0
    """Seconds for which reconciles wait for the first list of a kind."""
    unwatched_after: float = 60.0
    """Seconds after which a kind whose list or watch is rejected counts as not watched."""
    unwatched_check_interval: float = 5.0
    """Seconds between two checks which kinds are watched."""
    watch_poll_interval: float = 0.02
    """Seconds between two checks whether a watch is synced."""

    # Shutdown.
    drain_timeout: float = 0.5
    """Seconds that running reconciles have to finish."""
    event_flush_timeout: float = 0.5
    """Seconds that recorded events have to be sent while the lease is still held."""
    write_landing_delay: float = 0.5
    """Seconds before the lease is released, for a canceled write to reach the API server. Runs
    concurrently with `event_flush_timeout`."""


DEFAULT_TIMING: Final = Timing()
