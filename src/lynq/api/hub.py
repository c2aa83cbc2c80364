"""LynqHub: where the rows are, how often to look, which columns mean what."""

from typing import Annotated, ClassVar

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
    PrinterColumn,
    Time,
    Wire,
    condition_column,
    count_column,
    default,
)


class ValueMappings(Wire, frozen=True, kw_only=True):
    """The columns that Lynq itself reads."""

    uid: str
    """Column that identifies the row, for example tenant_id. Its value becomes .uid in templates
    and part of the names of nodes, so it must be unique, fit into a label (at most 63
    characters), and stay the same for the life of the tenant."""

    activate: str
    """Column that says whether the row is active. Active are a true boolean and the texts 1, true,
    TRUE, True, yes, YES and Yes; anything else, NULL included, means that the tenant's resources
    are taken away."""

    host_or_url: str = ""
    """Deprecated: map the column in extraValueMappings and use the template function toHost.
    Column with a URL or host name, available as .hostOrUrl, and its host part as .host."""


class DeletionGuard(Wire, frozen=True, kw_only=True):
    """How many nodes one sync may remove before a person is asked."""

    max_count: Annotated[Int32, Meta(ge=0)] = 10
    """Number of nodes that a sync may always remove. Defaults to 10."""

    max_percent: Annotated[Int32, Meta(ge=0, le=100)] = 30
    """Share of the hub's nodes, in percent, that a sync may always remove. Defaults to 30. A sync
    is held only if it exceeds both limits."""

    disabled: bool = False
    """If true, nothing is ever held: an emptied table removes every tenant of the hub."""


class HubSpec(Wire, frozen=True, kw_only=True):
    """Where the rows are, and what their columns mean."""

    source: HubSource
    """The database, how to connect to it, and how often to look."""

    value_mappings: ValueMappings
    """The columns that Lynq itself reads: which row it is, and whether it is active."""

    extra_value_mappings: dict[str, str] = field(default_factory=dict)
    """Further columns for templates, as variable: column. With planId: subscription_plan, a
    template reads the column subscription_plan as {{ .planId }}. Only mapped columns are read."""

    paused: bool = False
    """If true, the hub neither reads rows nor changes nodes until it is set back; everything that
    runs keeps running. Shown in the condition Paused."""

    deletion_guard: Annotated[DeletionGuard, default({})] = DeletionGuard()
    """Protection against rows that vanish by mistake. A sync that would remove more nodes than
    both limits allow removes none and sets the condition DeletionHeld, whose message ends with a
    digest; it goes on when the annotation lynq.sh/approve-deletion has that digest as value.
    Deleting a hub or form by hand is not held."""


class RejectedRow(Wire, frozen=True, kw_only=True):
    """A row that could not be used."""

    uid: str = ""
    """The row's uid, shortened if it is very long, empty if the row has none."""

    reason: str = ""
    """Why the row was set apart, as one word, for example DuplicateUid."""

    message: str = ""
    """What is wrong with the row, and what to do about it."""


class RejectedRows(Wire, frozen=True, kw_only=True):
    """The rows that the last sync had to set apart; all others went on."""

    count: Int32 = 0
    """How many active rows were set apart."""

    rows: Annotated[tuple[RejectedRow, ...], Meta(max_length=20)] = ()
    """The first 20 of them, in the order of their uid."""


class HubStatus(Wire, frozen=True, kw_only=True):
    """What the last sync saw. Written by the operator only."""

    observed_generation: Int64 = 0
    """The metadata.generation of the hub that this status speaks about."""

    referencing_templates: Int32 = 0
    """Number of LynqForms whose hubId names this hub."""

    desired: Int32 = 0
    """Number of nodes that should exist: referencing forms × active rows. A rejected row stays in
    this number, so that the gap is visible."""

    ready: Int32 = 0
    """Number of the hub's nodes that are Ready."""

    failed: Int32 = 0
    """Number of the hub's nodes that are not Ready, and of those that could not be made."""

    rejected_rows: RejectedRows | None = None
    """The rows that could not be used. Absent when there are none."""

    last_sync_time: Time | None = None
    """When all rows were last read completely."""

    source_identity: str = ""
    """Stands for what is being read: place, table, columns and their types. After a change of it
    the deletion guard holds every removal above deletionGuard.maxCount."""

    conditions: Conditions = ()
    """Ready: the last read of the database succeeded. DeletionHeld: the deletion guard keeps
    nodes whose rows have vanished. Paused: spec.paused is set. PushConnected: the channel of
    changes: Push is up."""


class LynqHub(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """A table or view whose active rows become tenants.

    A LynqHub says where the rows are and which columns mean what. For every active row and every
    LynqForm that refers to the hub, the operator makes one LynqNode in the same namespace.
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
