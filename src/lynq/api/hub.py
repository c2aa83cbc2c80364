"""LynqHub: the source of rows, the mapping of its columns, and the status of the sync."""

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct, field

from lynq.api.conditions import Conditions
from lynq.api.metadata import Metadata
from lynq.api.names import API_VERSION
from lynq.api.source import HubSource
from lynq.api.wire import (
    AGE_COLUMN,
    Definition,
    Int32,
    Int64,
    Interval,
    PrinterColumn,
    Time,
    Timeout,
    Wire,
    condition_column,
    count_column,
    default,
)


class ValueMappings(Wire, frozen=True, kw_only=True):
    """The columns that Lynq itself reads."""

    uid: str
    """Column that identifies the row, for example tenant_id. Its value is .uid in templates and
    part of the names of LynqNodes. It must be unique, valid as a label value (at most 63
    characters), and must not change during the life of the tenant."""

    activate: str
    """Column that decides whether the row is active: a true boolean, or one of the texts 1, true,
    TRUE, True, yes, YES and Yes. A text that is one of them but for blanks or case is unclear: the
    row is rejected. For any other value, NULL included, the LynqNodes of the row are deleted."""

    host_or_url: str = ""
    """Deprecated: map the column in extraValueMappings and use the template function toHost.
    Column with a URL or host name, available as .hostOrUrl, and its host part as .host."""


class DeletionGuard(Wire, frozen=True, kw_only=True):
    """Limits of the deletions in a window of time. Deletions above the limits wait for approval."""

    max_count: Annotated[Int32, Meta(ge=0)] = 10
    """Number of LynqNodes that may be deleted within the window without approval. Defaults to
    10."""

    max_percent: Annotated[Int32, Meta(ge=0, le=100)] = 30
    """Percentage of the hub's LynqNodes, as counted at the beginning of the window, that may be
    deleted within the window without approval. Defaults to 30. Deletions are held only if they
    exceed both limits."""

    window: Timeout = "10m"
    """How long a deletion counts against the limits, as a whole number of seconds, minutes or
    hours. Defaults to 10m."""

    confirm_after: Interval = "5s"
    """How long a row must be missing before its LynqNodes are deleted, as a whole number of
    seconds, minutes or hours. The rows are read again after this time; a row that is back by then
    keeps its LynqNodes. A row that is deactivated does not wait. Defaults to 5s."""

    disabled: bool = False
    """If true, deletions are never held: an emptied table deletes every LynqNode of the hub."""


class HubSpec(Wire, frozen=True, kw_only=True):
    """The source of rows, and the meaning of its columns."""

    source: HubSource
    """The database, the connection to it, and the interval of reads."""

    value_mappings: ValueMappings
    """The columns that Lynq itself reads: the identity of the row, and whether it is active."""

    extra_value_mappings: dict[str, str] = field(default_factory=dict)
    """Further columns for templates, as variable: column. With planId: subscription_plan, a
    template reads the column subscription_plan as {{ .planId }}. Only mapped columns are read."""

    paused: bool = False
    """If true, the operator neither reads rows nor creates, updates or deletes LynqNodes of this
    hub. Existing LynqNodes are still reconciled. Reported in the condition Paused."""

    deletion_guard: Annotated[DeletionGuard, default({})] = DeletionGuard()
    """Protection against rows that disappear by mistake. A sync that would exceed both limits
    deletes no LynqNode, and sets the condition DeletionHeld with a digest at the end of its
    message. The hold lasts until every row is back, or until the annotation
    lynq.sh/approve-deletion with that digest approves the deletions. The deletion of a hub or form
    is not held."""


class RejectedRow(Wire, frozen=True, kw_only=True):
    """A row that was rejected."""

    uid: str = ""
    """The row's uid, truncated if it is very long, empty if the row has none."""

    reason: str = ""
    """Why the row was rejected, as a CamelCase word, for example DuplicateUid."""

    message: str = ""
    """What is wrong with the row, and what to do about it."""


class RejectedRows(Wire, frozen=True, kw_only=True):
    """The rows that the last sync rejected. All other rows were synced."""

    count: Int32 = 0
    """Number of active rows that were rejected."""

    rows: Annotated[tuple[RejectedRow, ...], Meta(max_length=20)] = ()
    """The first 20 rejected rows, ordered by uid."""


MAX_HELD_NODES: Final = 20
"""How many nodes the status lists whose deletion is held."""


