"""The state of hubs between two reconciles.

The parts that decisions depend on are in the core (`lynq.core.hub.state`). This module adds what
only the controller handles: open sources, push channels, and what was announced.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lynq.api.events import Event
from lynq.api.metadata import ObjectKey
from lynq.controllers.concurrency import BackgroundJob
from lynq.controllers.hub.source_config import SourceConfig
from lynq.controllers.status_limiter import StatusLimiter
from lynq.controllers.timing import DEFAULT_TIMING, Timing
from lynq.core.guard.announcements import AnnouncedRejections
from lynq.core.hub.state import PlanState, ReadState, WriteState
from lynq.core.hub.status import PushState, SyncResult
from lynq.core.node.objects import ObjectRef
from lynq.sources import Settings, Source


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source that stays open between reads, and the settings it was opened with."""

    settings: Settings
    source: Source


@dataclass(frozen=True, slots=True)
class PushChannel:
    """A running push channel, and the table that it watches."""

    settings: Settings
    table: str
    uid: str
    """The column with the uids of changed rows."""
    job: BackgroundJob


@dataclass(slots=True)
class SourceState:
    """The connections to a hub's source; written by the row reader and the push subscriptions."""

    config: SourceConfig | None = None
    """The config of the last read; None before the first read, and if it could not be resolved."""
    open: OpenSource | None = None
    selects_rows: bool = True
    """Whether rows of the open source can be selected by their uid, as far as is known."""
    channel: PushChannel | None = None
    push: PushState | None = None


@dataclass(slots=True)
class AnnouncedState:
    """The status, events and metrics of a hub that were published."""

    limiter: StatusLimiter
    """Limits the rate of status writes."""
    sync_result: SyncResult | None = None
    """The result of the last plan, for the status."""
    rejections: AnnouncedRejections = field(default_factory=AnnouncedRejections)
    ongoing_events: tuple[Event, ...] = ()
    """The events that held after the last plan; only new ones are emitted."""
    waits_for_key: bool = False
    """Whether it was reported that the installation key is missing."""
    protected: frozenset[str] = frozenset()
    """The uids of nodes that the last plan kept only because they are protected."""


@dataclass(slots=True)
class FinalizeState:
    """The progress of a deleted hub's finalizer."""

    attempts: dict[str, str | None] = field(default_factory=dict)
    """Nodes, by uid, whose deletion was sent in this round, and the error message if it failed."""
    blocked: bool = False
    """Whether it was reported that the hub is protected."""
    orphans_nodes: bool | None = None
    """Whether the nodes stay, because the hub is deleted with `--cascade=orphan` or with its
    definition; None: unknown."""
    unretained: set[ObjectRef] = field(default_factory=set)
    """Objects that were reported because they could not be retained."""


@dataclass(slots=True)
class HubState:
    """The state of one hub. Changed only on the event loop, between two awaits."""

    uid: str
    timing: Timing = DEFAULT_TIMING
    source: SourceState = field(default_factory=SourceState)
    read: ReadState = field(default_factory=ReadState)
    plan: PlanState = field(default_factory=PlanState)
    write: WriteState = field(default_factory=WriteState)
    finalize: FinalizeState = field(default_factory=FinalizeState)
    announced: AnnouncedState = field(init=False)

    def __post_init__(self) -> None:
        """Create the limiter of the hub's status writes."""
        self.announced = AnnouncedState(StatusLimiter(self.timing))


class HubStates:
    """The states of all hubs."""

    def __init__(self) -> None:
        self._states: dict[ObjectKey, HubState] = {}
        self._by_namespace: dict[str, dict[ObjectKey, HubState]] = {}

    def get(self, key: ObjectKey) -> HubState | None:
        """Return the state of a hub."""
        return self._states.get(key)

    def put(self, key: ObjectKey, state: HubState) -> None:
        """Set the state of a hub."""
        self._states[key] = state
        self._by_namespace.setdefault(key.namespace, {})[key] = state

    def in_namespace(self, namespace: str) -> Iterable[HubState]:
        """Return the states of a namespace's hubs."""
        return self._by_namespace.get(namespace, {}).values()

    def pop(self, key: ObjectKey) -> HubState | None:
        """Remove and return the state of a hub."""
        self._by_namespace.get(key.namespace, {}).pop(key, None)
        return self._states.pop(key, None)

    def __iter__(self) -> Iterator[ObjectKey]:
        """Yield the keys of the hubs that have a state."""
        return iter(self._states)
