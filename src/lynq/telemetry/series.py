"""The operator's own series: hubs, forms and nodes, under the names that alerts know."""

from collections.abc import Mapping
from typing import Literal

from prometheus_client import CollectorRegistry

from lynq.api import HubStatus, NodeStatus, RolloutStatus
from lynq.api.metadata import ObjectKey
from lynq.api.reasons import RejectionReason


class Series:
    """All series about hubs, forms and nodes; those of an object that is gone are removed."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def reconciled(
        self, result: Literal["success", "partial_failure", "error"], seconds: float
    ) -> None:
        """Note the end of a node's pass."""

    def node_status(self, key: ObjectKey, status: NodeStatus) -> None:
        """Show how a node is."""

    def applied(self, kind: str, result: Literal["success", "error"], conflict_policy: str) -> None:
        """Count a write of a resource."""

    def conflict(self, key: ObjectKey, kind: str, conflict_policy: str) -> None:
        """Count a conflict."""

    def row_to_ready(self, seconds: float) -> None:
        """Note how long it took from the read of a row until its node was ready with it."""

    def forget_node(self, key: ObjectKey) -> None:
        """Remove the series of a node that is gone."""

    def hub_status(self, key: ObjectKey, status: HubStatus) -> None:
        """Show a hub's counters."""

    def hub_rejected(self, key: ObjectKey, rows: Mapping[RejectionReason, int]) -> None:
        """Show how many rows are rejected, by reason."""

    def hub_held(self, key: ObjectKey, nodes: int) -> None:
        """Show how many nodes the deletion guard keeps."""

    def source_up(self, key: ObjectKey, *, up: bool) -> None:
        """Show whether the last read of a hub's rows succeeded."""

    def forget_hub(self, key: ObjectKey) -> None:
        """Remove the series of a hub that is gone."""

    def form_rollout(self, key: ObjectKey, rollout: RolloutStatus | None) -> None:
        """Show a form's rollout; None removes its series."""

    def forget_form(self, key: ObjectKey) -> None:
        """Remove the series of a form that is gone."""