class HeldDeletions(Wire, frozen=True, kw_only=True):
    """The deletions that wait for rows to come back, or for an approval."""

    count: Int32 = 0
    """Number of LynqNodes whose deletion is held."""

    digest: str = ""
    """The value of the annotation lynq.sh/approve-deletion that approves exactly these
    deletions."""

    nodes: Annotated[tuple[str, ...], Meta(max_length=MAX_HELD_NODES)] = ()
    """Names of the first 20 of these LynqNodes, in alphabetical order."""


MAX_DELETION_PERIODS: Final = 12
"""How many periods the status of the deletion guard has."""
MAX_SPENT_APPROVALS: Final = 20
"""How many spent approvals the status of the deletion guard has."""


class DeletionPeriod(Wire, frozen=True, kw_only=True):
    """The deletions in one part of the deletion guard's window."""

    until: Time
    """The end of the period. Its deletions count until the window has passed after it."""

    nodes: Int32 = 0
    """Number of the hub's LynqNodes at the beginning of the period."""

    deleted: Int32 = 0
    """Number of LynqNodes that were deleted because their row vanished or was deactivated,
    without those that were approved."""

    uids: str = ""
    """The first 8 hexadecimal digits of the SHA-256 of each deleted LynqNode's uid, so that a
    deletion that has to be repeated counts once."""


class DeletionGuardStatus(Wire, frozen=True, kw_only=True):
    """What the deletion guard remembers between two syncs."""

    periods: Annotated[tuple[DeletionPeriod, ...], Meta(max_length=MAX_DELETION_PERIODS)] = ()
    """The deletions within deletionGuard.window, the oldest first."""

    spent_approvals: Annotated[tuple[str, ...], Meta(max_length=MAX_SPENT_APPROVALS)] = ()
    """The last 20 values of the annotation lynq.sh/approve-deletion that were used. A spent
    approval releases nothing, whatever sets it again."""


class HubStatus(Wire, frozen=True, kw_only=True):
    """The observed state of the hub, written by the operator."""

    observed_generation: Int64 = 0
    """The metadata.generation of the hub that this status is based on."""

    referencing_templates: Int32 = 0
    """Number of LynqForms whose hubId is this hub."""

    desired: Int32 = 0
    """Number of desired LynqNodes: referencing forms × active rows, rejected rows included."""

    ready: Int32 = 0
    """Number of the hub's LynqNodes that are Ready."""

    failed: Int32 = 0
    """Number of the hub's LynqNodes that are not Ready, and of those that could not be created."""

    rejected_rows: RejectedRows | None = None
    """The rejected rows. Absent if there are none."""

    last_sync_time: Time | None = None
    """Time of the last complete read of all rows."""

    source_identity: str = ""
    """Digest of the source: server, table, columns and their types. After it changes, the deletion
    guard holds every sync that deletes more than deletionGuard.maxCount LynqNodes."""

    held_deletions: HeldDeletions | None = None
    """The deletions that the condition DeletionHeld reports. Absent if none is held."""

    deletion_guard: DeletionGuardStatus | None = None
    """The memory of the deletion guard. Absent before the first deletion."""

    conditions: Conditions = ()
    """Ready: the last read of the database succeeded. DeletionHeld: the deletion guard holds
    deletions of LynqNodes. Paused: spec.paused is true. PushConnected: the push channel of changes:
    Push is connected."""


class LynqHub(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """A table or view whose active rows become tenants.

    A LynqHub defines the source of rows and the meaning of its columns. For every active row and
    every LynqForm that references the hub, the operator creates one LynqNode in the same
    namespace.
    """

    definition: ClassVar[Definition] = Definition(
        kind="LynqHub",
        plural="lynqhubs",
        short_name="lh",
        columns=(
            count_column("Templates", ".status.referencingTemplates"),
            count_column("Desired", ".status.desired"),
            count_column("Ready", ".status.ready"),
            count_column("Failed", ".status.failed"),
            condition_column("Conditions", of="Ready", show="reason"),
            PrinterColumn("Source", ".spec.source.type", wide=True),
            count_column("Rejected", ".status.rejectedRows.count", wide=True),
            condition_column("Held", of="DeletionHeld", show="status", wide=True),
            PrinterColumn("Synced", ".status.lastSyncTime", "date", wide=True),
            AGE_COLUMN,
        ),
    )

    api_version: str = API_VERSION
    kind: str = "LynqHub"
    metadata: Metadata = field(default_factory=Metadata)
    spec: HubSpec
    status: HubStatus = HubStatus()
