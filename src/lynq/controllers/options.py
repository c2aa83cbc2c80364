"""What the person who starts the operator decides."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from lynq.controllers.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings; each is a flag of `lynq run`."""

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
